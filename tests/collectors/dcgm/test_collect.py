"""Job statistics of dcgmi as evidence: one record for each GPU, or a finding that says why not."""

import json
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.dcgm import DcgmOptions, collect_dcgm
from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import format_instant, parse_rfc3339
from tallystick.evidence.codec import read_line
from tallystick.evidence.draft import draft_record

FIXTURES = Path(__file__).parents[2] / "fixtures" / "dcgm"
GPU1 = (FIXTURES / "gpu1.txt").read_text()
SUMMARY = (FIXTURES / "summary.txt").read_text()
NOTHING = (FIXTURES / "nothing-sampled.txt").read_text()
DEVICES = (FIXTURES / "gpus.txt").read_text()
NO_DATA = "Error: Unable to retrieve job statistics. Return: No data is available.\n"
UUID0 = "GPU-00000001-5a5a-4b4b-8c8c-000000000001"
UUID1 = "GPU-00000002-5a5a-4b4b-8c8c-000000000002"
UUID3 = "GPU-00000004-5a5a-4b4b-8c8c-000000000004"
READ_US = parse_rfc3339("2026-02-02T04:15:07Z")
OPTIONS = DcgmOptions(
    attempt="slurm:c7:4242:1770000000",
    node="n1",
    timezone=UTC,
    read_us=READ_US,
    keep_us=None,
    observed_us=READ_US + 1_000_000,
)


def collect(*texts: str, options: DcgmOptions = OPTIONS) -> Collected:
    """Collect texts as inputs that are named by their place."""
    sources = [Source(f"input {n}", text.encode()) for n, text in enumerate(texts, start=1)]
    return collect_dcgm(sources, options)


def bodies(collected: Collected) -> list[dict[str, Any]]:
    """Give the bodies of the records, each of which has to be admissible evidence."""
    for record in collected.records:
        read_line(canonical_bytes(record))
    return [record["body"] for record in collected.records]


def codes(collected: Collected) -> list[str]:
    """Give the codes of the findings."""
    return [finding.code for finding in collected.findings]


def inventory(*devices: tuple[int, str], at: str, node: str = "n1", mig: bool = False) -> str:
    """Write an inventory record as an evidence line."""
    listed = [{"uuid": uuid, "index": index, "mig": mig} for index, uuid in devices]
    body = {"node": node, "devices": listed}
    record = draft_record(
        "device.inventory", body, producer="p", at_us=parse_rfc3339(at), observed_us=READ_US
    )
    return json.dumps(record) + "\n"


def test_one_gpu_gives_one_record() -> None:
    """A block becomes job statistics at the time of the read, with times in UTC."""
    collected = collect(GPU1, DEVICES)

    assert bodies(collected) == [
        {
            "attempt": "slurm:c7:4242:1770000000",
            "gpu": UUID1,
            "start": "2026-02-02T03:00:00.000000Z",
            "end": "2026-02-02T04:15:00.000000Z",
            "keep_us": None,
            "energy_mj": 1_575_000_000,
            "power_w": "350.112",
            "sm_util": 91,
            "mem_util": 44,
            "processes": 1,
        }
    ]
    assert collected.records[0]["at"] == format_instant(READ_US)
    assert collected.findings == []


def test_nothing_sampled_gives_nulls() -> None:
    """DCGM#93: zeros of an engine that sampled nothing are unknown."""
    (body,) = bodies(collect(NOTHING, DEVICES))

    values = {body[key] for key in ("energy_mj", "power_w", "sm_util", "mem_util", "processes")}
    assert values == {None}


def test_the_keep_age_is_that_of_the_option() -> None:
    """Retention is stated by the caller: no print says it."""
    (body,) = bodies(collect(GPU1, DEVICES, options=replace(OPTIONS, keep_us=14_400_000_000)))

    assert body["keep_us"] == 14_400_000_000


def test_times_are_local_to_the_declared_zone() -> None:
    """03:00 in Chicago is 09:00 UTC."""
    options = replace(OPTIONS, timezone=ZoneInfo("America/Chicago"))

    (body,) = bodies(collect(GPU1, DEVICES, options=options))

    assert body["start"] == "2026-02-02T09:00:00.000000Z"


def test_one_file_may_hold_everything() -> None:
    """An epilog that writes both prints and the device list to one file is read."""
    collected = collect(SUMMARY + GPU1 + DEVICES)

    assert [body["gpu"] for body in bodies(collected)] == [UUID1]
    assert collected.findings == []


def test_summary_and_blocks_may_come_in_two_files() -> None:
    """A summary beside blocks is no complaint: both are meant to be run."""
    collected = collect(SUMMARY, GPU1, DEVICES)

    assert (len(collected.records), collected.findings) == (1, [])


