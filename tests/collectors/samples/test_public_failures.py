"""Failures of telemetry that others met in public: pages and answers, through to the receipt.

The number in a docstring is that of the story. Where a story has a finer reason than coverage
has words for, the nearest that the rules give is asserted. Nothing here computes a difference,
a rate or an energy: what is asserted of counters is that they are handed on as they were
printed, that a line that is not there makes no point, and that a receipt claims no increase.
"""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.samples import SampleOptions, collect_exporter, collect_prometheus
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.codec import read_line
from tests.evidence.records import (
    Json,
    clock,
    declared,
    ended,
    inventory,
    minutes,
    moment_us,
    started,
)
from tests.rating.rated import finding_codes, rate, rate_all

U0, U1, U2, U3, U9 = (f"GPU-aaaaaaaa-0000-0000-0000-00000000000{n}" for n in (0, 1, 2, 3, 9))
ZEROS = "00000000-0000-0000-0000-000000000000"
UTIL = "DCGM_FI_DEV_GPU_UTIL"
ACTIVE = "DCGM_FI_PROF_SM_ACTIVE"
XID = "DCGM_FI_DEV_XID_ERRORS"
ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
POWER = "DCGM_FI_DEV_POWER_USAGE"
RUN = [declared(), started("00:00", gpus=f"{U0} {U1}"), ended("00:10")]
COMMENTS = f"# HELP {UTIL} GPU utilization (in %).\n# TYPE {UTIL} gauge\n"


@dataclass(frozen=True, slots=True)
class Story:
    """What the collector made of some inputs."""

    records: list[Json]
    findings: list[tuple[str, int | None]]

    def points(self, metric: str, gpu: str = U0) -> dict[str, str | None]:
        """Give the points of a GPU and metric, over all scrapes."""
        bodies = [each["body"] for each in self.records if each["kind"] == "telemetry.points"]
        series = [each for each in bodies if (each["gpu"], each["metric"]) == (gpu, metric)]
        return {clock(at): value for body in series for at, value in body["points"]}

    @property
    def codes(self) -> set[str]:
        """Give the codes of the findings."""
        return {code for code, _ in self.findings}


def options(at: str | None = None) -> SampleOptions:
    """Sample every minute, on the node of the test's attempts."""
    at_us = None if at is None else moment_us(at)
    return SampleOptions(cadence_us=60_000_000, node="n", at_us=at_us, observed_us=0)


def told(*calls: Collected) -> Story:
    """Put calls together; each record has to be admissible evidence."""
    records = [record for call in calls for record in call.records]
    for record in records:
        read_line(canonical_bytes(record))
    findings = [(each.code, each.line) for call in calls for each in call.findings]
    return Story(records, findings)


def scrapes(*spans: tuple[str, str]) -> Story:
    """Read a page every minute of each span: ``("00:00-00:05", page)``."""
    calls: list[Collected] = []
    for span, page in spans:
        first, _, last = span.partition("-")
        sources = [Source("page", page.encode())]
        times = minutes(first, last or first).split()
        calls += [collect_exporter(sources, options(at)) for at in times]
    return told(*calls)


