"""The commands of nodes: hook, ship, doctor --node, and what they refuse."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tallystick.app.store import init_store
from tallystick.cli.main import cli
from tests.emit.slurm.nodes import PYTHON, Node
from tests.emit.spools import HOOK, files, new_spool


def run(*argv: object) -> Result:
    """Run a command."""
    return CliRunner().invoke(cli, [str(word) for word in argv])


def test_install_says_what_to_do_next(tmp_path: Path) -> None:
    """Lines for slurm.conf, the unit, and the doctor."""
    options = ("--folder", tmp_path / "etc", "--spool", tmp_path / "spool", "--python", PYTHON)

    ran = run("hook", "install", *options, "--to", "https://receipts.example")

    assert ran.exit_code == 0
    assert f"  Prolog={tmp_path}/etc/slurm-prolog\n" in ran.stdout
    assert "systemctl enable --now tallystick-ship" in ran.stdout
    assert "tallystick doctor --node" in ran.stdout


def test_install_and_uninstall_as_json(tmp_path: Path) -> None:
    """One object, stable keys."""
    options = ("--folder", tmp_path / "etc", "--spool", tmp_path / "spool", "--python", PYTHON)

    made = json.loads(run("hook", "install", *options, "--json").stdout)
    gone = json.loads(run("hook", "uninstall", "--folder", tmp_path / "etc", "--json").stdout)

    assert set(made) == {"files", "slurm_conf", "spool"}
    assert len(gone["removed"]) == 6


def test_the_file_for_nodes_is_written(tmp_path: Path) -> None:
    """With its digest, by which a site can tell versions."""
    ran = run("hook", "file", "-o", tmp_path / "node.pyz", "--json")

    said = json.loads(ran.stdout)
    assert said["bytes"] == (tmp_path / "node.pyz").stat().st_size
    assert said["digest"].startswith("sha256:")


def test_a_hook_runs_from_the_whole_package_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with 0, whatever is in its environment."""
    new_spool(tmp_path / "spool")
    for name, value in {
        "TALLYSTICK_SPOOL": tmp_path / "spool",
        "SLURM_JOB_ID": "7",
        "SLURM_CLUSTER_NAME": "c1",
        "TALLYSTICK_HOOK_CPU": "5",
    }.items():
        monkeypatch.setenv(name, str(value))

    ran = run("hook", "slurm-prologctld", "--config", tmp_path / "none")

    assert ran.exit_code == 0
    assert len(files(tmp_path / "spool")) == 1


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """Make a spool in which a record waits, and a store."""
    new_spool(tmp_path / "spool").put(HOOK, {"job_id": "7"}, None)
    init_store(tmp_path / "store", "log.example/gpu")
    return tmp_path


def test_ship_to_a_store(waiting: Path) -> None:
    """What became of the records is counted."""
    ran = run("ship", "--spool", waiting / "spool", "--store", waiting / "store")

    assert (ran.exit_code, ran.stdout) == (0, "accepted 1  exists 0  conflict 0  refused 0\n")
    assert files(waiting / "spool") == []


def test_ship_as_json(waiting: Path) -> None:
    """One object."""
    ran = run("ship", "--spool", waiting / "spool", "--store", waiting / "store", "--json")

    assert json.loads(ran.stdout) == {
        "accepted": 1,
        "exists": 0,
        "conflict": 0,
        "refused": 0,
        "problems": [],
    }


def test_what_cannot_be_sent_is_one_line_and_stays(waiting: Path) -> None:
    """Nobody listens there."""
    token = waiting / "token"
    token.write_text("t")
    to = ("--to", "http://127.0.0.1:1", "--token-file", token)

    ran = run("ship", "--spool", waiting / "spool", *to)

    assert ran.exception is not None
    assert getattr(ran.exception, "code", None) == "not_shipped"
    assert len(files(waiting / "spool")) == 1


def test_a_spool_that_is_not_there_is_one_line(waiting: Path) -> None:
    """It is named."""
    ran = run("ship", "--spool", waiting / "none", "--store", waiting / "store")

    assert getattr(ran.exception, "code", None) == "not_shipped"
    assert "none" in str(ran.exception)


@pytest.mark.parametrize("options", [(), ("--store", "x", "--to", "y"), ("--to", "http://x")])
def test_ship_needs_one_place_to_send_to(options: tuple[str, ...]) -> None:
    """And a token for a server."""
    assert run("ship", "--spool", "x", *options).exit_code == 2


