"""``tallystick receipt``: each command from its arguments to its exit status."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tallystick.app.keys import new_key
from tallystick.cli.main import main
from tallystick.receipt.verify import STEPS
from tests.receipt.samples import PROVIDER, change, make_predicate, sign

CASE = Path(__file__).parent.parent / "conformance" / "cases" / "022-flagship"
EVIDENCE = ["--evidence", str(CASE / "evidence.jsonl")]
CONTRACT = ["--contract", str(CASE / "contract-3.toml"), str(CASE / "contract-4.toml")]


class Done(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Give a function that calls ``tallystick receipt`` as the shell does."""

    def call(*args: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["tallystick", "receipt", *args])
        status: object = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        out, err = capsys.readouterr()
        assert isinstance(status, int)
        return Done(status, out, err)

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a key pair, a broken key and two receipts that differ."""
    made = tmp_path_factory.mktemp("cli")
    new_key(made / "acme.key")
    broken = f"{PROVIDER.verify_key.keyid}+AQAA\n"
    (made / "broken.vkey").write_text(broken, encoding="utf-8")
    (made / "small.receipt").write_bytes(sign(make_predicate()))
    other = change(make_predicate(), "run.accepted", None)
    (made / "other.receipt").write_bytes(sign(other))
    return made


def issue(run: Run, folder: Path, *more: str) -> Done:
    """Issue the flagship's receipt."""
    key, target = str(folder / "acme.key"), str(folder / "flagship.receipt")
    args = [*EVIDENCE, *CONTRACT, "--run", "flagship", "--key", key, "-o", target]
    return run("issue", *args, *more)


def test_issue_writes_a_receipt(run: Run, folder: Path) -> None:
    """It says for which run and with which payload."""
    done = issue(run, folder)

    assert done.status == 0
    assert done.out.startswith("OK: run flagship\npayload sha256:")
    assert done.err == ""


def test_issue_as_json(run: Run, folder: Path) -> None:
    """The object names run, file, payload, signers and findings."""
    done = issue(run, folder, "--json")

    fields = json.loads(done.out)
    assert sorted(fields) == ["findings", "payload", "receipt", "revision", "run", "signers"]
    assert fields["findings"] == []


def test_issue_tells_refused_lines(run: Run, folder: Path, tmp_path: Path) -> None:
    """Findings about lines go to standard error, and the receipt is issued."""
    (tmp_path / "torn").write_text("{", encoding="utf-8")

    done = issue(run, folder, "--evidence", str(tmp_path / "torn"))

    assert done.status == 0
    assert done.err.startswith("bad_json: ")


def test_issue_for_an_unknown_run(run: Run, folder: Path, tmp_path: Path) -> None:
    """One line with a code, exit 2, and no file."""
    key, target = str(folder / "acme.key"), tmp_path / "receipt"

    done = run("issue", *EVIDENCE, *CONTRACT, "--run", "x", "--key", key, "-o", str(target))

    assert done.status == 2
    assert done.err == (
        "tallystick: run_not_found: no run 'x' in the evidence, which has 'flagship'\n"
    )
    assert not target.exists()


def test_verify_lists_its_steps(run: Run, folder: Path) -> None:
    """Every step that held is named, with the signer and the payload."""
    issue(run, folder)

    done = run("verify", str(folder / "flagship.receipt"), "--key", str(folder / "acme.key.vkey"))

    rows = done.out.splitlines()
    assert done.status == 0
    assert rows[0] == "OK: run flagship"
    assert rows[1].startswith("payload sha256:")
    assert rows[2].startswith("signed by acme+")
    assert rows[3:] == [f"  ({number}) {text}" for number, text in enumerate(STEPS)]


def test_verify_as_json(run: Run, folder: Path) -> None:
    """The object says who signed what, and which steps held."""
    issue(run, folder)

    done = run(
        "verify", str(folder / "flagship.receipt"), "--key", str(folder / "acme.key.vkey"), "--json"
    )

    fields = json.loads(done.out)
    assert sorted(fields) == ["payload", "revision", "run", "signers", "steps", "verified"]
    assert fields["verified"] is True
    assert len(fields["steps"]) == len(STEPS)


