"""The commands over a store, each from its arguments to its exit status."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from tallystick.app.keys import load_verify_keys
from tallystick.cli.main import main
from tallystick.tree.head import open_head
from tests.app.stores import ORIGIN, contract_file
from tests.app.test_stored_segments import segment_file
from tests.evidence.records import as_line, ended, started, step

COMMANDS = [
    *(["init"], ["collect"], ["collect", "evidence"], ["collect", "segments"]),
    *(["contract", "add"], ["contract", "list"], ["run"], ["run", "list"], ["run", "show"]),
    *(["log"], ["log", "head"], ["log", "show"], ["log", "prove"], ["log", "verify"]),
    *(["log", "cosigned"], ["witness"], ["witness", "key"], ["witness", "cosign"]),
    *(["witness", "compare"], ["ledger"], ["ledger", "balance"], ["ledger", "journal"]),
    *(["segment"], ["segment", "list"], ["segment", "drop"], ["keys", "rotate"], ["doctor"]),
    *(["receipt", "bundle"], ["receipt", "verify"], ["receipt", "replay"], ["rate"]),
]
GROUPS = {"collect", "run", "log", "witness", "ledger", "segment"}


class Done(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Give a function that calls ``tallystick`` in a folder, as the shell does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TALLYSTICK_STORE", raising=False)

    def call(*args: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["tallystick", *args])
        status: object = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        out, err = capsys.readouterr()
        assert isinstance(status, int)
        return Done(status, out, err)

    return call


@pytest.fixture
def store(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Make a store with a run and its contract, which all commands find."""
    assert run("init", "store", "--origin", ORIGIN).status == 0
    monkeypatch.setenv("TALLYSTICK_STORE", "store")
    lines = [started(), step("00:10", 1), ended("01:00")]
    (tmp_path / "evidence.jsonl").write_bytes(b"\n".join(map(as_line, lines)) + b"\n")
    assert run("contract", "add", contract_file(tmp_path)).status == 0
    assert run("collect", "evidence", "evidence.jsonl").status == 0
    return run


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_an_example(run: Run, command: list[str]) -> None:
    """Every command says how it is used, in lines that fit a terminal."""
    done = run(*command, "--help")

    assert done.status == 0
    assert " ".join(command) in GROUPS or "Example" in done.out
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_a_store_is_made_once(run: Run) -> None:
    """It says what to give to others and what to keep apart."""
    done = run("init", "store", "--origin", ORIGIN, "--json")
    again = run("init", "store", "--origin", ORIGIN)

    assert done.status == 0
    assert sorted(json.loads(done.out)) == ["issued_head", "keys", "origin", "store"]
    assert (again.status, again.out) == (2, "")
    assert again.err.startswith("tallystick: store_exists: ")


def test_without_a_store_it_is_said_how_to_make_one(run: Run) -> None:
    """No store was named, or there is none."""
    (Path() / "none").mkdir()

    unnamed = run("run", "list")
    absent = run("run", "list", "--store", "none")

    assert unnamed.status == 2
    assert "--store" in unnamed.err
    assert absent.err.startswith("tallystick: store_not_found: no store at none: make one with")


def test_collecting_tells_what_became_of_each_record(store: Run, tmp_path: Path) -> None:
    """In words, as one object, and line by line."""
    (tmp_path / "more").write_bytes(as_line(started()) + b"\n{\n" + as_line(step("00:20", 2)))

    each = store("collect", "evidence", "more", "--answers", "--json")
    again = store("collect", "evidence", "more")

    *answers, whole = map(json.loads, each.out.splitlines())
    assert answers == [
        {"answer": "exists", "file": 1, "leaf": 1, "line": 1},
        {"answer": "refused", "code": "bad_json", "file": 1, "line": 2},
        {"answer": "accepted", "file": 1, "leaf": 4, "line": 3},
    ]
    counts = {word: whole[word] for word in ("accepted", "exists", "conflict", "refused")}
    assert counts == {"accepted": 1, "exists": 1, "conflict": 0, "refused": 1}
    assert again.out.splitlines() == [
        "accepted 0  exists 2  conflict 0  refused 1  findings 1",
        "the log has 6 records",
    ]
    assert again.err.startswith("bad_json: ")


def test_a_collector_writes_into_the_store(store: Run, tmp_path: Path) -> None:
    """As it would print them; nothing that came out is exit 1."""
    (tmp_path / "events").write_bytes(as_line(step("00:30", 3)) + b"\n")
    (tmp_path / "empty").touch()

    done = store("collect", "progress", "events")
    twice = store("collect", "progress", "events", "--json")
    nothing = store("collect", "progress", "empty")

    assert done.out.startswith("accepted 1  exists 0")
    assert json.loads(twice.out)["exists"] == 1
    assert nothing.status == 1


