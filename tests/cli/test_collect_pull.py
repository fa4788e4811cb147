"""``tallystick collect pull``: options, streams, exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tallystick.app.pull import Progress
from tallystick.app.store import init_store
from tallystick.cli.collect_pull import Meter, pull_command
from tallystick.collectors.pull.errors import BadQueriesError, ServerAwayError
from tests.app.stores import ORIGIN
from tests.collectors.pull.fake_server import FakeServer, Fault, device, scrapes, serving

TIMES = ("--from", "2026-03-01T00:00:00Z", "--to", "2026-03-01T00:01:00Z")
ASKED = ("--cadence", "1", "--match", "UTIL")


def call(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(pull_command, list(arguments))


def pulled(folder: Path, fake: FakeServer, *arguments: str) -> Result:
    """Pull a minute from a fake server into a new store."""
    init_store(folder / "store", ORIGIN)
    with serving(fake) as server:
        return call("--url", server.url, *TIMES, "--store", str(folder / "store"), *arguments)


def answer(result: Result) -> dict[str, Any]:
    """Read what ``--json`` printed."""
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_segments_are_listed(tmp_path: Path) -> None:
    """A line each, within 80 columns, and the counts; nothing on standard error."""
    series = [device("UTIL", "GPU-1", "1 2 3"), device("A_METRIC_WITH_A_VERY_LONG_NAME", "g", "1")]
    result = pulled(tmp_path, FakeServer(series), *ASKED, "A_METRIC_WITH_A_VERY_LONG_NAME")

    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "2026-03-01T00:00:01Z         3 rows     1 GPUs  UTIL",
        "2026-03-01T00:00:01Z         1 rows     1 GPUs  A_METRIC_WITH_A_VERY_LONG_",
        "segments 2, of them new 2  rows 4  outages 0  findings 0",
        "the log has 2 records",
    ]
    assert result.stderr == ""


def test_many_segments_are_counted(tmp_path: Path) -> None:
    """Twenty are shown."""
    fake = FakeServer([device("UTIL", "GPU-1", " ".join(map(str, range(60))))])

    result = pulled(tmp_path, fake, *ASKED, "--span", "2")

    assert result.stdout.splitlines()[20] == "and 10 more"


def test_json_says_everything(tmp_path: Path) -> None:
    """Segments, outages, findings and the size of the log, as one object."""
    series = [device("UTIL", "GPU-1", "1 3"), device("UTIL", "", "1"), *scrapes("1 2=0 3 4")]

    result = pulled(tmp_path, FakeServer(series), *ASKED, "--node-label", "hostname", "--json")

    found = answer(result)
    (segment,) = found["segments"]
    assert result.exit_code == 0
    assert (found["kind"], found["rows"], found["outages"], found["resumed"]) == (
        "prometheus",
        3,
        1,
        False,
    )
    assert (segment["metric"], segment["gpus"], segment["new"]) == ("UTIL", 1, True)
    assert segment["to"] == "2026-03-01T00:00:04.000000Z"
    assert [each["code"] for each in found["findings"]] == ["no_uuid"]
    assert found["size"] == 3


def test_nothing_found_is_a_failed_check(tmp_path: Path) -> None:
    """Exit 1, and a finding on standard error."""
    result = pulled(tmp_path, FakeServer([]), *ASKED)

    assert result.exit_code == 1
    assert "no_samples" in result.stderr


def test_queries_of_a_file_are_pulled(tmp_path: Path) -> None:
    """Metrics have the names that the file gives them."""
    queries = tmp_path / "queries.toml"
    queries.write_text("[[query]]\nmatch='UTIL'\nmetric='sm_util'\ncadence=1\n", encoding="utf-8")
    fake = FakeServer([device("UTIL", "GPU-1", "1")])

    result = pulled(tmp_path, fake, "--queries", str(queries), "--json")

    assert [each["metric"] for each in answer(result)["segments"]] == ["sm_util"]


def test_a_file_of_queries_that_is_none_is_an_error(tmp_path: Path) -> None:
    """One line with a stable code."""
    queries = tmp_path / "queries.toml"
    queries.write_text("[[query]]", encoding="utf-8")

    result = pulled(tmp_path, FakeServer([]), "--queries", str(queries))

    assert isinstance(result.exception, BadQueriesError)
    assert result.exception.code == "pull_bad_queries"


def test_the_kind_can_be_said(tmp_path: Path) -> None:
    """Then the server is not asked what it is."""
    fake = FakeServer([device("UTIL", "GPU-1", "1")], kind="victoriametrics")

    result = pulled(tmp_path, fake, *ASKED, "--kind", "victoriametrics", "--json")

    assert answer(result)["kind"] == "victoriametrics"
    assert "/api/v1/status/buildinfo" not in {path for path, _ in fake.asked}
    assert ["1"] not in [fields.get("end") for _, fields in fake.asked]


def test_a_token_is_read_from_a_file(tmp_path: Path) -> None:
    """It never stands on the command line."""
    token = tmp_path / "token"
    token.write_text("a.b-c\n", encoding="utf-8")
    fake = FakeServer([device("UTIL", "GPU-1", "1")])

    pulled(tmp_path, fake, *ASKED, "--bearer-token-file", str(token))

    assert {each["Authorization"] for each in fake.headers} == {"Bearer a.b-c"}


def test_a_server_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1, since the call can be repeated."""
    monkeypatch.setattr("tallystick.collectors.pull.wire.time.sleep", lambda _: None)
    fake = FakeServer([], faults=[Fault(503)] * 9)

    result = pulled(tmp_path, fake, *ASKED)

    assert isinstance(result.exception, ServerAwayError)
    assert result.exception.exit_status == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--cadence", "1"], "one of --match"),
        (["--match", "a", "--queries", "f", "--cadence", "1"], "one of --match"),
        (["--match", "a"], "--cadence SECONDS"),
        ([*ASKED, "--to", "2026-03-01T00:00:00Z"], "--from before --to"),
        ([*ASKED, "--kind", "other"], "victoriametrics"),
        ([*ASKED, "--span", "0"], "seconds above 0"),
    ],
)
def test_misuse_is_explained(tmp_path: Path, arguments: list[str], expected: str) -> None:
    """Exit 2, and what was expected."""
    result = call("--url", "http://h", *TIMES, "--store", str(tmp_path), *arguments)

    assert result.exit_code == 2
    assert expected in result.stderr


