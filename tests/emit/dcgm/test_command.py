"""Asking through dcgmi: prints that no stand-in makes."""

from pathlib import Path

import pytest

from tallystick.emit.dcgm.command import CommandEngine
from tallystick.emit.dcgm.engine import Begun, Finished, Wish
from tallystick.emit.deadline import Deadline
from tests.emit.slurm.nodes import UUIDS

FIXTURES = Path(__file__).parents[2] / "fixtures" / "dcgm"
LISTED = (FIXTURES / "gpus.txt").read_text()
GPU1 = (FIXTURES / "gpu1.txt").read_text()
UUID1 = "GPU-00000002-5a5a-4b4b-8c8c-000000000002"


def engine(folder: Path, **answers: str) -> CommandEngine:
    """Make a dcgmi that answers by option; ``x`` answers ``-x``."""
    cases = []
    for option, text in answers.items():
        (folder / option).write_text(text)
        cases.append(f"*' -{option} '*) cat {folder / option};;")
    program = folder / "dcgmi"
    program.write_text('#!/bin/sh\ncase " $* " in\n' + "\n".join(cases) + "\nesac\n")
    program.chmod(0o755)
    return CommandEngine(f"{folder}:/usr/bin:/bin")


def begun(one: CommandEngine, *uuids: str) -> Begun:
    """Begin to watch boards."""
    return one.begin(Wish("j", uuids, 1000, 60), Deadline(20_000_000))


def finished(one: CommandEngine, group: int | None = None) -> Finished:
    """Read a job."""
    return one.finish("j", group, Deadline(20_000_000))


def codes(of: Begun | Finished) -> list[str]:
    """Give the codes of what went wrong."""
    return [problem.code for problem in of.problems]


def test_a_group_without_a_number_is_none(tmp_path: Path) -> None:
    """Another version may print something else, and a guessed number is another's group."""
    found = begun(engine(tmp_path, l=LISTED, c="Group 2 is there.\n"), UUID1)

    assert (found.group, found.watch_us, codes(found)) == (None, None, ["dcgm_failed"])


def test_boards_are_added_by_the_engines_index(tmp_path: Path) -> None:
    """As its own list has them."""
    one = engine(tmp_path, l=LISTED, c='Successfully created group "j" with a group ID of 12\n')

    assert begun(one, UUID1).group == 12
    assert codes(begun(one, UUIDS[0])) == ["dcgm_board_missing"]


def test_a_print_that_breaks_off_is_named(tmp_path: Path) -> None:
    """What stands before the break counts."""
    cut = GPU1[: GPU1.index("| SM Clock")]

    found = finished(engine(tmp_path, v=cut, l=LISTED))

    assert codes(found) == ["dcgm_cut_short"]
    assert found.boards[0].values["energy_mj"] == 1_575_000_000
    assert found.boards[0].values["sm_util"] is None


def test_a_board_is_read_with_its_times(tmp_path: Path) -> None:
    """In UTC, to the second."""
    (board,) = finished(engine(tmp_path, v=GPU1, l=LISTED)).boards

    assert (board.uuid, board.start_us, board.end_us) == (
        UUID1,
        1_770_001_200_000_000,
        1_770_005_700_000_000,
    )


@pytest.mark.parametrize("status", [235, 230, 242, 251, 253, 255])
def test_an_exit_status_tells_where_words_do_not(tmp_path: Path, status: int) -> None:
    """Words change with versions."""
    one = engine(tmp_path)
    (tmp_path / "dcgmi").write_text(f"#!/bin/sh\nexit {status}\n")

    expected = {
        235: "dcgm_engine_down",
        230: "dcgm_job_exists",
        242: "dcgm_job_unknown",
        251: "dcgm_group_gone",
        253: "dcgm_window_refused",
        255: "dcgm_failed",
    }
    assert codes(begun(one, UUID1)) == [expected[status]]


def test_a_group_that_is_half_made_is_removed(tmp_path: Path) -> None:
    """A board that could not be added would be missed in every report."""
    (tmp_path / "list").write_text(LISTED)
    one = engine(tmp_path)
    made = 'Successfully created group "j" with a group ID of 12'
    (tmp_path / "dcgmi").write_text(
        "#!/bin/sh\n"
        f'echo "$*" >> {tmp_path}/calls\n'
        f'case "$*" in discovery*) cat {tmp_path}/list;;\n'
        f"*-c*) echo '{made}'; exit 255;; esac\n"
    )

    found = begun(one, UUID1)

    assert (found.group, codes(found)) == (None, ["dcgm_failed"])
    assert (tmp_path / "calls").read_text().splitlines()[-1] == "group -d 12"
