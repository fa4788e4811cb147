"""The hooks as Slurm calls them, from the one file, with DCGM on the node."""

import time
from pathlib import Path

import pytest

from tests.emit.dcgm.stories import BOARDS, StandIn
from tests.emit.slurm.nodes import Node, old_pythons


def node_with_dcgm(path: Path, *, python: str | None = None, wall_s: int = 20) -> Node:
    """Install the hooks on a node with GPUs and DCGM."""
    node = Node(path) if python is None else Node(path, python=python)
    node.has_gpus()
    StandIn(path / "engine", node.bin)
    settings = node.etc / "node.env"
    lines = ("TALLYSTICK_DCGM=command", "TALLYSTICK_DCGM_INTERVAL=0.01")
    wall = f"TALLYSTICK_HOOK_WALL={wall_s}"
    settings.write_text("\n".join([settings.read_text(), *lines, wall]) + "\n")
    return node


def codes(node: Node) -> set[str]:
    """Give the codes of the problems that were told."""
    return {each["code"] for each in node.bodies("telemetry.problem")}


@pytest.mark.parametrize("python", old_pythons())
def test_every_python_from_3_9_on_exports_statistics(tmp_path: Path, python: str) -> None:
    """The one file needs nothing but the standard library."""
    node = node_with_dcgm(tmp_path, python=python)

    node.run("slurm-prolog")
    time.sleep(0.1)
    node.run("slurm-epilog")

    assert [each["gpu"] for each in node.bodies("telemetry.job_stats")] == list(BOARDS)
    assert codes(node) == set()


def test_a_second_epilog_asks_nothing_again(tmp_path: Path) -> None:
    """What was told to its end is told once."""
    node = node_with_dcgm(tmp_path)

    node.run("slurm-prolog")
    node.run("slurm-epilog")
    node.run("slurm-epilog")

    assert len(node.bodies("telemetry.dcgm_print")) == 3


@pytest.mark.parametrize("hook", ["slurm-prolog", "slurm-epilog"])
def test_a_dcgm_that_hangs_holds_no_hook_up(tmp_path: Path, hook: str) -> None:
    """The hook ends with 0, start and end are told, and so is what does not answer."""
    node = node_with_dcgm(tmp_path, wall_s=3)
    if hook == "slurm-epilog":
        node.run("slurm-prolog")
    (tmp_path / "engine" / "hang").touch()

    node.run(hook)

    kind = "allocation.started" if hook == "slurm-prolog" else "allocation.ended"
    assert len(node.bodies(kind)) == 1
    assert codes(node) == {"dcgm_hangs"}


@pytest.mark.parametrize("script", ["exit 1", "yes", "kill -9 $$", "echo '| GPU ID: x'"])
def test_a_dcgm_that_is_broken_fails_no_job(tmp_path: Path, script: str) -> None:
    """Whatever it prints and however it ends."""
    node = node_with_dcgm(tmp_path)
    node.run("slurm-prolog")
    node.tool("dcgmi", script)

    node.run("slurm-epilog")

    assert len(node.bodies("allocation.ended")) == 1
    assert codes(node) != set()
    assert node.bodies("telemetry.job_stats") == []