@pytest.mark.parametrize("token", ["", "two\nlines", "naïve"])
def test_a_token_that_is_none_is_misuse(tmp_path: Path, token: str) -> None:
    """It could not be sent."""
    path = tmp_path / "token"
    path.write_text(token, encoding="utf-8")

    result = call(
        *("--url", "http://h", *TIMES, "--store", str(tmp_path), *ASKED),
        *("--bearer-token-file", str(path)),
    )

    assert result.exit_code == 2
    assert "token of one line" in result.stderr


def test_progress_is_shown_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, and wiped away at the end."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    meter = Meter()

    with meter:
        meter.show_progress(Progress(1, 4, 7))

    assert capsys.readouterr().err == "\r25%  7 samples\r\033[K"


def test_a_name_and_password_are_read_from_a_file(tmp_path: Path) -> None:
    """They are sent as RFC 7617 has it: UTF-8, in base64."""
    file = tmp_path / "user"
    file.write_text("ann:p\u00e4ss:word\n", encoding="utf-8")
    fake = FakeServer([device("UTIL", "GPU-1", "1")])

    pulled(tmp_path, fake, *ASKED, "--basic-auth-file", str(file))

    assert {each["Authorization"] for each in fake.headers} == {"Basic YW5uOnDDpHNzOndvcmQ="}


@pytest.mark.parametrize("user", ["", "ann", "ann:a\nb:c"])
def test_a_name_without_a_password_is_misuse(tmp_path: Path, user: str) -> None:
    """It could not be meant."""
    path = tmp_path / "user"
    path.write_text(user, encoding="utf-8")

    result = call(
        *("--url", "http://h", *TIMES, "--store", str(tmp_path), *ASKED),
        *("--basic-auth-file", str(path)),
    )

    assert result.exit_code == 2
    assert "NAME:PASSWORD" in result.stderr


def test_a_token_and_a_password_are_misuse(tmp_path: Path) -> None:
    """Only one of them can be shown."""
    result = call(
        *("--url", "http://h", *TIMES, "--store", str(tmp_path), *ASKED),
        *("--basic-auth-file", "a", "--bearer-token-file", "b"),
    )

    assert result.exit_code == 2
    assert "one of --bearer-token-file" in result.stderr


def test_help_has_an_example() -> None:
    """It can be copied."""
    assert "tallystick collect pull --url" in call("--help").stdout