def test_the_doctor_of_a_node(tmp_path: Path) -> None:
    """A line for each thing, and exit 0 if nothing loses evidence."""
    node = Node(tmp_path)
    node.has_gpus()

    ran = run("doctor", "--node", "--config", node.etc / "node.env")

    assert ran.exit_code == 0
    assert "ok    devices   4 GPUs answer with their UUID\n" in ran.stdout
    assert all(len(line) <= 80 or str(tmp_path) in line for line in ran.stdout.splitlines())


def test_the_doctor_of_a_node_as_json(tmp_path: Path) -> None:
    """Exit 1 where something loses evidence."""
    node = Node(tmp_path, python="/nonexistent")

    ran = run("doctor", "--node", "--config", node.etc / "node.env", "--json")

    assert ran.exit_code == 1
    assert json.loads(ran.stdout)["works"] is False


def test_the_doctor_needs_something_to_look_at() -> None:
    """A store or a node."""
    assert CliRunner(env={"TALLYSTICK_STORE": ""}).invoke(cli, ["doctor"]).exit_code == 2


SACCT = """#!/bin/sh
if [ "$1" = --helpformat ]; then echo "JobIDRaw Submit Start End State AllocTRES NodeList"; exit; fi
[ -e {down} ] && {{ echo "sacct: error: Connection refused" >&2; exit 1; }}
printf 'JobIDRaw\\037Submit\\037Start\\037End\\037State\\037AllocTRES\\037NodeList\\n'
printf '7\\0371770000000\\0371770000010\\0371770000610\\037COMPLETED\\037gres/gpu=8\\037n1\\n'
"""


@pytest.fixture
def polled(waiting: Path) -> tuple[object, ...]:
    """Give the options that poll a stand-in for sacct into a store."""
    program = waiting / "sacct"
    program.write_text(SACCT.format(down=waiting / "down"))
    program.chmod(0o755)
    return ("collect", "slurm", "--cluster", "c1", "--sacct", "--program", program)


def test_a_cluster_is_polled_into_a_store(waiting: Path, polled: tuple[object, ...]) -> None:
    """The first poll is told where to begin; the store remembers for the next."""
    store = ("--store", waiting / "store")

    first = run(*polled, *store, "--from", "2026-02-01T00:00:00Z", "--json")
    second = run(*polled, *store, "--json")

    assert json.loads(first.stdout)["accepted"] == 3
    assert json.loads(second.stdout)["exists"] == 3


def test_a_poll_without_an_answer_is_one_line(waiting: Path, polled: tuple[object, ...]) -> None:
    """And the next one asks again."""
    (waiting / "down").touch()

    ran = run(*polled, "--store", waiting / "store", "--from", "2026-02-01T00:00:00Z")

    assert getattr(ran.exception, "code", None) == "poll_failed"


def test_a_first_poll_needs_a_start(waiting: Path, polled: tuple[object, ...]) -> None:
    """It is not guessed."""
    ran = run(*polled, "--store", waiting / "store")

    assert getattr(ran.exception, "code", None) == "poll_start_missing"


@pytest.mark.parametrize(
    "options",
    [
        ("--sacct",),
        ("--sacct", "--dry-run"),
        ("--sacct", "--rest", "unix:/x", "--store", "s"),
        ("--rest", "unix:/x", "--store", "s", "file"),
        ("--from", "2026-02-01T00:00:00Z", "--timezone", "UTC", "--dry-run", "file"),
        ("--every", "5", "--timezone", "UTC", "--dry-run", "file"),
        ("--dry-run", "file"),
        ("--timezone", "UTC", "--dry-run"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_fit_are_misuse(options: tuple[str, ...]) -> None:
    """Files and a live cluster are two ways, and each needs its own options."""
    ran = CliRunner(env={"TALLYSTICK_STORE": ""}).invoke(
        cli, ["collect", "slurm", "--cluster", "c1", *options]
    )

    assert ran.exit_code == 2


def test_an_address_of_slurmrestd_that_is_none(waiting: Path) -> None:
    """One line, before anything is asked."""
    ran = run("collect", "slurm", "--cluster", "c1", "--rest", "x", "--store", waiting / "store")

    assert getattr(ran.exception, "code", None) == "bad_rest_url"


def test_a_spool_that_belongs_to_somebody_else_is_told(tmp_path: Path) -> None:
    """A part that cannot be entered is a problem, and the exit says so."""
    new_spool(tmp_path / "spool")
    (tmp_path / "spool" / "4711").symlink_to(tmp_path)
    init_store(tmp_path / "store", "log.example/gpu")

    ran = run("ship", "--spool", tmp_path / "spool", "--store", tmp_path / "store")

    assert ran.exit_code == 1
    assert "4711" in ran.stderr