def test_verify_without_a_key_fails(run: Run, folder: Path) -> None:
    """There is nothing to check against: exit 1, and no word of success."""
    done = run("verify", str(folder / "small.receipt"))

    assert done.status == 1
    assert done.out == ""
    assert done.err.startswith("tallystick: no_keys: ")


def test_verify_with_anothers_key_fails(run: Run, folder: Path) -> None:
    """As JSON the failed step is in the object too."""
    done = run(
        "verify", str(folder / "small.receipt"), "--key", str(folder / "acme.key.vkey"), "--json"
    )

    failure = json.loads(done.out)["failure"]
    assert done.status == 1
    assert (failure["step"], failure["code"]) == (3, "no_known_signer")


def test_verify_with_a_broken_key_is_misuse(run: Run, folder: Path) -> None:
    """A file that is no key says so, exit 2."""
    done = run("verify", str(folder / "small.receipt"), "--key", str(folder / "broken.vkey"))

    assert done.status == 2
    assert done.err.startswith("tallystick: bad_public_key: ")


def test_replay_finds_the_same_receipt(run: Run, folder: Path) -> None:
    """Exit 0 if the evidence gives the same bytes."""
    issue(run, folder)

    done = run("replay", str(folder / "flagship.receipt"), *EVIDENCE, *CONTRACT)

    assert done == (0, "IDENTICAL: run flagship\n", "")


def test_replay_names_the_first_difference(run: Run, folder: Path) -> None:
    """Exit 1, with what is stated and what the evidence gives."""
    issue(run, folder)

    done = run("replay", str(folder / "flagship.receipt"), *EVIDENCE, *CONTRACT[:2])

    rows = done.out.splitlines()
    assert done.status == 1
    assert rows[0] == "DIFFERENT: run flagship, first at $.contracts[1]"
    assert rows[1].startswith('  stated   {"digest":"sha256:')
    assert rows[2] == "  computed null"


def test_replay_as_json(run: Run, folder: Path) -> None:
    """The keys are the same whatever came out."""
    issue(run, folder)

    dones = [
        run("replay", str(folder / "flagship.receipt"), *EVIDENCE, *contract, "--json")
        for contract in (CONTRACT, CONTRACT[:2])
    ]

    both = [json.loads(done.out) for done in dones]
    assert [done.status for done in dones] == [0, 1]
    assert [each["identical"] for each in both] == [True, False]
    assert both[0].keys() == both[1].keys()


def test_explain_one_line(run: Run, folder: Path) -> None:
    """With contract and evidence the clause is quoted and the records are named."""
    issue(run, folder)

    done = run("explain", str(folder / "flagship.receipt"), "5", *EVIDENCE, *CONTRACT)

    assert done.status == 0
    assert done.out.startswith("LINE 5 of 10: held, at most USD 0.09\n")
    assert '"Time without telemetry is held until the parties resolve it."' in done.out
    assert "allocation.started, 2026-03-01T00:51:52.000000Z, slurmctld/c1" in done.out


def test_explain_all_lines(run: Run, folder: Path) -> None:
    """Without a number every line is explained, one block each."""
    done = run("explain", str(folder / "small.receipt"))

    assert done.out.count("LINE ") == 5
    assert done.out.count("\n\n") == 4


def test_explain_as_json(run: Run, folder: Path) -> None:
    """The object has one entry for each line."""
    done = run("explain", str(folder / "small.receipt"), "4", "--json")

    fields = json.loads(done.out)
    assert [each["line"] for each in fields["lines"]] == [4]
    assert fields["signers"] == []


def test_explain_a_line_that_is_not_there(run: Run, folder: Path) -> None:
    """One line with a code, exit 2."""
    done = run("explain", str(folder / "small.receipt"), "6")

    assert done.status == 2
    assert done.err == "tallystick: line_not_found: no line 6: the receipt has lines 1 to 5\n"


