"""``tallystick rate``: from arguments to output and exit status."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tallystick.cli.main import cli
from tests.evidence.records import Json, as_line, ended, of, resumed, started
from tests.rating.rated import HELD_WHEN_DARK, contract


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the evidence of two runs in two files, and contracts."""
    write(tmp_path / "a.jsonl", started(), ended())
    write(tmp_path / "b.jsonl", *of("b", started(run="other"), resumed("00:10"), ended()))
    (tmp_path / "plain.toml").write_bytes(contract())
    (tmp_path / "held.toml").write_bytes(contract(HELD_WHEN_DARK))
    (tmp_path / "none.toml").write_bytes(contract(per_hour=None))
    return tmp_path


def write(path: Path, *records: Json) -> None:
    """Write evidence."""
    path.write_bytes(b"".join(as_line(each) + b"\n" for each in records))


def rate(folder: Path, *arguments: str, stdin: bytes = b"") -> Result:
    """Call the command; names of files are those of the folder."""
    names = [str(folder / each) if (folder / each).is_file() else each for each in arguments]
    return CliRunner().invoke(cli, ["rate", *names], input=stdin, catch_exceptions=False)


def test_a_table_has_a_line_a_run(folder: Path) -> None:
    """What was metered, what is owed, and how many findings there are."""
    done = rate(folder, "--evidence", "a.jsonl", "b.jsonl", "--contract", "plain.toml")

    assert done.exit_code == 0
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["run", "metered", "s", "net", "findings"],
        ["other", "3600.000000", "3.60", "USD", "1"],
        ["run", "3600.000000", "3.60", "USD", "0"],
    ]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("terms", "net"), [("held.toml", "0.00 to 3.60 USD"), ("none.toml", "0.00 to ? USD")]
)
def test_what_is_held_is_a_range(folder: Path, terms: str, net: str) -> None:
    """A bound that nobody knows is a question mark."""
    done = rate(folder, "--evidence", "a.jsonl", "--contract", terms)

    assert net in done.stdout


def test_a_long_run_id_is_cut_in_the_table(folder: Path) -> None:
    """Columns stay where they are; JSON has it whole."""
    write(folder / "a.jsonl", started(run="r" * 200), ended())

    table = rate(folder, "--evidence", "a.jsonl", "--contract", "plain.toml")
    whole = rate(folder, "--evidence", "a.jsonl", "--contract", "plain.toml", "--json")

    assert table.stdout.splitlines()[1].startswith("r" * 29 + "... ")
    assert len({len(line) for line in table.stdout.splitlines()}) == 1
    assert json.loads(whole.stdout)["receipts"][0]["run"]["id"] == "r" * 200


def test_json_is_one_canonical_object(folder: Path) -> None:
    """Receipts and findings, keys in order, on one line."""
    done = rate(folder, "--evidence", "a.jsonl", "b.jsonl", "--contract", "plain.toml", "--json")

    output = json.loads(done.stdout)
    assert list(output) == ["findings", "receipts"]
    assert [each["run"]["id"] for each in output["receipts"]] == ["other", "run"]
    canonical = json.dumps(output, sort_keys=True, separators=(",", ":"))
    assert done.stdout == canonical + "\n"
    assert (done.exit_code, done.stderr) == (0, "")


def test_findings_of_lines_stand_in_the_object(folder: Path) -> None:
    """With code, message, file and line, and nothing on standard error."""
    (folder / "bad.jsonl").write_bytes(b"\nx\n")

    done = rate(folder, "--evidence", "a.jsonl", "bad.jsonl", "--contract", "plain.toml", "--json")

    (finding,) = json.loads(done.stdout)["findings"]
    assert finding.pop("message")
    assert finding == {"code": "bad_json", "file": 2, "line": 2}
    assert (done.exit_code, done.stderr) == (0, "")


def test_findings_of_lines_stand_on_standard_error(folder: Path) -> None:
    """Data goes to standard output, the rest to the other, one line each."""
    write(folder / "bad.jsonl", started(attempt="z") | {"at": "noon"}, ended(attempt="y"))

    done = rate(folder, "--evidence", "a.jsonl", "bad.jsonl", "--contract", "plain.toml")

    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 2
    first, second = done.stderr.splitlines()
    assert first.startswith("bad_time: ")
    assert first.endswith(" (file 2, line 1)")
    assert second.startswith("unknown_attempt: ")


def test_one_run_may_be_asked_for(folder: Path) -> None:
    """The others are filtered (rule 66)."""
    done = rate(
        folder,
        "--evidence",
        "a.jsonl",
        "b.jsonl",
        "--contract",
        "plain.toml",
        "--run",
        "run",
        "--json",
    )

    assert [each["run"]["id"] for each in json.loads(done.stdout)["receipts"]] == ["run"]


@pytest.mark.parametrize("arguments", [("--run", "nobody"), ("--run", "")])
def test_no_receipt_is_a_failed_check(folder: Path, arguments: tuple[str, ...]) -> None:
    """Exit 1, and the output is what it always is (rule 66)."""
    done = rate(folder, "--evidence", "a.jsonl", "--contract", "plain.toml", *arguments, "--json")

    assert done.exit_code == 1
    assert json.loads(done.stdout) == {"findings": [], "receipts": []}


def test_a_dash_is_standard_input(folder: Path) -> None:
    """Evidence may come through a pipe, beside files."""
    stdin = (folder / "a.jsonl").read_bytes()

    done = rate(
        folder, "--evidence", "-", "b.jsonl", "--contract", "plain.toml", "--json", stdin=stdin
    )

    assert len(json.loads(done.stdout)["receipts"]) == 2


def test_a_contract_may_come_through_a_pipe(folder: Path) -> None:
    """A dash is standard input there, too."""
    stdin = (folder / "plain.toml").read_bytes()

    done = rate(folder, "--evidence", "a.jsonl", "--contract", "-", stdin=stdin)

    assert done.exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--evidence", "a.jsonl"),
        ("--contract", "plain.toml"),
        ("--evidence", "--contract", "plain.toml"),
        ("--evidence", "a.jsonl", "--contract", "plain.toml", "--unknown"),
        ("a.jsonl", "--evidence", "a.jsonl", "--contract", "plain.toml"),
        ("--evidence", "a.jsonl", "--contract", "plain.toml", "--run"),
    ],
)
def test_a_call_that_makes_no_sense_is_misuse(folder: Path, arguments: tuple[str, ...]) -> None:
    """Exit 2, nothing on standard output, and what was wrong on the other."""
    done = rate(folder, *arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: " in done.stderr


def test_help_has_an_example() -> None:
    """And is no failure."""
    done = CliRunner().invoke(cli, ["rate", "--help"])

    assert done.exit_code == 0
    assert "tallystick rate --evidence evidence.jsonl --contract contract.toml" in done.stdout
