"""``tallystick checkpoint verify``: what it prints and how it ends."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tallystick.cli.checkpoint import ROWS_MAX, checkpoint
from tests.emit.checkpoint.made import torch_bytes, vouch, write_dcp, write_lightning, write_plain


def verify(*words: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(checkpoint, ["verify", *words])


def test_the_last_valid_one_is_named_with_what_is_wrong_with_newer_ones(tmp_path: Path) -> None:
    """So are pointers, and what the format cannot check."""
    kept, torn = write_dcp(tmp_path / "step_10"), write_dcp(tmp_path / "step_20")
    (torn / "__1_0.distcp").unlink()
    sizes = [sum(path.stat().st_size for path in each.iterdir()) for each in (torn, kept)]
    (tmp_path / "latest").write_text("step_20", encoding="utf-8")

    done = verify(str(tmp_path))

    assert done.exit_code == 0
    assert done.output == (
        "STATE            STEP       SIZE  KIND        CHECKPOINT\n"
        f"torn               20  {sizes[0]:>7} B  dcp         step_20\n"
        "  __1_0.distcp is named in the metadata, and is not there\n"
        f"complete           10  {sizes[1]:>7} B  dcp         step_10\n"
        "pointer latest says step_20: 'step_20' is torn\n"
        "the last valid one is step_10 (step 10 by its name): it is whole as far as its\n"
        "  format can tell; not checked: .metadata, which has no checksum; 1 newer one is\n"
        "  not valid\n"
    )


def test_without_a_valid_one_the_command_fails(tmp_path: Path) -> None:
    """Exit 1, and the reason."""
    write_plain(tmp_path / "step_10")

    done = verify(str(tmp_path))

    assert done.exit_code == 1
    assert "no checkpoint is valid" in done.output
    assert "nothing says which files belong to it" in done.output


def test_an_empty_folder_fails_too(tmp_path: Path) -> None:
    """Nothing to check is a failure."""
    done = verify(str(tmp_path))

    assert done.exit_code == 1
    assert done.output == f"no checkpoint in {tmp_path}\n"


def test_json_is_one_object(tmp_path: Path) -> None:
    """With the last valid one and all the others."""
    vouch(write_plain(tmp_path / "step_10"), step=10)

    done = verify(str(tmp_path), "--json", "--threads", "1")

    stated = json.loads(done.output)
    assert done.exit_code == 0
    assert stated["last_valid"]["state"] == "verified"


@pytest.mark.parametrize(
    ("option", "judged"), [("--quick", "by structure"), ("--deep", "by bytes")]
)
def test_how_much_is_read_is_an_option(tmp_path: Path, option: str, judged: str) -> None:
    """Nothing but the structure, or every byte of every checkpoint."""
    for step in (1, 2):
        write_lightning(tmp_path / f"step={step}.ckpt", step)

    stated = json.loads(verify(str(tmp_path), option, "--json").output)

    assert {each["judged"] for each in stated["checkpoints"]} == {judged}


def test_both_options_at_once_are_misuse(tmp_path: Path) -> None:
    """One of them was not meant."""
    assert verify(str(tmp_path), "--quick", "--deep").exit_code == 2


def test_several_without_a_step_are_left_to_the_reader(tmp_path: Path) -> None:
    """They are valid, so the check does not fail."""
    for name in ("a", "b"):
        vouch(write_plain(tmp_path / name))

    done = verify(str(tmp_path))

    assert done.exit_code == 0
    assert "2 are valid, and nothing says which of them is the last" in done.output


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    """Unless every checkpoint was asked for."""
    for step in range(ROWS_MAX + 5):
        (tmp_path / f"step={step}.ckpt").write_bytes(torch_bytes({}, step=step))

    short = verify(str(tmp_path)).output
    whole = verify(str(tmp_path), "--deep").output

    assert "... and 5 more; --json names them all" in short
    assert "step=0.ckpt" not in short
    assert "step=0.ckpt" in whole


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    """A name with a line break or an escape is quoted, in every place."""
    for step in (1, 2):
        write_dcp(tmp_path / f"step_{step}\n\x1b[31m")
    (tmp_path / "step_2\n\x1b[31m" / "__1_0.distcp").unlink()
    (tmp_path / "latest\x1b").symlink_to("gone\x1b")

    done = verify(str(tmp_path))

    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert all(len(line) <= 80 for line in done.output.splitlines())