def test_equal_blocks_are_one_record() -> None:
    """A print that stands twice adds nothing (r2)."""
    collected = collect(GPU1, GPU1, DEVICES, DEVICES)

    assert (len(collected.records), collected.findings) == (1, [])


def test_two_reads_of_one_gpu_are_two_records() -> None:
    """Different numbers of one GPU are both kept, each under an id of its own."""
    collected = collect(GPU1 + GPU1.replace("1575000", "1575001"), DEVICES)

    assert [body["energy_mj"] for body in bodies(collected)] == [1_575_000_000, 1_575_001_000]
    assert len({record["id"] for record in collected.records}) == 2


def test_a_summary_alone_is_one_finding() -> None:
    """Statistics without a block of a GPU say nothing of any GPU (r26)."""
    collected = collect(SUMMARY, DEVICES)

    assert (collected.records, codes(collected)) == ([], ["no_gpu_block"])


def test_a_mig_job_has_no_blocks() -> None:
    """DCGM#58: under MIG only the line of success is printed, which is one finding."""
    collected = collect("Successfully retrieved statistics for job: 9. \n", DEVICES)

    assert (collected.records, codes(collected)) == ([], ["no_gpu_block"])


def test_a_device_list_alone_is_one_finding() -> None:
    """A call without any statistics says so (r3)."""
    collected = collect(DEVICES)

    assert (collected.records, codes(collected)) == ([], ["no_gpu_block"])


def test_an_error_is_a_finding_with_its_text() -> None:
    """DCGM#19: the record of a job is gone; the message is kept and its line named."""
    collected = collect("\n" + NO_DATA, DEVICES)

    (finding,) = collected.findings
    assert (finding.code, finding.message, finding.line) == ("dcgm_error", NO_DATA.strip(), 2)
    assert collected.records == []


def test_an_error_does_not_stop_other_inputs() -> None:
    """One job was not found, the other one stands (r30)."""
    collected = collect("Error: Job 78 was not found.\r\n", GPU1, DEVICES)

    assert (len(collected.records), codes(collected)) == (1, ["dcgm_error"])


def test_an_index_without_inventory_is_unmapped() -> None:
    """An index is never taken for an identity."""
    collected = collect(GPU1)

    (finding,) = collected.findings
    assert (finding.code, finding.line, finding.source) == ("gpu_unmapped", 3, "input 1")
    assert collected.records == []


def test_an_index_that_the_list_lacks_is_unmapped() -> None:
    """The board that fell off the bus is not in the list, and no other takes its place."""
    collected = collect(GPU1.replace("GPU ID: 1", "GPU ID: 2"), DEVICES)

    assert (collected.records, codes(collected)) == ([], ["gpu_unmapped"])


def test_two_lists_that_disagree_map_nothing() -> None:
    """Lists have no time, so an index that changed its board in between is ambiguous."""
    collected = collect(GPU1, DEVICES, DEVICES.replace(UUID1, "GPU-new"))

    assert codes(collected) == ["gpu_unmapped"]


def test_an_all_zero_or_cut_uuid_is_no_identity() -> None:
    """ROCm#233: zeros identify nothing, nor does a UUID that the table cut."""
    zeros = DEVICES.replace(UUID1, "GPU-00000000-0000-0000-0000-000000000000")
    cut = DEVICES.replace(UUID1, "GPU-00000002-5a5a...")

    assert codes(collect(GPU1, zeros)) == ["gpu_unmapped"]
    assert codes(collect(GPU1, cut)) == ["gpu_unmapped"]


def test_the_latest_inventory_before_the_read_counts() -> None:
    """NVSentinel#1585: a replacement keeps the index; the inventory of the time decides (r25)."""
    lines = (
        inventory((1, "GPU-later"), at="2026-02-02T04:15:08Z")
        + inventory((1, "GPU-now"), at="2026-02-02T04:15:07Z")
        + inventory((1, "GPU-before"), at="2026-02-02T03:00:00Z")
        + inventory((1, "GPU-elsewhere"), at="2026-02-02T04:15:00Z", node="n2")
    )

    (body,) = bodies(collect(GPU1, lines))

    assert body["gpu"] == "GPU-now"


def test_only_later_inventories_map_nothing() -> None:
    """What a node had afterwards does not say what it had before."""
    collected = collect(GPU1, inventory((1, UUID1), at="2026-02-02T05:00:00Z"))

    assert codes(collected) == ["gpu_unmapped"]


def test_instances_of_a_board_do_not_take_its_index() -> None:
    """An inventory that lists MIG instances under their board's index still names the board."""
    line = inventory((1, UUID1), (1, "MIG-aaaa"), (1, "MIG-bbbb"), at="2026-02-02T03:00:00Z")

    (body,) = bodies(collect(GPU1, line))

    assert body["gpu"] == UUID1


