"""``collect slurm`` of a cluster that is asked again and again, and what it is asked with."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tallystick.app.store import init_store
from tallystick.cli.collect_slurm import slurm_command

SACCT = """#!/bin/sh
if [ "$1" = --helpformat ]; then echo "JobIDRaw Submit Start End State AllocTRES NodeList"; exit; fi
[ -e {down} ] && {{ echo "sacct: error: Connection refused" >&2; exit 1; }}
printf 'JobIDRaw\\037Submit\\037Start\\037End\\037State\\037AllocTRES\\037NodeList\\n'
printf '7\\0371770000000\\0371770000010\\0371770000610\\037COMPLETED\\037gres/gpu=8\\037n1\\n'
"""
SIGNED = "eyJhbGciOi"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a store, and a stand-in for sacct beside it."""
    init_store(tmp_path / "store", "log.example/gpu")
    program = tmp_path / "sacct"
    program.write_text(SACCT.format(down=tmp_path / "down"))
    program.chmod(0o755)
    return tmp_path


def options(folder: Path, *further: str) -> list[str]:
    """Give the options that poll into the store."""
    start = ("--from", "2026-02-01T00:00:00Z")
    return ["--cluster", "c1", "--store", str(folder / "store"), *start, *further]


def test_polling_ends_when_it_is_asked_to(folder: Path) -> None:
    """SIGTERM between two polls is a good end: each poll was printed, and exit 0."""
    program = str(folder / "sacct")
    live = options(folder, "--sacct", "--program", program, "--every", "0.1", "--json")
    process = subprocess.Popen(
        [sys.executable, "-m", "tallystick", "collect", "slurm", *live],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    polls: list[dict[str, Any]] = [json.loads(process.stdout.readline()) for _ in range(2)]

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)

    assert process.returncode == 0
    assert [(poll["accepted"], poll["exists"]) for poll in polls] == [(3, 0), (0, 3)]


def asked_over_rest(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *further: str, **environment: str
) -> tuple[Result, list[Any]]:
    """Ask a slurmrestd that is not there, and give what it would have been asked with."""
    made: list[Any] = []

    class Rest:
        def __init__(self, url: str, *, user: str | None, token: str | None) -> None:
            made.append((url, user, token))

        def window(self, *_: Any) -> Any:
            raise KeyboardInterrupt  # The question is all that is of interest.

    monkeypatch.setattr("tallystick.collectors.slurm.live.rest.SlurmRest", Rest)
    runner = CliRunner(env={"SLURM_JWT": None, **environment})
    return runner.invoke(slurm_command, options(folder, "--rest", "http://r:1", *further)), made


def test_the_token_is_that_of_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes before that of the environment."""
    (folder / "token").write_text(SIGNED)
    further = ("--token-file", str(folder / "token"), "--rest-user", "alice")

    _, made = asked_over_rest(folder, monkeypatch, *further, SLURM_JWT="other")

    assert made == [("http://r:1", "alice", SIGNED)]


@pytest.mark.parametrize(("variable", "token"), [(SIGNED, SIGNED), ("", None)])
def test_the_token_is_that_of_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str, token: str | None
) -> None:
    """An empty one is none."""
    _, made = asked_over_rest(folder, monkeypatch, SLURM_JWT=variable)

    assert made == [("http://r:1", None, token)]


def test_a_token_that_is_none_is_one_line(folder: Path) -> None:
    """It is not printed."""
    (folder / "token").write_text("first\nsecond\n")
    further = ("--rest", "http://r:1", "--token-file", str(folder / "token"))

    ran = CliRunner().invoke(slurm_command, options(folder, *further))

    assert getattr(ran.exception, "code", None) == "bad_rest_token"
    assert "first" not in str(ran.exception)


def test_a_poll_that_fails_leaves_the_store_as_it_was(folder: Path) -> None:
    """No record, and nothing remembered."""
    (folder / "down").touch()
    live = options(folder, "--sacct", "--program", str(folder / "sacct"))

    ran = CliRunner().invoke(slurm_command, live)

    assert getattr(ran.exception, "code", None) == "poll_failed"
    assert not (folder / "store" / "collect").exists()