def test_a_receipt_goes_from_the_store_to_a_stranger(store: Run, tmp_path: Path) -> None:
    """Rated, issued, posted, bundled, verified and replayed, with keys in a folder."""
    rated = store("rate", "--json")
    issued = store("receipt", "issue", "--run", "run", "-o", "run.receipt", "--json")
    again = store("receipt", "issue", "--run", "run")
    balance = store("ledger", "balance")
    bundled = store("receipt", "bundle", "--run", "run", "-o", "run.bundle")
    verified = store("receipt", "verify", "run.bundle", "--keys", "store/keys")
    replayed = store("receipt", "replay", "run.bundle", "--keys", "store/keys")
    plain = store("receipt", "verify", "run.receipt", "--key", "store/keys/receipt.key.vkey")
    from_files = store(
        *("receipt", "replay", "run.receipt", "--evidence", "evidence.jsonl"),
        *("--contract", "plain-1.toml"),
    )

    assert len(json.loads(rated.out)["receipts"]) == 1
    assert json.loads(issued.out)["new"] is True
    assert "nothing has changed since" in again.out
    assert "assets:receivable:Acme" in balance.out
    assert balance.out.endswith("and they balance after each of them\n")
    assert bundled.out.splitlines()[-1].endswith("bytes, verified and replayed")
    assert verified.out.startswith("OK: run run, revision 1\n")
    assert all(len(line) <= 80 for line in verified.out.splitlines())
    assert replayed.out == "IDENTICAL: run run\n"
    assert (plain.status, from_files.status) == (0, 0)
    assert tmp_path.joinpath("run.receipt").exists()


def test_a_changed_bundle_is_told_by_its_step(store: Run, tmp_path: Path) -> None:
    """Exit 1, with the code of the step; without a key there is nothing to check against."""
    store("receipt", "issue", "--run", "run")
    store("receipt", "bundle", "--run", "run", "-o", "run.bundle")
    data = (tmp_path / "run.bundle").read_bytes()
    (tmp_path / "bad.bundle").write_bytes(data.replace(b'"step":1', b'"step":2', 1))

    bad = store("receipt", "verify", "bad.bundle", "--keys", "store/keys", "--json")
    nobody = store("receipt", "verify", "run.bundle")

    assert bad.status == 1
    assert json.loads(bad.out)["verified"] is False
    assert (nobody.status, nobody.err.split(": ")[1]) == (1, "no_keys")


def test_ways_that_lead_nowhere_are_misuse(store: Run) -> None:
    """A store has its own contracts, and witnesses are not on a receipt."""
    mixed = store("receipt", "issue", "--run", "run", "--contract", "plain-1.toml")
    store("receipt", "issue", "--run", "run", "-o", "run.receipt")
    witness = store("receipt", "verify", "run.receipt", "--witness", "x.vkey")
    bare = store("receipt", "replay", "run.receipt")

    assert [each.status for each in (mixed, witness, bare)] == [2, 2, 2]


def test_the_log_shows_signs_and_proves(store: Run, tmp_path: Path) -> None:
    """To a terminal, to a file, and to whoever has the key."""
    shown = store("log", "show", "1", "3")
    head = store("log", "head")
    store("log", "head", "-o", "head.txt")
    proved = store("log", "prove", "2", "-o", "2.tlog-proof", "--json")
    verified = store("log", "verify", "2.tlog-proof", "--key", "store/keys/log.key.vkey")
    beyond = store("log", "prove", "99", "-o", "99.tlog-proof")

    assert [json.loads(line)["record"]["kind"] for line in shown.out.splitlines()] == [
        "allocation.started",
        "progress.step",
    ]
    assert head.out == (tmp_path / "head.txt").read_text("utf-8")
    assert head.out.startswith(f"{ORIGIN}\n4\n")
    assert json.loads(proved.out)["index"] == 2
    assert verified.out == f"OK: record 2 of {ORIGIN}, in the tree of 4 records\n"
    assert (beyond.status, len(beyond.err.splitlines())) == (1, 1)


def test_a_customer_holds_the_other_half(store: Run, tmp_path: Path) -> None:
    """A head is cosigned, kept, carried by a bundle, and demanded by whoever verifies it."""
    log_key = ["--log-key", "store/keys/log.key.vkey"]
    store("receipt", "issue", "--run", "run")
    store("keys", "new", "-o", "our.key", "--name", "customer.example")
    (tmp_path / "our.vkey").write_text(store("witness", "key", "our.key").out, "utf-8")
    store("log", "head", "--since", "0", "-o", "update")
    state = ["--key", "our.key", "--state", "state", "-o", "cosigned"]
    refused = store("witness", "cosign", "update", *log_key, *state)
    done = store("witness", "cosign", "update", *log_key, *state, "--first")
    kept = store("log", "cosigned", "cosigned")
    store("receipt", "bundle", "--run", "run", "-o", "run.bundle")
    demanded = ["--keys", "store/keys", "--witness", "our.vkey"]
    verified = store("receipt", "verify", "run.bundle", *demanded)
    as_json = store("receipt", "verify", "run.bundle", *demanded, "--json")
    compared = store("witness", "compare", "cosigned", "update", *log_key, "--json")

    assert (refused.status, refused.err.split(": ")[1]) == (1, "witness_state_missing")
    assert done.out.startswith(f"cosigned {ORIGIN}, ")
    assert "customer.example+" in kept.out
    assert "\ncosigned by customer.example, " in verified.out
    assert [each["witness"] for each in json.loads(as_json.out)["cosigned"]] != []
    assert json.loads(compared.out)["same"] is True


