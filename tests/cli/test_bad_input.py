"""Bad input of every kind: a finding or one line with a stable code, and the rest is rated."""

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
from tests.app.privileges import as_nobody
from tests.evidence.records import Json, adjustment, as_line, ended, of, started, step
from tests.rating.rated import contract

CASE = Path(__file__).parent.parent / "conformance" / "cases" / "022-flagship"
SOURCES = Path(__file__).parent.parent.parent / "src"
GOOD = as_line(started()) + b"\n" + as_line(ended()) + b"\n"
MB = 1024 * 1024


class Done(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Give a function that calls ``tallystick`` in a folder of its own, as the shell does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.jsonl").write_bytes(GOOD)
    (tmp_path / "contract.toml").write_bytes(contract())

    def call(*args: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "argv", ["tallystick", *args])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status: object = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        out, err = capsys.readouterr()
        assert isinstance(status, int)
        assert "Traceback" not in err
        return Done(status, out, err)

    return call


def rated(run: Run, *evidence: str, stdin: bytes = b"") -> tuple[list[Json], list[str]]:
    """Rate evidence that gives receipts; give them, and the code of each finding."""
    done = run(
        "rate", "--evidence", *evidence, "--contract", "contract.toml", "--json", stdin=stdin
    )
    output = json.loads(done.out)
    assert (done.status, done.err) == (0 if output["receipts"] else 1, "")
    return output["receipts"], [each["code"] for each in output["findings"]]


# -- lines ---------------------------------------------------------------------------------

STEP = as_line(step("00:30", 7))
LINES = {
    "truncated": (STEP[:-20], "bad_json"),
    "latin-1": (STEP.replace(b"rank", b"r\xe4nk").replace(b'"p"', b'"\xe4"'), "bad_json"),
    "utf-16": (STEP.decode().encode("utf-16"), "bad_json"),
    "nul": (STEP.replace(b'"a"', b'"a\x00"'), "bad_json"),
    "only nul": (b"\x00" * 4096, "bad_json"),
    "byte order mark": (b"\xef\xbb\xbf" + STEP, "bad_json"),
    "nan": (STEP.replace(b":7", b":NaN"), "bad_json"),
    "infinity": (STEP.replace(b":7", b":-Infinity"), "bad_json"),
    "two objects": (STEP + STEP, "bad_json"),
    "deep arrays": (STEP.replace(b":7", b":" + b"[" * 200_000), "bad_json"),
    "deep objects": (STEP.replace(b":7", b":" + b'{"a":' * 200_000), "bad_json"),
    "compressed": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff", "bad_json"),
    "csv": (b"attempt,step,every", "bad_json"),
    "array": (b"[" + STEP + b"]", "not_an_object"),
    "twice": (STEP.replace(b'"every":', b'"step":8,"every":'), "duplicate_key"),
    "other letters": (STEP.replace(b'"every"', '"évery"'.encode()), "bad_key"),
    "half a pair": (STEP.replace(b'"a"', b'"\\udc00"'), "bad_string"),
    "float": (STEP.replace(b":7", b":7.5"), "float_refused"),
    "huge float": (STEP.replace(b":7", b":1e999999999"), "float_refused"),
    "large integer": (STEP.replace(b":7", b":9007199254740993"), "integer_out_of_range"),
    "huge integer": (STEP.replace(b":7", b":" + b"7" * 100_000), "integer_out_of_range"),
    "other version": (STEP.replace(b"evidence/1", b"evidence/2"), "bad_record"),
    "no envelope": (b'{"attempt":"a","step":7,"every":1}', "bad_record"),
    "local time": (STEP.replace(b"000Z", b"000+01:00"), "bad_time"),
    "missing field": (STEP.replace(b'"every":1', b'"often":1'), "bad_body"),
    "no time": (STEP.replace(b'"2026-03-01T00:30:00.000000Z"', b"null"), "time_missing"),
    "huge amount": (as_line(adjustment("9" * 100_000)), "bad_body"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_is_a_finding_and_the_rest_is_rated(run: Run, tmp_path: Path, name: str) -> None:
    """Before, between and after good lines it changes no receipt."""
    bad, code = LINES[name]
    first, last = GOOD.splitlines()
    (tmp_path / "bad.jsonl").write_bytes(b"\n".join([bad, first, bad, last, bad]))

    receipts, codes = rated(run, "bad.jsonl")

    assert codes == [code, code, code]
    assert receipts == rated(run, "good.jsonl")[0]


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_is_told_in_one_line(run: Run, tmp_path: Path, name: str) -> None:
    """Its code comes first and its place last, and every character can be printed."""
    bad, code = LINES[name]
    (tmp_path / "bad.jsonl").write_bytes(GOOD + bad)

    done = run("rate", "--evidence", "bad.jsonl", "--contract", "contract.toml")

    (told,) = done.err.splitlines()
    assert told.startswith(f"{code}: ")
    assert told.endswith(" (file 1, line 3)")
    assert told.isprintable()
    assert len(told) < 300


@pytest.mark.parametrize(
    "other",
    [
        as_line(step("00:30", 7) | {"kind": "progress.mood"}),
        as_line(step("00:30", 7) | {"kind": "invoice.line", "body": {"run": "x"}}),
        as_line(started() | {"observed": "2030-01-01T00:00:00.000000Z"}),
        b"",
        b" \t\r",
    ],
)
def test_what_is_unknown_or_nothing_has_no_effect(run: Run, tmp_path: Path, other: bytes) -> None:
    """Unknown kinds, copies and blank lines are no findings."""
    (tmp_path / "more.jsonl").write_bytes(GOOD + other + b"\n")

    assert rated(run, "more.jsonl") == rated(run, "good.jsonl")


def test_a_file_from_windows_is_read(run: Run, tmp_path: Path) -> None:
    """CR before LF is white space."""
    (tmp_path / "crlf.jsonl").write_bytes(GOOD.replace(b"\n", b"\r\n"))

    assert rated(run, "crlf.jsonl") == rated(run, "good.jsonl")


def test_a_byte_order_mark_costs_the_first_line_only(run: Run, tmp_path: Path) -> None:
    """The others are as good as without it."""
    (tmp_path / "bom.jsonl").write_bytes(b"\xef\xbb\xbf" + as_line(step("00:30", 7)) + b"\n" + GOOD)

    receipts, codes = rated(run, "bom.jsonl")

    assert (receipts, codes) == (rated(run, "good.jsonl")[0], ["bad_json"])


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\t\n"])
def test_an_empty_file_has_no_receipt(run: Run, tmp_path: Path, data: bytes) -> None:
    """It is no error beside others, and alone it is a failed check."""
    (tmp_path / "empty.jsonl").write_bytes(data)

    assert rated(run, "empty.jsonl") == ([], [])
    assert rated(run, "empty.jsonl", "good.jsonl") == rated(run, "good.jsonl")
    assert rated(run, "-", "good.jsonl", stdin=data) == rated(run, "good.jsonl")


def test_a_file_cut_at_any_byte_is_rated_as_far_as_it_goes(run: Run, tmp_path: Path) -> None:
    """Every prefix gives receipts or findings, and never another end."""
    data = as_line(started()) + b"\n" + as_line(step("00:30", 7)) + b"\n"
    for length in range(0, len(data), 7):
        (tmp_path / "cut.jsonl").write_bytes(data[:length])

        _, codes = rated(run, "cut.jsonl")

        assert codes in ([], ["bad_json"])


@pytest.mark.parametrize("bytes_mb", [100, 400])
def test_a_very_long_line_is_never_held(tmp_path: Path, bytes_mb: int) -> None:
    """A line without end costs bounded memory, and what follows it is rated."""
    (tmp_path / "contract.toml").write_bytes(contract())
    first, last = GOOD.splitlines()
    with (tmp_path / "long.jsonl").open("wb") as sparse:
        sparse.write(first + b"\n")
        sparse.seek(bytes_mb * MB, os.SEEK_CUR)
        sparse.write(b"\n" + last + b"\n")

    done = limited(350, tmp_path, "rate", "--evidence", "long.jsonl", "--contract", "contract.toml")

    assert (done.returncode, done.stdout.splitlines()[1].split()[:2]) == (0, ["run", "3600.000000"])
    assert done.stderr.startswith("bad_json: expected a JSON object, got a line beyond 64 MiB")
    assert len(done.stderr.splitlines()) == 1


def limited(memory_mb: int, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Call the command in a process that may use so much memory."""
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({memory_mb * MB}, {memory_mb * MB}))\n"
        "from tallystick.cli.main import main\n"
        "main()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=folder,
        env={"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )


# -- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--evidence", "--contract"])
@pytest.mark.parametrize("name", ["absent", "folder", "good.jsonl/below", "x" * 5_000, "a\nb"])
def test_a_file_that_cannot_be_read_is_misuse(
    run: Run, tmp_path: Path, option: str, name: str
) -> None:
    """One line with a code, nothing on standard output, nothing rated."""
    (tmp_path / "folder").mkdir()

    done = run("rate", "--evidence", "good.jsonl", "--contract", "contract.toml", option, name)

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("tallystick: unreadable_file: cannot read ")
    assert done.err.count("\n") == 1


def test_a_file_that_is_closed_to_us_is_misuse(run: Run, tmp_path: Path) -> None:
    """No permission is a reason of its own."""
    (tmp_path / "good.jsonl").chmod(0)

    with as_nobody():
        done = run("rate", "--evidence", "good.jsonl", "--contract", "contract.toml")

    assert done.status == 2
    assert done.err.endswith("permission denied\n")


# -- contracts -----------------------------------------------------------------------------

TEN_MISTAKES = """\
schema = "tallystick.contract/2"
id = 7
version = "1"
currency = "dollars"
effective_from = 2026-01-01T00:00:00
[metering]
unit = "rack"
granularity_s = 0
[[rate]]
per_hour = 2.25
[[rule]]
clause = "1"
when = { moon = "full" }
then = "forgive"
"""


def test_a_contract_with_ten_mistakes_tells_them_all(run: Run, tmp_path: Path) -> None:
    """Each on a line of its own, with the line and the key (rule 45)."""
    (tmp_path / "bad.toml").write_text(TEN_MISTAKES, encoding="utf-8")

    done = run("rate", "--evidence", "good.jsonl", "--contract", "bad.toml")

    heading, *mistakes = done.err.splitlines()
    assert (done.status, done.out) == (2, "")
    assert heading.startswith("tallystick: bad_contract: bad.toml: ")
    stated = [
        *("bad.toml:1: schema: ", "bad.toml:2: id: ", "bad.toml:3: version: "),
        *("bad.toml:4: currency: ", "bad.toml:5: effective_from: ", "bad.toml:7: metering.unit: "),
        *("bad.toml:8: metering.granularity_s: ", "bad.toml:10: rate[1].per_hour: "),
        *("bad.toml:13: rule[1].when.moon: ", "bad.toml:14: rule[1].then: "),
    ]
    for place in stated:
        assert sum(mistake.startswith(place) for mistake in mistakes) == 1, place
    missing = {"rate[1].clause", "parties.provider", "parties.customer"}
    assert all(any(key in mistake for mistake in mistakes) for key in missing)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad_contract"),
        (b"\x00", "bad_contract"),
        (GOOD, "bad_contract"),
        (contract() + b"\xff", "bad_contract"),
        (contract() + b"x = \n", "bad_contract"),
        (b"\xef\xbb\xbf" + contract(), "bad_contract"),
        (contract().decode().encode("utf-16"), "bad_contract"),
        (contract() + b"#" * (2 * MB), "bad_contract"),
        (contract() + b"x = " + b"[" * 100_000, "bad_contract"),
        (contract() + b"x = " + b"9" * 100_000, "bad_contract"),
        (contract(per_hour="9" * 10_000), "bad_contract"),
        (contract(per_hour="-1"), "bad_contract"),
        (contract(per_hour="NaN"), "bad_contract"),
        (contract().replace(b"acme", b"other"), "contract_id_mismatch"),
        (contract(version=2).replace(b"USD", b"EUR"), "contract_currency_mismatch"),
        (contract() + b"# another file\n", "contract_version_clash"),
        (
            contract('metering = { unit = "node", gpus_per_node = 8 }', per_hour=None, version=2),
            "contract_unit_mismatch",
        ),
    ],
)
def test_a_contract_that_cannot_be_used_is_misuse(
    run: Run, tmp_path: Path, data: bytes, code: str
) -> None:
    """Nothing is rated, beside a good version too (rules 45 and 46)."""
    (tmp_path / "bad.toml").write_bytes(data)

    done = run("rate", "--evidence", "good.jsonl", "--contract", "contract.toml", "bad.toml")

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"tallystick: {code}: ")
    assert all(line.isprintable() and len(line) < 400 for line in done.err.splitlines())


def test_bad_contracts_are_told_together(run: Run, tmp_path: Path) -> None:
    """The mistakes of all files come at once."""
    (tmp_path / "one.toml").write_bytes(contract().replace(b"USD", b"dollars"))
    (tmp_path / "two.toml").write_bytes(b"x = \n")

    done = run("rate", "--evidence", "good.jsonl", "--contract", "one.toml", "two.toml")

    assert done.status == 2
    assert "one.toml:4: currency: " in done.err
    assert "two.toml:1: " in done.err


# -- nothing half-written ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"--evidence": "absent"}, "unreadable_file"),
        ({"--contract": "absent"}, "unreadable_file"),
        ({"--contract": "good.jsonl"}, "bad_contract"),
        ({"--key": "absent"}, "unreadable_file"),
        ({"--run": "nobody"}, "run_not_found"),
        ({"-o": "absent/receipt"}, "unwritable_file"),
        ({"-o": "folder"}, "unwritable_file"),
    ],
)
def test_a_receipt_that_cannot_be_issued_leaves_no_trace(
    run: Run, tmp_path: Path, change: dict[str, str], code: str
) -> None:
    """The older receipt stays as it was, and no part of the new one is there."""
    new_key(tmp_path / "key")
    (tmp_path / "folder").mkdir()
    (tmp_path / "receipt").write_bytes(b"older")
    options = {
        "--evidence": "good.jsonl",
        "--contract": "contract.toml",
        "--run": "run",
        "--key": "key",
        "-o": "receipt",
    } | change
    before = sorted(tmp_path.rglob("*"))

    done = run("receipt", "issue", *(part for option in options.items() for part in option))

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"tallystick: {code}: ")
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "receipt").read_bytes() == b"older"


# -- the same bytes everywhere -------------------------------------------------------------

ENVIRONMENTS = [
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu", "LANG": "de_DE.UTF-8"},
    {"PYTHONHASHSEED": "4242", "LC_ALL": "POSIX", "TZ": "America/St_Johns", "PYTHONUTF8": "0"},
]


def test_every_process_prints_the_same_bytes(tmp_path: Path) -> None:
    """Other hash seeds, locales, time zones and processes, shuffled and repeated lines."""
    lines = (CASE / "evidence.jsonl").read_bytes().splitlines()
    outputs = set()
    for place, environment in enumerate(ENVIRONMENTS):
        turned = [*lines[place * 7 :], *lines[: place * 11], *lines]
        (tmp_path / "evidence.jsonl").write_bytes(b"\n".join(turned))

        done = subprocess.run(
            [
                *(sys.executable, "-m", "tallystick", "rate", "--json"),
                *("--evidence", "evidence.jsonl", "--contract"),
                *(str(CASE / f"contract-{number}.toml") for number in (3, 4)),
            ],
            cwd=tmp_path,
            env=environment | {"PYTHONPATH": str(SOURCES)},
            capture_output=True,
            check=True,
        )

        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_every_process_issues_the_same_receipt(tmp_path: Path) -> None:
    """Payload and signature are the same bytes, whoever computes them, and whenever."""
    new_key(tmp_path / "key")
    receipts = set()
    for place, environment in enumerate(ENVIRONMENTS):
        subprocess.run(
            [
                *(sys.executable, "-m", "tallystick", "receipt", "issue", "--run", "flagship"),
                *("--evidence", str(CASE / "evidence.jsonl"), "--key", "key"),
                *("-o", f"receipt-{place}", "--contract"),
                *(str(CASE / f"contract-{number}.toml") for number in (3, 4)),
            ],
            cwd=tmp_path,
            env=environment | {"PYTHONPATH": str(SOURCES)},
            capture_output=True,
            check=True,
        )
        receipts.add((tmp_path / f"receipt-{place}").read_bytes())

    assert len(receipts) == 1


@pytest.mark.parametrize("environment", [*ENVIRONMENTS, {"PYTHONIOENCODING": "ascii"}])
def test_a_name_in_any_script_is_printed_anywhere(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """No locale makes a name the end of a command."""
    records = [started(run="laufé-跑"), ended(), *of("ö", started(run="laufé-跑"))]
    (tmp_path / "evidence").write_bytes(b"\n".join(map(as_line, records)))
    (tmp_path / "contract.toml").write_bytes(contract())

    done = subprocess.run(
        [
            *(sys.executable, "-m", "tallystick", "rate"),
            *("--evidence", "evidence", "--contract", "contract.toml"),
        ],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
