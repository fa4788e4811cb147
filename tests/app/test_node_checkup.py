"""What works on a node is asked for real, and what does not is said with what to do."""

import os
import shutil
from pathlib import Path

import pytest

from tallystick.app.node_checkup import NodeCheckup, Said, check_node, check_slurm_config
from tallystick.app.node_files import LINES
from tallystick.emit.settings import Settings
from tests.emit.slurm.nodes import Node
from tests.emit.spools import records


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Make a node with four GPUs."""
    made = Node(tmp_path)
    made.has_gpus()
    made.tool("dcgmi", "echo 4 GPUs found.")
    return made


def checked(node: Node) -> NodeCheckup:
    """Look at a node."""
    return check_node(node.etc / "node.env")


def of(found: NodeCheckup, check: str) -> list[tuple[str, str]]:
    """Give what one check said."""
    return [(each.word, each.message) for each in found.said if each.check == check]


def test_a_node_that_works_says_so(node: Node) -> None:
    """Each thing was tried."""
    found = checked(node)

    assert found.works
    assert of(found, "devices") == [("ok", "4 GPUs answer with their UUID")]
    assert of(found, "dcgm") == [("ok", "the host engine answers")]
    assert of(found, "waiting") == [("ok", "0 records wait")]
    assert [word for word, _ in of(found, "python")] == ["ok"]
    assert len(of(found, "shipper")) == 1


def test_what_waits_is_counted(node: Node) -> None:
    """And what was set aside, dumped or dropped."""
    node.run("slurm-prolog")
    part = node.spool / str(os.geteuid())
    (part / "quarantine" / "x.json.why").write_text("refused")
    (part / "dumps").mkdir()
    (part / "dumps" / "x.env").write_text("")

    said = [message for _, message in of(checked(node), "waiting")]

    count = len(records(node.spool))
    assert said[0].startswith(f"{count} records wait, the oldest for ")
    assert said[1] == "1 files were set aside: see quarantine/*.why"
    assert said[2].startswith("1 hooks ran without Python")


def test_losses_are_a_failure(node: Node) -> None:
    """Evidence is gone, which the receipt will say, too."""
    settings = node.etc / "node.env"
    settings.write_text(f"{settings.read_text()}TALLYSTICK_SPOOL_BYTES=65536\n")
    node.run("slurm-prolog")
    (node.spool / str(os.geteuid()) / "new" / "large").write_bytes(b"x" * 70_000)
    state = node.spool / str(os.geteuid()) / "state"
    text = state.read_text().replace('"waiting_bytes":', '"waiting_bytes":70000')
    state.write_text(text)
    node.run("slurm-epilog")

    found = checked(node)

    assert not found.works
    word, message = of(found, "waiting")[-1]
    assert (word, message.endswith("were dropped; the shipper will tell")) == ("fail", True)


@pytest.mark.parametrize("python", ["/nonexistent", "/bin/false"])
def test_an_interpreter_that_does_not_run_is_a_failure(tmp_path: Path, python: str) -> None:
    """Hooks would leave dumps instead of records."""
    found = checked(Node(tmp_path, python=python))

    ((word, message),) = of(found, "python")
    assert word == "fail"
    assert python in message


def test_a_spool_that_is_not_there_is_a_failure(node: Node) -> None:
    """With what to run."""
    shutil.rmtree(node.spool)

    ((word, message),) = of(checked(node), "spool")
    assert word == "fail"
    assert "tallystick hook install" in message


def test_gpus_and_dcgm_that_do_not_answer_are_warnings(tmp_path: Path) -> None:
    """The receipt then says less, and says so."""
    found = checked(Node(tmp_path))

    assert found.works
    ((word, message),) = of(found, "devices")
    assert (word, message.endswith("GPUs will be counted, not named")) == ("warn", True)
    ((word, message),) = of(found, "dcgm")
    assert (word, message.endswith("no job statistics")) == ("warn", True)


def test_settings_that_cannot_be_read_are_named(node: Node) -> None:
    """The default counts instead."""
    settings = node.etc / "node.env"
    settings.write_text(f"{settings.read_text()}TALLYSTICK_DCGM=maybe\n")

    ((word, message),) = of(checked(node), "settings")
    assert word == "warn"
    assert message.startswith("TALLYSTICK_DCGM: expected auto or")


ETC = Path("/etc/tallystick")
RIGHT = {key: str(ETC / hook) for hook, key in LINES.items()} | {"PrologFlags": "Alloc,Contain"}


def problems(**changes: str) -> list[Said]:
    """Check a slurm.conf with some lines changed."""
    found = check_slurm_config(RIGHT | changes, Settings(), ETC)
    return [each for each in found if each.word != "ok"]


def test_a_slurm_conf_with_our_lines_is_well() -> None:
    """Every hook is ours."""
    assert problems() == []


@pytest.mark.parametrize(
    ("changes", "word", "message"),
    [
        ({"Epilog": "(null)"}, "fail", "Epilog: expected /etc/tallystick/slurm-epilog"),
        ({"PrologFlags": "(null)"}, "warn", "PrologFlags without Alloc"),
        ({"PrologEpilogTimeout": "5"}, "fail", "PrologEpilogTimeout 5 s is within"),
    ],
)
def test_a_slurm_conf_without_them_is_told(
    changes: dict[str, str], word: str, message: str
) -> None:
    """Each with what was expected."""
    (found,) = problems(**changes)

    assert found.word == word
    assert found.message.startswith(message)
