"""Finding the host engine among the processes of a node."""

import os
import time
from pathlib import Path

import pytest

from tallystick.emit.dcgm.process import engine_process
from tests.emit.dcgm.stories import fake_engine


def test_an_engine_is_its_process_and_its_start(tmp_path: Path) -> None:
    """The name in the process table may hold spaces and brackets."""
    fake_engine(tmp_path, ticks=250, pid=77)

    found = engine_process(tmp_path)

    assert found is not None
    assert (found.pid, found.ticks, found.word) == (77, 250, "77+250")
    boot_s = int((tmp_path / "stat").read_text().split("btime ")[1].split()[0])
    assert found.started_us == boot_s * 10**6 + 250 * 10**6 // os.sysconf("SC_CLK_TCK")


def test_of_several_engines_the_oldest_counts(tmp_path: Path) -> None:
    """One that a job brought along came later."""
    fake_engine(tmp_path, ticks=250, pid=77)
    (tmp_path / "5").mkdir()
    for name in ("comm", "stat"):
        text = (tmp_path / "77" / name).read_text()
        (tmp_path / "5" / name).write_text(text.replace(" 250 ", " 900 "))

    found = engine_process(tmp_path)

    assert found is not None
    assert found.pid == 77


@pytest.mark.parametrize("text", ["", "77 (x", "77 (x) S 1", "77 (x) S " + "x " * 30])
def test_a_process_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    """It may end at any moment."""
    fake_engine(tmp_path, ticks=250, pid=77)
    (tmp_path / "77" / "stat").write_text(text)

    assert engine_process(tmp_path) is None


def test_other_processes_are_no_engine(tmp_path: Path) -> None:
    """Nor is a folder without any."""
    fake_engine(tmp_path, ticks=250, pid=77)
    (tmp_path / "77" / "comm").write_text("python3\n")

    assert engine_process(tmp_path) is None
    assert engine_process(tmp_path / "nothing") is None


def test_without_a_boot_time_the_start_is_unknown(tmp_path: Path) -> None:
    """The process is known all the same."""
    fake_engine(tmp_path, ticks=250, pid=77)
    (tmp_path / "stat").write_text("cpu 1\n")

    found = engine_process(tmp_path)

    assert found is not None
    assert found.started_us is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_process_of_a_user_is_no_engine(tmp_path: Path) -> None:
    """Anybody may name a process, and would make a restart of it."""
    fake_engine(tmp_path, ticks=250, pid=77)
    os.chown(tmp_path / "77", 54_321, 54_321)

    assert engine_process(tmp_path) is None


def test_the_processes_of_this_machine_can_be_listed() -> None:
    """Whether or not it has an engine."""
    found = engine_process()

    assert found is None or (found.started_us or 0) < time.time_ns() // 1000