def test_the_key_of_the_log_is_exchanged(store: Run, tmp_path: Path) -> None:
    """Who has the old one finds the new one in a bundle."""
    store("receipt", "issue", "--run", "run")
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    for path in (tmp_path / "store" / "keys").glob("*.vkey"):
        (trusted / path.name).write_bytes(path.read_bytes())

    rotated = store("keys", "rotate", "--json")
    store("receipt", "bundle", "--run", "run", "-o", "run.bundle")
    verified = store("receipt", "verify", "run.bundle", "--keys", "trusted")

    assert json.loads(rotated.out)["leaf"] == 5
    assert verified.status == 0


def test_segments_are_listed_and_dropped(store: Run, tmp_path: Path) -> None:
    """A dry run only says what would go."""
    added = store(
        *("collect", "segments", segment_file(tmp_path)),
        *("--metric", "sm_util", "--cadence", "60"),
    )
    dry = store("segment", "drop", "--older-than", "1", "--policy", "old", "--dry-run", "--json")
    dropped = store("segment", "drop", "--older-than", "1", "--policy", "old")
    listed = store("segment", "list", "--json")

    assert added.out.splitlines()[1].endswith("kept")
    assert [each["state"] for each in json.loads(dry.out)["dropped"]] == ["kept"]
    assert dropped.out.startswith("dropped 1, left 0")
    assert [each["state"] for each in json.loads(listed.out)["segments"]] == ["dropped"]


def test_runs_contracts_and_the_ledger_are_listed(store: Run) -> None:
    """Tables fit 80 columns, and objects have their keys."""
    store("receipt", "issue", "--run", "run")
    tables = [
        store("run", "list"),
        store("run", "show", "run"),
        store("contract", "list"),
        store("ledger", "balance"),
    ]
    objects = [
        json.loads(store(*command, "--json").out)
        for command in (
            ("run", "list"),
            ("run", "show", "run"),
            ("contract", "list"),
            ("ledger", "balance"),
            ("ledger", "journal"),
        )
    ]
    journal = store("ledger", "journal")

    for table in tables:
        assert table.status == 0
        assert all(len(line) <= 80 for line in table.out.splitlines())
    assert [sorted(each) for each in objects] == [
        ["runs"],
        ["attempts", "receipts", "records", "run"],
        ["contracts"],
        ["balances", "entries", "trial"],
        ["entries"],
    ]
    assert {each["difference"] for each in objects[3]["trial"]} == {"0.00"}
    assert "assets:receivable:Acme" in journal.out


def test_the_doctor_says_whether_the_store_is_whole(store: Run, tmp_path: Path) -> None:
    """Exit 0 if it is, 1 if not."""
    whole = store("doctor")
    (tmp_path / "store" / "keys" / "log.key").chmod(0o644)
    damaged = store("doctor")
    as_json = store("doctor", "--json")

    assert (whole.status, whole.out.splitlines()[-1]) == (0, "4 records, 0 damages")
    assert damaged.status == as_json.status == 1
    assert "DAMAGED  permissions" in damaged.out
    assert json.loads(as_json.out)["damages"][0]["check"] == "permissions"


def test_a_busy_store_is_waited_for_with_a_message(store: Run, tmp_path: Path) -> None:
    """Another process writes; when it is done, so are we."""
    assert store("doctor").status == 0
    holder = apsw.Connection(str(tmp_path / "store" / "log.db"))
    holder.execute("BEGIN IMMEDIATE")
    command = [sys.executable, "-m", "tallystick", "collect", "evidence", "evidence.jsonl"]
    waiting = subprocess.Popen(
        [*command, "--store", "store"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )

    assert waiting.stderr is not None
    message = waiting.stderr.readline()
    holder.execute("ROLLBACK")
    out, _ = waiting.communicate(timeout=60)

    assert message == "tallystick: store store is busy: another process writes to it; waiting\n"
    assert out.startswith("accepted 0  exists 3")


def test_a_head_is_read_by_its_key(store: Run, tmp_path: Path) -> None:
    """What `log head --json` says is what the note says."""
    done = json.loads(store("log", "head", "--json").out)

    keys = load_verify_keys([str(tmp_path / "store" / "keys" / "log.key.vkey")])
    head = open_head(done["note"].encode(), keys).head
    assert (head.origin, head.size) == (done["origin"], done["size"])
