"""``tallystick collect kubernetes``, ``skypilot`` and ``notices``: options, streams, exit codes."""

import json
import os
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tallystick.app.store import init_store
from tallystick.cli.collect_kubernetes import (
    kubernetes_command,
    notices_command,
    skypilot_command,
)
from tallystick.collectors.kubernetes.api import MissingClientError, NotAllowedError
from tallystick.collectors.kubernetes.options import BadNodeCapacityError
from tests.app.stores import ORIGIN
from tests.collectors.kubernetes.cluster_objects import listed, node, pod, terminated
from tests.stand_ins.kube_api import Answer, kube_api

LIVE = ("--live", "--cluster", "c1")
READ = ("--node", "n", "--read", "2026-03-01T00:30:00Z")


@click.group()
def collect_group() -> None:
    """Stand for the group that the commands are part of."""


for _command in (kubernetes_command, skypilot_command, notices_command):
    collect_group.add_command(_command)


def collect(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(collect_group, arguments, input=stdin, catch_exceptions=False)


def records(result: Result) -> list[dict[str, Any]]:
    """Give the records on standard output."""
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def objects(tmp_path: Path) -> str:
    """Write what kubectl printed."""
    path = tmp_path / "cluster.json"
    value = listed(node(labels={"pool": "a"}), pod("Succeeded", terminated("01:00")))
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Make a store."""
    init_store(tmp_path / "store", ORIGIN)
    return str(tmp_path / "store")


def test_objects_become_records(objects: str) -> None:
    """Records alone, and exit 0; a rule is no input."""
    rule = ("--capacity", "pool=a=spot")

    result = collect("kubernetes", *rule, objects, "--cluster", "c1", "--dry-run", "--json")

    started = next(each for each in records(result) if each["kind"] == "allocation.started")
    assert started["body"]["capacity"] == "spot"
    assert (result.stderr, result.exit_code) == ("", 0)


def test_people_get_sentences_and_a_count(objects: str) -> None:
    """On standard error."""
    result = collect("kubernetes", objects, objects + "x", "--cluster", "c1", "--dry-run")

    assert result.stderr.splitlines()[0].startswith("unreadable_input: ")
    assert result.stderr.splitlines()[-1] == "records: 4, findings: 1"


def test_records_go_into_a_store_once(objects: str, store: str) -> None:
    """The second time they exist."""
    arguments = ("kubernetes", objects, "--cluster", "c1", "--store", store, "--json")
    collect(*arguments)

    result = collect(*arguments)

    assert json.loads(result.stdout)["exists"] == 4


def test_nothing_collected_is_exit_1() -> None:
    """A finding says so."""
    result = collect("kubernetes", "-", "--cluster", "c1", "--dry-run", stdin=b"{}")

    assert (result.stdout, result.exit_code) == ("", 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("kubernetes", "--cluster", "c1", "--dry-run"),
        ("kubernetes", "-", "--cluster", "c1"),
        ("kubernetes", "-", "-", "--cluster", "c1", "--dry-run"),
        ("kubernetes", "-", "--cluster", "c1", "--dry-run", "--for", "1"),
        ("kubernetes", "--live", "--cluster", "c1"),
        ("kubernetes", "--live", "x", "--cluster", "c1", "--store", "s"),
        ("kubernetes", "--live", "--cluster", "c1", "--store", "s", "--dry-run"),
        ("kubernetes", *LIVE, "--in-cluster", "--kubeconfig", "k", "--store", "s"),
        ("skypilot", "x", "--cluster", "c1", "--dry-run"),
        ("skypilot", "x", "--cluster", "c1", "--timezone", "UTC"),
        ("notices", "-", "--node", "n", "--dry-run"),
        ("notices", "-", *READ),
    ],
)
def test_misuse_is_exit_2(arguments: tuple[str, ...]) -> None:
    """It prints nothing but why."""
    result = collect(*arguments, stdin=b"")

    assert (result.stdout, result.exit_code) == ("", 2)
    assert "Error: " in result.stderr


def test_a_rule_with_another_word_is_an_error_of_ours(objects: str) -> None:
    """It names the words that there are."""
    with pytest.raises(BadNodeCapacityError):
        collect("kubernetes", objects, "--cluster", "c1", "--dry-run", "--capacity", "pool=a=cheap")


@pytest.mark.parametrize("source", ["kubernetes", "skypilot", "notices"])
def test_every_source_has_help_with_an_example(source: str) -> None:
    """Within 80 columns."""
    result = collect(source, "--help")

    assert f"tallystick collect {source} " in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def test_a_live_cluster_goes_into_a_store(store: str, tmp_path: Path) -> None:
    """For a time, and what became of the records is printed."""
    with kube_api() as api:
        api.of("nodes").lists = [[node()]]
        api.of("pods").lists = [[pod()]]
        live = ("--live", "--kubeconfig", api.kubeconfig(tmp_path), "--for", "1.5")

        result = collect("kubernetes", *live, "--cluster", "c1", "--store", store, "--json")

    assert json.loads(result.stdout)["accepted"] == 4
    assert "tallystick: 1 pods listed" in result.stderr
    assert result.exit_code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_that_is_asked_to_end_ends_in_good_order(
    store: str, tmp_path: Path, number: signal.Signals
) -> None:
    """What was seen is stored and counted, and the handlers are as before."""
    before = signal.getsignal(number)
    with kube_api() as api:
        api.of("pods").lists = [[pod()]]

        def ask() -> None:
            while not api.watched("pods") and not api.is_closing:
                time.sleep(0.02)
            os.kill(os.getpid(), number)

        asker = threading.Thread(target=ask, daemon=True)
        asker.start()
        live = ("--live", "--kubeconfig", api.kubeconfig(tmp_path))
        result = collect("kubernetes", *live, "--cluster", "c1", "--store", store, "--json")
        asker.join()

    assert json.loads(result.stdout)["accepted"] == 3
    assert (result.exit_code, signal.getsignal(number)) == (0, before)


def test_an_api_that_shows_no_pods_is_an_error_of_ours(store: str, tmp_path: Path) -> None:
    """One line with a code."""
    with kube_api() as api:
        api.of("pods").lists = [Answer(403)]
        live = ("--live", "--kubeconfig", api.kubeconfig(tmp_path), "--for", "5")

        with pytest.raises(NotAllowedError):
            collect("kubernetes", *live, "--cluster", "c1", "--store", store)


def test_without_the_client_the_extra_is_named(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files can be collected without it."""
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)

    with pytest.raises(MissingClientError, match=r"tallystick\[kubernetes\]"):
        collect("kubernetes", "--live", "--cluster", "c1", "--store", store)


def test_a_database_of_jobs_becomes_records(tmp_path: Path) -> None:
    """It is named like any input."""
    path = tmp_path / "jobs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE spot (job_id INTEGER, status TEXT)")
        connection.execute("INSERT INTO spot VALUES (1, 'PENDING')")
        connection.commit()

    result = collect(
        "skypilot", str(path), "--cluster", "ctl", "--timezone", "UTC", "--dry-run", "--json"
    )

    assert [record["kind"] for record in records(result)] == ["allocation.row"]
    assert json.loads(result.stderr)["code"] == "column_absent"


def test_a_notice_reaches_the_attempt_that_is_named() -> None:
    """Its time is that of the reading."""
    result = collect("notices", "-", *READ, "--attempt", "a", "--dry-run", "--json", stdin=b"TRUE")

    assert [record["kind"] for record in records(result)] == [
        "provider.signal",
        "allocation.notice",
    ]
    assert {record["at"] for record in records(result)} == {"2026-03-01T00:30:00.000000Z"}
