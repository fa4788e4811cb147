"""``tallystick collect``: options, streams and exit codes."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tallystick.cli.collect_options import is_pair
from tallystick.cli.main import cli
from tallystick.cli.options import repeat_name
from tallystick.core.instant import parse_instant

FIXTURES = Path(__file__).parents[1] / "fixtures"
RANGE = str(FIXTURES / "prometheus" / "p_query_raw_range.json")
UP = str(FIXTURES / "prometheus" / "p_query_up_raw.json")
STATS = str(FIXTURES / "dcgm" / "gpu1.txt")
DEVICES = str(FIXTURES / "dcgm" / "gpus.txt")
DCGM = ("--attempt", "a1", "--node", "n1", "--timezone", "UTC", "--read", "2026-02-02T04:15:07Z")
SOURCES = ("slurm", "dcgm", "prometheus", "victoriametrics", "exporter", "progress")
HEAD = "JobID|JobIDRaw|Partition|Submit|Start|End|State|ExitCode|NodeList|AllocTRES|ElapsedRaw"
ROWS = (
    f"{HEAD}\n"
    "1|1|spot|2026-02-02T00:00:00|2026-02-02T00:01:00|2026-02-02T00:02:00|COMPLETED|0:0|n1"
    "|gres/gpu=2|60\n"
    "2|2|od|2026-02-02T00:00:00|2026-02-02T00:01:00|2026-02-02T00:02:00|COMPLETED|0:0|n1"
    "|gres/gpu=2|60\n"
)


def collect(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(cli, ["collect", *arguments], input=stdin, catch_exceptions=False)


def records(result: Result) -> list[dict[str, Any]]:
    """Give the records on standard output."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def findings(result: Result) -> list[dict[str, Any]]:
    """Give the findings on standard error."""
    return [json.loads(line) for line in result.stderr.splitlines()]


def test_records_go_to_stdout_and_nothing_to_stderr() -> None:
    """A clean collection is records alone."""
    result = collect("prometheus", RANGE, "--cadence", "1", "--dry-run", "--json")

    assert [record["kind"] for record in records(result)] == ["telemetry.points"]
    assert (result.stderr, result.exit_code) == ("", 0)


def test_findings_go_to_stderr_as_lines_of_json() -> None:
    """Beside records, findings do not change the exit code."""
    result = collect("prometheus", RANGE, STATS, "--cadence", "1", "--dry-run", "--json")

    (finding,) = findings(result)
    assert (finding["code"], finding["source"]) == ("unrecognised_input", STATS)
    assert (len(records(result)), result.exit_code) == (1, 0)


def test_people_get_sentences_and_a_summary() -> None:
    """Without --json a finding is a line with its place, and the last line counts."""
    result = collect("dcgm", STATS, *DCGM, "--dry-run")

    finding, summary = result.stderr.splitlines()
    assert finding.startswith("gpu_unmapped: GPU 1: ")
    assert finding.endswith(f" ({STATS}, line 3)")
    assert summary == "records: 0, findings: 1"


def test_a_finding_about_no_input_is_a_sentence_too(tmp_path: Path) -> None:
    """A finding about all inputs together has no place."""
    (tmp_path / "empty").touch()

    result = collect("progress", str(tmp_path / "empty"), "--dry-run")

    assert result.stderr == "no_events: no event line in any input\nrecords: 0, findings: 1\n"


def test_nothing_emitted_is_exit_1() -> None:
    """Where nothing was emitted there is a finding, and the exit code says it (r3)."""
    result = collect("dcgm", DEVICES, *DCGM, "--dry-run", "--json")

    assert (result.stdout, result.exit_code) == ("", 1)
    assert len(findings(result)) == 1


def test_an_input_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    """A folder and a missing file are findings; the rest is collected."""
    missing = str(tmp_path / "missing")

    result = collect(
        "prometheus", str(tmp_path), RANGE, missing, "--cadence", "1", "--dry-run", "--json"
    )

    assert [(each["code"], each["file"]) for each in findings(result)] == [
        ("unreadable_input", 1),
        ("unreadable_input", 3),
    ]
    assert (len(records(result)), result.exit_code) == (1, 0)


def test_only_unreadable_inputs_are_exit_1(tmp_path: Path) -> None:
    """Without any input that can be read nothing is emitted."""
    result = collect("progress", str(tmp_path), "--dry-run", "--json")

    assert (len(findings(result)), result.exit_code) == (1, 1)