def test_show_is_a_page(run: Run, folder: Path) -> None:
    """Unchecked signatures are told; with a contract the parties are."""
    done = run("show", str(folder / "small.receipt"), *CONTRACT)

    assert done.status == 0
    assert done.out.startswith("RECEIPT  run-7\n")
    assert "signed by    not checked: no key was given" in done.out
    assert "parties      Example Cloud (provider), Acme (customer)" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_show_as_json_has_the_predicate(run: Run, folder: Path) -> None:
    """Programs get the receipt itself."""
    done = run("show", str(folder / "small.receipt"), "--json")

    assert json.loads(done.out)["predicate"] == make_predicate()


def test_diff_of_a_receipt_with_itself(run: Run, folder: Path) -> None:
    """Exit 0 and one word."""
    path = str(folder / "small.receipt")

    assert run("diff", path, path) == (0, "SAME\n", "")


def test_diff_of_two_receipts(run: Run, folder: Path) -> None:
    """Exit 1 and what changed."""
    done = run("diff", str(folder / "small.receipt"), str(folder / "other.receipt"))

    assert done == (1, "RUN\n    accepted               true -> null\n", "")


def test_diff_as_json(run: Run, folder: Path) -> None:
    """The object says whether they are the same, and lists every change."""
    done = run("diff", str(folder / "small.receipt"), str(folder / "other.receipt"), "--json")

    fields = json.loads(done.out)
    assert done.status == 1
    assert fields["same"] is False
    assert [each["section"] for each in fields["changes"]] == ["run"]


@pytest.mark.parametrize("command", ["show", "explain", "verify", "diff"])
def test_garbage_is_one_line_and_exit_1(run: Run, folder: Path, command: str) -> None:
    """What is no receipt is refused by every command alike."""
    (folder / "garbage").write_bytes(b"\x00\xff")
    garbage = str(folder / "garbage")
    args = {
        "verify": [garbage, "--key", str(folder / "acme.key.vkey")],
        "diff": [garbage, garbage],
    }

    done = run(command, *args.get(command, [garbage]))

    assert (done.status, done.out) == (1, "")
    assert done.err == "tallystick: bad_envelope: malformed envelope: expected a JSON object\n"


def test_a_missing_file_is_misuse(run: Run) -> None:
    """A path that leads nowhere is exit 2."""
    done = run("show", "nowhere.receipt")

    assert done.status == 2
    assert done.err.startswith("tallystick: unreadable_file: cannot read nowhere.receipt")


@pytest.mark.parametrize("command", ["issue", "verify", "replay", "explain", "show", "diff"])
def test_help_has_an_example(run: Run, command: str) -> None:
    """Each command shows how it is called."""
    done = run(command, "--help")

    assert done.status == 0
    assert f"tallystick receipt {command} " in done.out.partition("Example")[2]
    assert "--json" in done.out


def test_a_name_in_a_message_is_escaped_too(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only ASCII can be written, no command writes anything else."""
    predicate = change(make_predicate(), "run.id", "\u6f22")
    (folder / "han.receipt").write_bytes(sign(predicate))
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", output)

    run("diff", str(folder / "small.receipt"), str(folder / "han.receipt"))

    output.seek(0)
    assert output.read().splitlines()[1] == "    id                     run-7 -> \\u{6f22}"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_gets_only_what_it_can_show(encoding: str) -> None:
    """Names that an encoding lacks are escaped, never a crash; a receipt also comes by pipe."""
    predicate = make_predicate()
    change(predicate, "run.id", "\u6f22\u5b57")
    command = "from tallystick.cli.main import main; main()"

    done = subprocess.run(
        [sys.executable, "-c", command, "receipt", "show", "-"],
        input=sign(predicate),
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )

    name = "\u6f22\u5b57" if encoding == "utf-8" else "\\u{6f22}\\u{5b57}"
    assert done.stdout.decode(encoding).splitlines()[0] == f"RECEIPT  {name}"
