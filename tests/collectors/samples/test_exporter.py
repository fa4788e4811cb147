"""Exporter pages: every line a sample, a blank, or a finding; a page without series a failure."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.samples import SampleOptions, collect_exporter
from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import parse_rfc3339
from tallystick.evidence.codec import read_line

FIXTURES = Path(__file__).parents[2] / "fixtures" / "prometheus"
AT = "2026-02-02T02:40:00.000000Z"
OPTIONS = SampleOptions(cadence_us=30_000_000, node="n1", at_us=parse_rfc3339(AT), observed_us=0)
U0 = "GPU-aaaaaaaa-0000-0000-0000-000000000000"
U1 = "GPU-aaaaaaaa-0000-0000-0000-000000000001"
U2 = "GPU-aaaaaaaa-0000-0000-0000-000000000002"
U9 = "GPU-aaaaaaaa-0000-0000-0000-000000000009"


def collect(*pages: str, options: SampleOptions = OPTIONS) -> Collected:
    """Collect pages as inputs that are named by their place."""
    sources = [Source(f"page {n}", page.encode()) for n, page in enumerate(pages, start=1)]
    return collect_exporter(sources, options)


def points(collected: Collected) -> dict[tuple[str, str], list[tuple[str, str | None]]]:
    """Give the points by GPU and metric; each record has to be admissible and the only one."""
    found: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    for body in bodies(collected, "telemetry.points"):
        key = (body["gpu"], body["metric"])
        assert key not in found
        found[key] = [(at, value) for at, value in body["points"]]
    return found


def bodies(collected: Collected, kind: str) -> list[dict[str, Any]]:
    """Give the bodies of one kind of record."""
    for record in collected.records:
        read_line(canonical_bytes(record))
    return [record["body"] for record in collected.records if record["kind"] == kind]


def findings(collected: Collected) -> list[tuple[str, int | None]]:
    """Give codes and lines of the findings."""
    return [(finding.code, finding.line) for finding in collected.findings]


def test_a_line_without_a_time_has_that_of_the_page() -> None:
    """The page is what the exporter last knew when it was read."""
    page = (
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"
        "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="{U0}",modelName="NVIDIA H100 80GB HBM3"}} 97\n'
    )

    collected = collect(page)

    assert points(collected) == {(U0, "DCGM_FI_DEV_GPU_UTIL"): [(AT, "97")]}
    assert collected.findings == []


def test_a_time_on_the_line_is_in_milliseconds_and_wins() -> None:
    """A federated page states when each sample was taken."""
    collected = collect(f'x{{UUID="{U0}"}} 97 1770000030218\n')

    assert points(collected) == {(U0, "x"): [("2026-02-02T02:40:30.218000Z", "97")]}


def test_a_captured_federation_page_is_read() -> None:
    """What a Prometheus server federates keeps its sample times."""
    collected = collect((FIXTURES / "p_federate.txt").read_text())

    assert points(collected) == {
        ("GPU-11111111-aaaa-bbbb-cccc-000000000001", "DCGM_FI_DEV_GPU_UTIL"): [
            ("2026-11-30T20:16:47.217000Z", "50")
        ],
        ("GPU-11111111-aaaa-bbbb-cccc-000000000002", "DCGM_FI_DEV_GPU_UTIL"): [
            ("2026-11-30T20:16:47.217000Z", "0")
        ],
    }


def test_labels_are_read_past_braces_commas_and_escapes() -> None:
    """What looks like the end of the labels inside a value is none."""
    labels = rf'pod="a,b}} 5",err="say \"no\" \\",dir="x\ny", UUID = "{U0}" , '

    collected = collect(f"x{{{labels}}} 1\n")

    assert points(collected) == {(U0, "x"): [(AT, "1")]}


def test_a_uuid_inside_another_label_is_no_uuid() -> None:
    """A label's value cannot pretend to be a device."""
    collected = collect(rf'x{{pod="a\",UUID=\"{U0}"}} 1')

    assert (collected.records, findings(collected)) == ([], [("no_uuid", 1)])


@pytest.mark.parametrize(
    "line",
    [
        f'x{{UUID="{U0}"}}',
        f'x{{UUID="{U0}"}} ',
        f'x{{UUID="{U0}"}} N/A',
        f'x{{UUID="{U0}"}} 1 2 3',
        f'x{{UUID="{U0}"}} 1 1770000030.218',
        f'x{{UUID="{U0}"}} 1 999999999999999999',
        f'x{{UUID="{U0}" 1',
        f'x{{UUID="{U0}"',
        f'x{{UUID="{U0}",UUID="{U1}"}} 1',
        f"x{{UUID={U0}}} 1",
        f'x{{pod="a"b",UUID="{U0}"}} 1',
        "5 x",
        "x\u00a7 1",
    ],
)
def test_a_line_that_cannot_be_read_is_a_finding_with_its_line(line: str) -> None:
    """gpu-monitoring-tools#4: a value is missing at the end of a line; the page goes on (r37)."""
    collected = collect(f'a{{UUID="{U0}"}} 1\r\n\n{line}\r\nb{{UUID="{U0}"}} 2\r\n')

    assert findings(collected) == [("bad_line", 3)]
    assert points(collected) == {(U0, "a"): [(AT, "1")], (U0, "b"): [(AT, "2")]}