def test_an_input_beyond_the_limit_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file too large to be held is named instead of filling the memory."""
    monkeypatch.setattr("tallystick.app.collect.INPUT_BYTES_MAX", 10)
    (tmp_path / "large").write_bytes(b"x" * 11)

    result = collect("progress", str(tmp_path / "large"), "--dry-run", "--json")

    (finding,) = findings(result)
    assert finding["code"] == "unreadable_input"
    assert "larger than" in finding["message"]


def test_events_of_a_job_become_records() -> None:
    """A bare event on standard input comes out as a record."""
    body = '{"attempt":"a1","step":10,"every":10}'
    event = f'{{"kind":"progress.step","at":"2026-02-02T02:40:00Z","body":{body}}}'

    result = collect("progress", "-", "--dry-run", "--json", stdin=event.encode())

    assert [record["kind"] for record in records(result)] == ["progress.step"]


def test_a_dash_is_standard_input() -> None:
    """An input may come through a pipe."""
    data = Path(RANGE).read_bytes()

    result = collect("prometheus", "-", "--cadence", "1", "--dry-run", "--json", stdin=data)

    assert (len(records(result)), result.exit_code) == (1, 0)


@pytest.mark.parametrize(
    "arguments",
    [
        ("prometheus", RANGE, "--cadence", "1", "--json"),
        ("prometheus", RANGE, "--dry-run"),
        ("prometheus", "--cadence", "1", "--dry-run"),
        ("prometheus", RANGE, "--cadence", "0", "--dry-run"),
        ("prometheus", RANGE, "--cadence", "-1", "--dry-run"),
        ("prometheus", RANGE, "--cadence", "0.0000001", "--dry-run"),
        ("prometheus", RANGE, "--cadence", "1e3", "--dry-run"),
        ("prometheus", RANGE, "--cadence", "1", "--node", "", "--dry-run"),
        ("prometheus", "-", "-", "--cadence", "1", "--dry-run"),
        ("exporter", RANGE, "--cadence", "1", "--at", "2026-02-02T00:00:00", "--dry-run"),
        ("dcgm", STATS, *DCGM[2:], "--dry-run"),
        ("dcgm", STATS, *DCGM, "--timezone", "Europe/Atlantis", "--dry-run"),
        ("dcgm", STATS, *DCGM, "--timezone", "Europe", "--dry-run"),
        ("dcgm", STATS, *DCGM, "--timezone", "../UTC", "--dry-run"),
        ("dcgm", STATS, *DCGM, "--attempt", "x" * 201, "--dry-run"),
        ("dcgm", STATS, *DCGM, "--attempt", "a\nb", "--dry-run"),
        ("slurm", STATS, "--cluster", "c", "--timezone", "UTC", "--capacity", "x", "--dry-run"),
        ("nosuch", RANGE, "--dry-run"),
    ],
)
def test_misuse_is_exit_2(arguments: tuple[str, ...]) -> None:
    """A missing or unreadable option prints nothing but why."""
    result = collect(*arguments)

    assert (result.stdout, result.exit_code) == ("", 2)
    assert "Error: " in result.stderr


def test_without_a_store_a_dry_run_is_asked_for() -> None:
    """The message says what to add."""
    result = collect("prometheus", RANGE, "--cadence", "1")

    assert "expected --store DIR to keep the records, or --dry-run" in result.stderr


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_has_help_with_an_example(source: str) -> None:
    """The help of a source shows a command that works for it."""
    result = collect(source, "--help")

    assert f"tallystick collect {source} " in result.output
    assert result.exit_code == 0


def test_the_options_of_dcgm_reach_the_records() -> None:
    """Attempt, node, zone, time of the read and retention stand in the record."""
    more = ("--keep", "14400", "--read", "2026-02-02T05:15:07.25+01:00")

    result = collect("dcgm", STATS, DEVICES, *DCGM, *more, "--dry-run", "--json")

    (record,) = records(result)
    assert record["at"] == "2026-02-02T04:15:07.250000Z"
    assert record["producer"] == {"name": "dcgm/n1"}
    assert (record["body"]["attempt"], record["body"]["keep_us"]) == ("a1", 14_400_000_000)


def test_a_cadence_is_exact() -> None:
    """A tenth of a second is a hundred thousand microseconds."""
    result = collect("prometheus", RANGE, "--cadence", "0.1", "--dry-run", "--json")

    assert records(result)[0]["body"]["cadence_us"] == 100_000


def test_the_node_of_a_failed_scrape_is_that_of_the_option() -> None:
    """The same answer names another node if told so."""
    result = collect("victoriametrics", UP, "--cadence", "1", "--node", "n7", "--dry-run", "--json")

    assert {record["body"]["node"] for record in records(result)} == {"n7"}


@pytest.mark.parametrize(
    "capacity",
    [
        ("--capacity", "spot=spot", "--capacity", "od=on_demand"),
        ("--capacity", "spot=spot", "od=on_demand"),
        ("--capacity=spot=spot", "od=on_demand"),
    ],
)
def test_capacities_may_follow_one_flag_or_several(
    capacity: tuple[str, ...], tmp_path: Path
) -> None:
    """Both ways of writing them declare both partitions, and an input may follow."""
    rows = tmp_path / "rows.psv"
    rows.write_text(ROWS)

    result = collect(
        "slurm", "--cluster", "c", "--timezone", "UTC", *capacity, str(rows), "--dry-run", "--json"
    )

    started = [each for each in records(result) if each["kind"] == "allocation.started"]
    assert [each["body"]["capacity"] for each in started] == ["spot", "on_demand"]


def test_a_type_may_be_declared_for_all_or_for_a_partition(tmp_path: Path) -> None:
    """Rows that name no type take that of their partition, else the common one."""
    rows = tmp_path / "rows.psv"
    rows.write_text(ROWS)
    types = ("--gpu-type", "h100", "--gpu-type", "od=a100")

    result = collect(
        "slurm", str(rows), "--cluster", "c", "--timezone", "UTC", *types, "--dry-run", "--json"
    )

    started = [each for each in records(result) if each["kind"] == "allocation.started"]
    assert [each["body"]["gpu_type"] for each in started] == ["h100", "a100"]


def test_a_bad_capacity_is_one_line_with_a_code(tmp_path: Path) -> None:
    """A word that is none of the four ends the command with exit 2."""
    rows = tmp_path / "rows.psv"
    rows.write_text(ROWS)
    options = ["--cluster", "c", "--timezone", "UTC", "--capacity", "spot=cheap", "--dry-run"]

    done = run("slurm", str(rows), *options)

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"tallystick: ")
    assert done.stderr.count(b"\n") == 1


def test_pairs_are_told_from_inputs() -> None:
    """Only what looks like a pair and follows directly belongs to the option."""
    names = ["--capacity"]

    args = ["--capacity", "a=b", "c=d", "file", "e=f", "--capacity=g=h", "i=j", "--", "k=l"]

    assert list(repeat_name(args, names, is_pair)) == [
        *("--capacity", "a=b", "--capacity", "c=d", "file", "e=f"),
        *("--capacity=g=h", "--capacity", "i=j", "--", "k=l"),
    ]


def test_records_are_observed_now() -> None:
    """Without being told, a record says that it was observed when it was collected."""
    before = time.time_ns() // 1000

    result = collect("prometheus", RANGE, "--cadence", "1", "--dry-run", "--json")

    observed_us = parse_instant(records(result)[0]["observed"])
    assert before <= observed_us <= time.time_ns() // 1000


def test_the_moment_of_observation_can_be_set() -> None:
    """A fixed moment makes the output the same bytes each time."""
    options = ("--cadence", "1", "--observed", "2026-02-02T00:00:00Z", "--dry-run", "--json")

    result = collect("prometheus", RANGE, *options)

    assert records(result)[0]["observed"] == "2026-02-02T00:00:00.000000Z"


def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "tallystick", "collect", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **more)


def test_a_reader_that_goes_away_causes_no_traceback(tmp_path: Path) -> None:
    """``collect … | head -1`` ends quietly."""
    page = tmp_path / "page.txt"
    lines = (f'x{{UUID="GPU-{n}"}} 1 1770000000000\n' for n in range(1, 5_000))
    page.write_text("".join(lines))
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tallystick", "collect", "exporter", str(page)]

    done = subprocess.run(
        [*command, "--cadence", "30", "--dry-run", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)

    assert done.stderr == b""


def test_environment_and_process_change_no_byte() -> None:
    """Time zone, hash seed and locale of the machine do not reach the records."""
    options = ("--keep", "60", "--observed", "2026-02-02T00:00:00Z", "--dry-run", "--json")
    arguments = ("dcgm", STATS, DEVICES, *DCGM, *options)
    strange = {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "77", "LC_ALL": "tr_TR.UTF-8"}

    plain = run(*arguments, env={**os.environ, "PYTHONHASHSEED": "1"})
    other = run(*arguments, env={**os.environ, **strange})

    assert plain.returncode == 0
    assert other.stdout == plain.stdout
