"""A program that is run can be absent, fail, hang or flood, and never holds up or fills its caller.

No time is asserted: a test that would wait for a program that hangs would not end.
"""

import os
import sys
import time
from pathlib import Path

import pytest

from tallystick.emit import command
from tallystick.emit.command import run_command

LONG_S = 60
SHORT_S = 0.2
FILES = Path("/proc/self/fd")


def shell(script: str, *, limit_s: float = LONG_S, **env: str) -> command.Ran:
    """Run a line of shell."""
    return run_command(["sh", "-c", script], limit_s=limit_s, env=env)


def test_what_a_program_prints_is_given_with_its_status() -> None:
    """A status other than 0 is an answer, not a problem."""
    ran = shell("echo said; exit 3")

    assert ran == command.Ran(3, b"said\n", None)


def test_what_it_says_on_standard_error_is_left_out() -> None:
    """Only standard output is data."""
    assert shell("echo wrong >&2; echo right").output == b"right\n"


def test_bytes_that_are_no_text_are_spelt_out() -> None:
    """Text is made of any output."""
    assert shell(r"printf 'a\377b'").text == "a\\xffb"


def test_it_is_given_no_input() -> None:
    """A program that asks gets an end of file, and does not wait for a terminal."""
    assert shell("cat").output == b""


def test_the_environment_is_not_that_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Path and locale are fixed; further variables are those that the caller names."""
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("PATH", "/nowhere")

    ran = shell('echo "$PATH $LC_ALL $SECRET $NAMED"', NAMED="named")

    assert ran.text == f"{command.PATH} C  named\n"


def test_a_named_path_is_where_the_program_is_looked_up(tmp_path: Path) -> None:
    """PATH among the variables decides what is run, not only what it sees."""
    program = tmp_path / "own-program"
    program.write_text("#!/bin/sh\necho own\n", encoding="utf-8")
    program.chmod(0o755)

    ran = run_command(["own-program"], limit_s=LONG_S, env={"PATH": str(tmp_path)})

    assert ran.output == b"own\n"


def test_a_missing_program_is_a_problem() -> None:
    """It is named."""
    ran = run_command(["tallystick-no-such-program"], limit_s=LONG_S)

    assert ran == command.Ran(None, b"", "tallystick-no-such-program: no such file or directory")


def test_a_file_that_cannot_be_run_is_a_problem(tmp_path: Path) -> None:
    """It says why."""
    program = tmp_path / "program"
    program.write_text("no program\n", encoding="utf-8")

    ran = run_command([str(program)], limit_s=LONG_S)

    assert ran.problem == f"{program}: permission denied"


def test_a_name_that_no_file_can_have_is_a_problem() -> None:
    """A NUL in an argument ends no caller."""
    ran = run_command(["echo", "a\0b"], limit_s=LONG_S)

    assert (ran.status, ran.problem) == (None, "echo: embedded null byte")


def test_a_program_that_hangs_is_ended() -> None:
    """What it had printed is given beside the problem."""
    ran = shell("echo early; exec sleep 600", limit_s=SHORT_S)

    assert ran == command.Ran(None, b"early\n", "sh: no answer in 0.2 s")


def test_a_program_that_closes_its_output_and_hangs_is_ended() -> None:
    """The end of its output is not its end."""
    ran = shell("exec >&-; exec sleep 600", limit_s=SHORT_S)

    assert ran.problem == "sh: no answer in 0.2 s"


def test_what_a_program_that_hangs_had_started_ends_with_it(tmp_path: Path) -> None:
    """The whole group is killed, so that a wrapper leaves nothing behind."""
    note = tmp_path / "pid"

    shell(f"sleep 600 & echo $! > {note}; wait", limit_s=1)

    assert is_gone(int(note.read_text()))


def test_a_child_that_holds_the_output_of_a_program_that_ended_is_ended(tmp_path: Path) -> None:
    """It would otherwise keep the caller waiting for an end of the output."""
    note = tmp_path / "pid"

    ran = shell(f"sleep 600 & echo $! > {note}", limit_s=1)

    assert ran.problem == "sh: no answer in 1 s"
    assert is_gone(int(note.read_text()))


def test_a_program_that_ignores_being_asked_is_ended() -> None:
    """It is killed, not asked."""
    ran = shell("trap '' TERM INT HUP; while :; do sleep 1; done", limit_s=SHORT_S)

    assert ran.problem == "sh: no answer in 0.2 s"


def test_a_program_that_floods_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A little more than the limit is held at most."""
    monkeypatch.setattr(command, "OUTPUT_BYTES_MAX", 1 << 10)

    ran = run_command(["yes"], limit_s=LONG_S)

    assert ran.problem == "yes: printed too much"
    assert len(ran.output) <= (1 << 10) + (1 << 16)


def test_without_time_nothing_is_run(tmp_path: Path) -> None:
    """The problem says so, and the program never started."""
    ran = shell(f"touch {tmp_path}/ran", limit_s=0)

    assert ran.problem == "sh: no time was left for it"
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not FILES.is_dir(), reason="counts open files")
def test_no_open_file_is_left_behind() -> None:
    """Neither by an answer nor by a program that is ended."""
    before = len(list(FILES.iterdir()))

    shell("echo said")
    shell("exec sleep 600", limit_s=SHORT_S)

    assert len(list(FILES.iterdir())) == before


def test_open_files_of_the_caller_are_not_passed_on() -> None:
    """A lock that the caller holds ends with the caller, whatever hangs."""
    read, write = os.pipe()
    os.set_inheritable(write, True)  # noqa: FBT003 (it has no name)
    try:
        ran = run_command([sys.executable, "-c", f"import os; os.fstat({write})"], limit_s=LONG_S)
    finally:
        os.close(read)
        os.close(write)

    assert ran.status == 1


def is_gone(pid: int) -> bool:
    """Say whether a process ends, which the kernel may do a little later than it is killed."""
    deadline = time.monotonic() + LONG_S
    while time.monotonic() < deadline:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return True
        if stat.rpartition(")")[2].split()[0] in {"Z", "X"}:  # Dead, and nobody waits for it.
            return True
        time.sleep(0.02)
    return False