def test_a_line_without_uuid_is_a_finding_with_its_line() -> None:
    """An index is a hint and no identity."""
    collected = collect(f'x{{gpu="0"}} 1\nx{{gpu="1"}} 1\nx{{gpu="0",UUID="{U0}"}} 1\ngo_info 1\n')

    assert findings(collected) == [("no_uuid", 1), ("no_uuid", 2), ("no_uuid", 4)]
    assert list(points(collected)) == [(U0, "x")]


@pytest.mark.parametrize(
    "label",
    [
        'UUID=""',
        'UUID=" "',
        'UUID="GPU-00000000-0000-0000-0000-000000000000"',
        'UUID="MIG-GPU-00000000-0000-0000-0000-000000000000/1/0"',
        'uuid="00000000-0000-0000-0000-000000000000"',
        'gpu_uuid="00000000-0000-0000-0000-000000000000"',
    ],
)
def test_an_empty_or_all_zero_uuid_is_none(label: str) -> None:
    """ROCm#233: zeros identify nothing, so nothing is merged under them (r32)."""
    collected = collect(f"x{{{label}}} 1")

    assert (collected.records, findings(collected)) == ([], [("no_uuid", 1)])


def test_the_other_spelling_of_uuid_is_as_good() -> None:
    """An exporter with old names writes uuid in lower case (r32)."""
    collected = collect(f'x{{uuid="{U0}"}} 1\n', f'x{{UUID="",uuid="{U0}"}} 1 1770000030218\n')

    assert [value for _, value in points(collected)[U0, "x"]] == ["1", "1"]


@pytest.mark.parametrize("page", ["", "\n", "# HELP x y\n# TYPE x gauge\n", "not ready\n"])
def test_a_page_without_series_is_a_failed_scrape(page: str) -> None:
    """gpu-operator#2854: status 200 and nothing about any device is not "all idle" (r37)."""
    collected = collect(page, page)

    assert bodies(collected, "telemetry.scrape_failed") == [
        {"node": "n1", "from": AT, "to": AT, "reason": "page without series"}
    ]


def test_a_page_of_series_that_cannot_be_read_did_answer() -> None:
    """A line whose value is missing is a series, so the scrape did not fail."""
    collected = collect(f'dcgm_nvlink_replay_error_count_total{{gpu="0",UUID="{U0}"}} ')

    assert (collected.records, findings(collected)) == ([], [("bad_line", 1)])


@pytest.mark.parametrize("page", ['{"status":"success"}', "[]", "\x00\x01\x02"])
def test_what_is_no_page_is_no_failed_scrape(page: str) -> None:
    """A file of another kind is named, and is no evidence about a node."""
    collected = collect(page)

    assert collected.records == []
    assert findings(collected)[-1] == ("unrecognised_input", None)


def test_without_a_moment_an_untimed_line_is_not_placed() -> None:
    """Unknown is never now: lines without a time need --at, others do not."""
    page = f'x{{UUID="{U0}"}} 1\nx{{UUID="{U0}"}} 2 1770000030218\nx{{UUID="{U1}"}} 3\n'

    collected = collect(page, "", options=replace(OPTIONS, at_us=None))

    assert list(points(collected)) == [(U0, "x")]
    assert findings(collected) == [("time_unknown", 1), ("time_unknown", None)]


def test_a_failure_without_a_node_is_a_finding() -> None:
    """A failed scrape of nobody knows which node helps nobody."""
    collected = collect("", options=replace(OPTIONS, node=None))

    assert (collected.records, findings(collected)) == ([], [("node_unknown", None)])


def test_up_of_a_federated_page_is_a_failed_scrape() -> None:
    """A zero of up says that the server did not reach its target (r36)."""
    collected = collect('up{job="dcgm"} 0 1770000030218\nscrape_duration_seconds{job="dcgm"} 1\n')

    (body,) = bodies(collected, "telemetry.scrape_failed")
    assert body["from"] == body["to"] == "2026-02-02T02:40:30.218000Z"
    assert collected.findings == []


def test_a_sentinel_is_handed_on_as_its_text() -> None:
    """gpu-monitoring-tools#97: 9.2e18 degrees are blank, which coverage decides from the text."""
    page = (
        f'DCGM_FI_DEV_MEMORY_TEMP{{UUID="{U0}"}} 9223372036854775794\n'
        f'DCGM_FI_DEV_MEMORY_TEMP{{UUID="{U1}"}} 9.223372036854776e18\n'
        f'DCGM_FI_DEV_MEMORY_TEMP{{UUID="{U2}"}} NaN\n'
    )

    values = [series[0][1] for series in points(collect(page)).values()]

    assert values == ["9223372036854775794", "9.223372036854776e18", None]