def test_other_records_are_passed_over_and_bad_lines_named() -> None:
    """Evidence may hold anything; a line that cannot be admitted is a finding."""
    line = inventory((1, UUID1), at="2026-02-02T03:00:00Z")
    other = json.dumps(draft_record("x.y", {}, producer="p", at_us=None, observed_us=0))

    collected = collect(GPU1, f'{line}\n{other}\n{{"kind": 1}}\n')

    assert [(f.code, f.line) for f in collected.findings] == [("bad_line", 4)]
    assert len(collected.records) == 1


@pytest.mark.parametrize("end", ["Still Running", "Sun Mar 30 02:30:00 2025", "Mon Feb  2"])
def test_a_time_that_does_not_exist_is_a_finding(end: str) -> None:
    """Without two real times there is no record: unknown is never now."""
    text = GPU1.replace("Mon Feb  2 04:15:00 2026", end)
    options = replace(OPTIONS, timezone=ZoneInfo("Europe/Berlin"))

    collected = collect(text, DEVICES, options=options)

    assert (collected.records, codes(collected)) == ([], ["bad_time"])


def test_a_repeated_hour_that_nothing_decides_is_a_finding() -> None:
    """Twenty minutes within the repeated hour have two readings."""
    text = (
        GPU1.replace("Mon Feb  2 03:00:00 2026", "Sun Oct 26 02:20:00 2025")
        .replace("Mon Feb  2 04:15:00 2026", "Sun Oct 26 02:40:00 2025")
        .replace("| 4500 ", "| 1200 ")
    )
    options = replace(OPTIONS, timezone=ZoneInfo("Europe/Berlin"))

    collected = collect(text, DEVICES, options=options)

    assert (collected.records, codes(collected)) == ([], ["ambiguous_time"])


def test_a_reversed_span_is_handed_on() -> None:
    """A clock that stepped back is evidence too; coverage decides what it is worth."""
    text = GPU1.replace("Mon Feb  2 04:15:00 2026", "Mon Feb  2 02:15:00 2026")

    (body,) = bodies(collect(text, DEVICES))

    assert body["end"] == "2026-02-02T02:15:00.000000Z"


def test_a_text_that_breaks_off_keeps_what_it_said() -> None:
    """What stands before the cut is a record, what does not is null, and a finding says so."""
    text = GPU1[: GPU1.index("| SM Utilization")]

    collected = collect(text, DEVICES)

    (body,) = bodies(collected)
    assert (body["energy_mj"], body["sm_util"]) == (1_575_000_000, None)
    assert codes(collected) == ["block_cut_short"]


@pytest.mark.parametrize("data", [b"", b"\x00\x01\xff", b"hello\n", b"\xff\xfe{\x00"])
def test_what_is_no_print_of_dcgmi_is_one_finding(data: bytes) -> None:
    """An input of another kind is named and the others go on."""
    sources = [Source("x", data), Source("y", (GPU1 + DEVICES).encode())]

    collected = collect_dcgm(sources, OPTIONS)

    assert [(f.code, f.source) for f in collected.findings] == [("unrecognised_input", "x")]
    assert len(collected.records) == 1


def test_health_has_no_meaning_here() -> None:
    """DCGM#285: a warning about power comes from any moment of throttling and decides nothing."""
    warned = GPU1.replace("| Healthy ", "| Warning ")

    assert bodies(collect(warned, DEVICES)) == bodies(collect(GPU1, DEVICES))


def test_collected_again_the_records_are_the_same() -> None:
    """Only the time of observation differs, so collecting twice adds nothing."""
    later = replace(OPTIONS, observed_us=OPTIONS.observed_us + 5)

    first = collect(GPU1, DEVICES).records
    second = collect(GPU1, DEVICES, options=later).records

    assert [record["id"] for record in first] == [record["id"] for record in second]


@given(
    st.permutations(
        [
            GPU1,
            SUMMARY,
            NOTHING,
            DEVICES,
            NO_DATA,
            GPU1.replace("GPU ID: 1", "GPU ID: 3"),
            inventory((1, "GPU-x"), at="2026-02-02T03:00:00Z"),
        ]
    )
)
def test_the_order_of_inputs_changes_no_record(texts: list[str]) -> None:
    """Inputs are recognised by content, so any order gives the same records."""
    collected = collect(*texts)

    assert {body["gpu"] for body in bodies(collected)} == {UUID0, UUID1, UUID3}
    assert codes(collected) == ["dcgm_error"]


@given(st.integers(min_value=0, max_value=len(GPU1)))
def test_a_text_may_be_cut_anywhere(length: int) -> None:
    """However short a print is, it gives at most its one record, and otherwise a finding."""
    collected = collect(GPU1[:length], DEVICES)

    assert len(collected.records) <= 1
    assert collected.records or collected.findings
    for body in bodies(collected):
        assert body["energy_mj"] in {None, 1_575_000_000}