def answer(*series: tuple[dict[str, str], dict[str, str]]) -> Story:
    """Read an answer of a Prometheus server: labels, and values by clock reading."""
    result = [
        {
            "metric": labels,
            "values": [[moment_us(at) // 1_000_000, value] for at, value in values.items()],
        }
        for labels, values in series
    ]
    document = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return told(collect_prometheus([Source("answer", json.dumps(document).encode())], options()))


def line(metric: str, value: str, gpu: str = U0, **labels: str) -> str:
    """Write a line of a page."""
    named = "".join(f',{name}="{label}"' for name, label in labels.items())
    return f'{metric}{{gpu="0",UUID="{gpu}"{named}}} {value}\n'


def gaps(receipt: Json) -> dict[str | None, str]:
    """Give what a receipt does not know of each GPU: ``00:02-00:07 blank``."""
    return {
        each["gpu"]: " ".join(
            f"{clock(gap['start'])}-{clock(gap['end'])} {gap['reason']}" for gap in each["gaps"]
        )
        for each in receipt["coverage"]
    }


def rated(story: Story, *further: Json) -> dict[str | None, str]:
    """Rate an attempt that held U0 and U1 from 00:00 to 00:10, and give its gaps."""
    return gaps(rate([*RUN, *further, *story.records]))


def words(value: Any) -> set[str]:
    """Give all keys of a receipt."""
    if isinstance(value, dict):
        return set(value).union(*map(words, value.values()))
    return set().union(*map(words, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("printed", ["9223372036854775794", "9.223372036854776e18"])
def test_a_sentinel_is_blank_also_after_it_was_a_float(printed: str) -> None:
    """7: an unsupported temperature is unknown (``blank``), and no heat of 9e18 degrees."""
    story = scrapes(("00:00-00:10", line("DCGM_FI_DEV_MEMORY_TEMP", printed)))

    assert set(story.points("DCGM_FI_DEV_MEMORY_TEMP").values()) == {printed}
    assert rated(story)[U0] == "00:00-00:10 blank"


@pytest.mark.parametrize("failed", ["", "Internal Server Error\n", "500 TypeError: None\n"])
def test_an_exporter_that_answers_an_error_leaves_the_node_unknown(failed: str) -> None:
    """9: one blank made the page fail; all GPUs are unknown (``collector_down``) meanwhile."""
    good = line(UTIL, "97", U0) + line(UTIL, "97", U1)

    story = scrapes(("00:00-00:02", good), ("00:03-00:06", failed), ("00:07-00:10", good))

    assert rated(story) == dict.fromkeys((U0, U1), "00:02-00:07 collector_down")
    assert "00:04" not in story.points(UTIL)


def test_an_engine_without_a_driver_knows_no_gpu() -> None:
    """11: ready and answering, and no series: every GPU is unknown (``collector_down``)."""
    story = scrapes(("00:00-00:10", COMMENTS))

    assert rated(story) == dict.fromkeys((U0, U1), "00:00-00:10 collector_down")
    assert story.findings == []


def test_a_target_that_is_up_proves_no_gpu() -> None:
    """11: ``up 1`` is no sample of a device, nor is it a failed scrape (``no_samples``)."""
    up = {"__name__": "up", "instance": "n:9400", "job": "dcgm"}

    story = answer((up, dict.fromkeys(minutes("00:00", "00:10").split(), "1")))

    assert (story.records, story.codes) == ([], {"no_samples"})
    assert rated(story) == dict.fromkeys((U0, U1), "00:00-00:10 no_samples")


def test_profiling_that_went_blank_after_a_fault_is_unknown_from_then() -> None:
    """13: asked alone, the profiling counters leave the time after XID 31 ``blank``."""
    before, after = line(ACTIVE, "0.93"), line(ACTIVE, "9223372036854775794")

    story = scrapes(("00:00-00:04", before), ("00:05-00:10", after))

    assert rated(story)[U0] == "00:04-00:10 blank"


def test_a_profiling_zero_after_a_fault_is_kept_beside_what_contradicts_it() -> None:
    """13: 0 is handed on as printed, beside XID 31 and 100 %.

    No rule sees yet that the zeros are none; utilisation keeps the GPU observed, rightly, since
    coverage says that a device was sampled and not that each of its metrics can be believed.
    """
    before = line(ACTIVE, "0.93") + line(UTIL, "100") + line(XID, "0")
    after = line(ACTIVE, "0") + line(UTIL, "100") + line(XID, "31")

    story = scrapes(("00:00-00:04", before), ("00:05-00:10", after))

    at = "00:05"
    shown = [story.points(metric)[at] for metric in (ACTIVE, UTIL, XID)]
    assert shown == ["0", "100", "31"]
    assert rated(story)[U0] == ""


def test_a_gpu_that_vanished_from_the_page_is_unknown() -> None:
    """15: three of four have lines. Coverage calls it ``no_samples``: it has no ``gpu_absent``."""
    held = [declared(), started("00:00", gpus=f"{U0} {U1} {U2} {U3}"), ended("00:10")]
    page = "".join(line(UTIL, "97", gpu) for gpu in (U0, U1, U3))

    story = scrapes(("00:00-00:10", page))

    known = dict.fromkeys((U0, U1, U3), "")
    assert gaps(rate([*held, *story.records])) == known | {U2: "00:00-00:10 no_samples"}


def test_an_inventory_without_the_gpu_says_that_it_was_lost() -> None:
    """15: with a look at the node beside the page, the reason is ``device_lost``."""
    both, one = line(UTIL, "97", U0) + line(UTIL, "97", U1), line(UTIL, "97", U0)

    story = scrapes(("00:00-00:04", both), ("00:05-00:10", one))

    found = rated(story, inventory("00:05", U0))
    assert found == {U0: "", U1: "00:04-00:10 device_lost"}


def test_a_line_that_is_not_there_is_no_zero_and_no_error() -> None:
    """17: the old exporter said 0, the new one says nothing: a point, and no point."""
    old = scrapes(("00:00", line(UTIL, "97") + line(XID, "0")))
    new = scrapes(("00:00", line(UTIL, "97")))

    assert (old.points(XID), new.points(XID)) == ({"00:00": "0"}, {})
    assert old.findings == new.findings == []


def test_a_rate_that_is_declared_a_counter_is_not_differenced() -> None:
    """19: the TYPE line is not heeded; 5e8 and then 3e8 are two readings and no reset."""
    metric = "DCGM_FI_PROF_PCIE_TX_BYTES"
    head = f"# TYPE {metric} counter\n"

    story = scrapes(("00:00", head + line(metric, "5e8")), ("00:01", head + line(metric, "3e8")))

    assert story.points(metric) == {"00:00": "5e8", "00:01": "3e8"}
    assert story.findings == []


def test_zeros_of_a_slice_are_not_those_of_the_job_that_held_it() -> None:
    """21: utilisation and temperature of an instance read 0; the instance is unknown (``mig``).

    The page names the board's UUID beside ``GPU_I_ID``. The zeros are handed on under it as
    printed: no rule says that 0 degrees are impossible, so of the board they count as samples.
    """
    held = [declared(), started("00:00", gpus=f"MIG-{U9[4:]}"), ended("00:10")]
    page = line("DCGM_FI_DEV_GPU_TEMP", "0", GPU_I_ID="10") + line(UTIL, "0", GPU_I_ID="10")

    story = scrapes(("00:00-00:10", page))

    assert gaps(rate([*held, *story.records])) == {f"MIG-{U9[4:]}": "00:00-00:10 mig"}
    assert set(story.points("DCGM_FI_DEV_GPU_TEMP").values()) == {"0"}


def test_more_than_all_multiprocessors_is_invalid_and_not_clamped() -> None:
    """23: 1.37 is kept as printed, counts as no sample (``blank``) and is a finding."""
    story = scrapes(("00:00-00:10", line(ACTIVE, "1.37", GPU_I_ID="1")))

    receipt = rate([*RUN, *story.records])
    assert set(story.points(ACTIVE).values()) == {"1.37"}
    assert gaps(receipt)[U0] == "00:00-00:10 blank"
    assert ("impossible_value", "a") in finding_codes(receipt)


def test_a_label_that_outlived_its_pod_gives_the_gpu_to_nobody() -> None:
    """25: samples are the GPU's; the next job has them from its start, the last until its end."""
    runs = [
        *(declared(), started("00:00", gpus=U0), ended("00:05")),
        declared("next"),
        started("00:05", attempt="b", run="next", gpus=U0),
        ended("00:10", attempt="b"),
    ]

    story = scrapes(("00:00-00:10", line(UTIL, "97", pod="a", namespace="ml")))

    receipts = rate_all([*runs, *story.records]).predicates
    seen = {
        each["attempt"]: (each["observed_seconds"], each["gaps"])
        for receipt in receipts
        for each in receipt["coverage"]
    }
    assert seen == dict.fromkeys("ab", ("300.000000", []))


def test_a_line_that_is_printed_for_each_process_is_one_sample() -> None:
    """27: equal lines of one page are one point; what is said twice is not summed.

    The rules ask for no finding about equal lines, so there is none.
    """
    story = scrapes(("00:00", line(UTIL, "97") * 3))

    (record,) = story.records
    assert [value for _, value in record["body"]["points"]] == ["97"]
    assert story.findings == []


def test_a_replaced_board_is_another_device() -> None:
    """31: index and address stay, the UUID does not: U0 ends, U9 begins, nothing is joined."""
    before = line(UTIL, "97", U0, pci_bus_id="18")
    after = line(UTIL, "97", U9, pci_bus_id="18")

    story = scrapes(("00:00-00:04", before), ("00:05-00:10", after))

    assert rated(story)[U0] == "00:04-00:10 lost_tail"
    assert list(story.points(UTIL, U0)) == minutes("00:00", "00:04").split()
    assert list(story.points(UTIL, U9)) == minutes("00:05", "00:10").split()


def test_unknown_and_idle_are_two_things_on_a_receipt() -> None:
    """33: usage of 0 is observed, usage that is not printed is ``no_samples``; both are listed."""
    story = scrapes(("00:00-00:10", line(UTIL, "0", U1)))

    receipt = rate([*RUN, *story.records])
    seen = {each["gpu"]: each["observed_seconds"] for each in receipt["coverage"]}
    assert seen == {U0: "0.000000", U1: "600.000000"}
    assert gaps(receipt) == {U0: "00:00-00:10 no_samples", U1: ""}
    assert set(story.points(UTIL, U1).values()) == {"0"}


def test_a_gpu_without_an_energy_counter_used_no_known_energy() -> None:
    """35: NOT_SUPPORTED at each read is unknown, never 0.

    The reason is ``blank``: the rules have ``unsupported`` and no evidence for it (rule 25).
    """
    story = scrapes(("00:00-00:10", line(ENERGY, "9223372036854775794")))

    receipt = rate([*RUN, *story.records])
    assert gaps(receipt)[U0] == "00:00-00:10 blank"
    assert not {word for word in words(receipt) if "energy" in word or "joule" in word}


def test_a_counter_and_an_integral_that_differ_are_both_kept() -> None:
    """37: 187 J by the counter, 327 J by power over 5 s.

    Neither is computed yet, so no divergence is told; both sources are there to compute it from,
    as they were printed, and the receipt states no energy by either.
    """
    first, last = ("1000000", "1187000")
    story = answer(
        ({"__name__": ENERGY, "UUID": U0}, {"00:00": first, "00:00:05": last}),
        ({"__name__": POWER, "UUID": U0}, {"00:00": "65.4", "00:00:05": "65.4"}),
    )

    energy, power = story.points(ENERGY), story.points(POWER)
    assert energy == {"00:00": first, "00:00:05": last}
    assert power == {"00:00": "65.4", "00:00:05": "65.4"}
    assert Decimal(last) - Decimal(first) == 187_000  # Millijoules, against 5 s of 65.4 W.
    assert "energy" not in json.dumps(rate([*RUN, *story.records]))


def test_a_line_that_lost_its_value_stops_nothing() -> None:
    """43: it is a finding with its place, makes no point, and the next lines are read."""
    cut = line("dcgm_nvlink_replay_error_count_total", "")

    story = scrapes(("00:00", line(UTIL, "97", U0) + cut + line(UTIL, "98", U1)))

    assert story.findings == [("bad_line", 2)]
    assert (story.points(UTIL, U0), story.points(UTIL, U1)) == ({"00:00": "97"}, {"00:00": "98"})
    assert story.points("dcgm_nvlink_replay_error_count_total") == {}


def test_an_hour_of_absence_says_nothing_about_resets() -> None:
    """45: 1, an hour of nothing, 1: no increase is claimed, and the hour is ``unexplained``."""
    replays = {"__name__": "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "UUID": U0}
    values = dict.fromkeys(f"{minutes('00:00', '00:02')} {minutes('01:02', '01:05')}".split(), "1")
    held = [declared(), started("00:00", gpus=U0), ended("01:05")]

    story = answer((replays, values))

    receipt = rate([*held, *story.records])
    assert gaps(receipt) == {U0: "00:02-01:02 unexplained"}
    assert story.points(replays["__name__"]) == values
    assert "increase" not in json.dumps(receipt)


def test_a_negative_count_of_a_cluster_is_of_no_device() -> None:
    """47: read in two moments, the difference is -3; it names no GPU and makes no record."""
    story = scrapes(("00:00", "slurm_gpus_other -3\n"))

    assert (story.records, story.codes) == ([], {"no_uuid"})


def test_a_negative_gauge_of_a_device_is_invalid() -> None:
    """47: less than nothing is kept as printed, is a finding, and observes nothing."""
    story = scrapes(("00:00-00:10", line("DCGM_FI_DEV_FB_USED", "-3")))

    receipt = rate([*RUN, *story.records])
    assert set(story.points("DCGM_FI_DEV_FB_USED").values()) == {"-3"}
    assert gaps(receipt)[U0] == "00:00-00:10 blank"
    assert ("impossible_value", "a") in finding_codes(receipt)


@pytest.mark.parametrize("label", ["gpu_uuid", "UUID", "uuid"])
@pytest.mark.parametrize("zeros", [ZEROS, f"GPU-{ZEROS}"])
def test_boards_without_identity_are_not_merged(label: str, zeros: str) -> None:
    """49: all zeros is nobody's UUID: two lines, two findings, no record."""
    page = "".join(f'gpu_gfx_activity{{gpu_id="{n}",{label}="{zeros}"}} 5\n' for n in (0, 1))

    story = scrapes(("00:00", page))

    assert (story.records, story.findings) == ([], [("no_uuid", 1), ("no_uuid", 2)])
    assert rated(story) == dict.fromkeys((U0, U1), "00:00-00:10 no_samples")