def test_infinity_is_handed_on_as_its_text() -> None:
    """Infinity is no NaN: whether it can be is decided when coverage is computed."""
    collected = collect(f'x{{UUID="{U0}"}} +Inf')

    assert points(collected) == {(U0, "x"): [(AT, "+Inf")]}


def test_a_gpu_whose_lines_vanish_gets_no_points() -> None:
    """exporter#164: lines for three of four GPUs are evidence of three."""
    page = "".join(f'x{{UUID="{uuid}"}} 1\n' for uuid in (U0, U1, U9))

    assert {gpu for gpu, _ in points(collect(page))} == {U0, U1, U9}


def test_a_replacement_on_the_same_index_is_another_device() -> None:
    """NVSentinel#1585: index and PCI address stay, the UUID changes, so there are two series."""
    before = f'x{{gpu="0",UUID="{U0}",pci_bus_id="18"}} 1 1770000000000\n'
    after = f'x{{gpu="0",UUID="{U9}",pci_bus_id="18"}} 2 1770000030000\n'

    series = points(collect(before + after))

    assert {gpu: [value for _, value in each] for (gpu, _), each in series.items()} == {
        U0: ["1"],
        U9: ["2"],
    }


def test_equal_lines_are_one_sample() -> None:
    """slurm-job-exporter#34: a GPU is printed once for each process, which adds nothing."""
    line = f'x{{UUID="{U0}"}} 50\n'

    collected = collect(line + line, line)

    assert points(collected) == {(U0, "x"): [(AT, "50")]}
    assert collected.findings == []


def test_two_values_of_one_moment_are_a_conflict() -> None:
    """Instances of one board share its UUID: both values are kept and neither is summed."""
    page = f'x{{UUID="{U0}",GPU_I_ID="1"}} 0.7\nx{{UUID="{U0}",GPU_I_ID="2"}} 0.3\n'

    collected = collect(page)

    assert points(collected) == {(U0, "x"): [(AT, "0.3"), (AT, "0.7")]}
    assert findings(collected) == [("value_conflict", None)]


def test_an_impossible_value_is_handed_on() -> None:
    """DCGM#152, slurm_exporter#16: above 1 or below 0 is evidence and is not clamped."""
    page = f'DCGM_FI_PROF_SM_ACTIVE{{UUID="{U0}"}} 1.37\nslurm_gpus_other{{UUID="{U0}"}} -3\n'

    assert [series[0][1] for series in points(collect(page)).values()] == ["1.37", "-3"]


def test_a_declared_type_changes_nothing() -> None:
    """exporter#88: a rate that is declared a counter is handed on as it was printed."""
    name = "DCGM_FI_PROF_PCIE_TX_BYTES"

    collected = collect(f'# TYPE {name} counter\n{name}{{UUID="{U0}"}} 500000000\n')

    assert points(collected) == {(U0, name): [(AT, "500000000")]}


def test_an_instance_is_sampled_under_its_board() -> None:
    """exporter#216: under MIG the UUID is the board's, and its 0 degrees are handed on as said."""
    name = "DCGM_FI_DEV_GPU_TEMP"

    collected = collect(f'{name}{{UUID="{U0}",GPU_I_PROFILE="1g.5gb",GPU_I_ID="10"}} 0\n')

    assert points(collected) == {(U0, name): [(AT, "0")]}


def test_a_label_of_another_job_takes_nothing_away() -> None:
    """exporter#140: a stale pod label stays a hint; the sample belongs to the GPU."""
    page = f'x{{UUID="{U0}",pod="old"}} 1 1770000000000\nx{{UUID="{U0}"}} 2 1770000030000\n'

    assert [value for _, value in points(collect(page))[U0, "x"]] == ["1", "2"]


def test_an_absent_metric_is_absent() -> None:
    """exporter#700, CAST#533: what a version or a node does not print is not 0."""
    collected = collect(f'DCGM_FI_DEV_GPU_UTIL{{UUID="{U0}"}} 5\n')

    assert list(points(collected)) == [(U0, "DCGM_FI_DEV_GPU_UTIL")]


@given(st.permutations(range(6)))
def test_the_order_of_lines_changes_no_record(order: list[int]) -> None:
    """Points come by time and then by value, whatever came first."""
    lines = [
        f'x{{UUID="{U0}"}} 3 1770000000000',
        f'x{{UUID="{U0}"}} 10 1770000000000',
        f'x{{UUID="{U0}"}} NaN 1770000000000',
        f'x{{UUID="{U0}",pod="a"}} 1 1770000090000',
        f'x{{UUID="{U1}"}} 4 1770000000000',
        'up{job="a"} 0 1770000000000',
    ]

    collected = collect("\n".join(lines[place] for place in order))

    ids = {record["id"] for record in collected.records}
    assert ids == {record["id"] for record in collect("\n".join(lines)).records}
    assert [value for _, value in points(collected)[U0, "x"]] == ["10", "3", None, "1"]


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    """No input ends in a crash, and none ends in silence (r3)."""
    collected = collect_exporter([Source("x", data)], OPTIONS)

    assert collected.records or collected.findings
