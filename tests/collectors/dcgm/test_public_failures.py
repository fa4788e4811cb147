"""Failures of DCGM that others met in public: prints, through the collector to the receipt.

The number in a docstring is that of the story. Where a story has a finer reason than the
rules have words for, the nearest that they give is asserted: unknown, and never 0.
"""

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.dcgm import DcgmOptions, collect_dcgm
from tallystick.core.canonical import canonical_bytes
from tallystick.emit.dcgm.values import read_values
from tallystick.evidence.codec import read_line
from tests.emit.dcgm.stories import BOARDS, Story
from tests.evidence.records import (
    Json,
    clock,
    declared,
    ended,
    inventory,
    moment_us,
    started,
    watch,
)
from tests.rating.rated import finding_codes, rate

U0, U1, U9 = (f"GPU-aaaaaaaa-0000-0000-0000-00000000000{n}" for n in (0, 1, 9))
BAR = f"+{'-' * 78}+"
RULE = f"+{'=' * 36}+{'=' * 41}+"
EXECUTION = f"|-----  Execution Stats  ------------+{'-' * 41}|"
PERFORMANCE = f"+-----  Performance Stats  ----------+{'-' * 41}+"
HEALTH = f"+-----  Overall Health  -------------+{'-' * 41}+"
NO_DATA = "Error: Unable to retrieve job statistics. Return: No data is available.\n"
VALUES = ("energy_mj", "power_w", "sm_util", "mem_util", "processes")
ENERGY, POWER, SM = "Energy Consumed (Joules)", "Power Usage (Watts)", "SM Utilization (%)"
MEASURED = {
    "Start Time": "Sun Mar  1 00:00:00 2026",
    "End Time": "Sun Mar  1 01:00:00 2026",
    "Total Execution Time (sec)": "3600",
    "No. of Processes": "1",
    ENERGY: "1260000",
    POWER: "Avg: 350.112, Max: 421.75, Min: 88.4",
    "SM Clock (MHz)": "Avg: 1710, Max: 1980, Min: 345",
    SM: "Avg: 91, Max: 100, Min: 0",
    "Memory Utilization (%)": "Avg: 44, Max: 63, Min: 0",
}
WATCHED = watch("00:00", keep_us=86_400_000_000)
RUN = [declared(), started("00:00", gpus=f"{U0} {U1}"), ended("01:00"), WATCHED]


def block(index: int = 0, health: str = "Healthy", **changed: str) -> str:
    """Print the statistics of a GPU as ``dcgmi stats -v -j`` does, with some rows changed."""
    rows = MEASURED | {
        {"energy": ENERGY, "power": POWER, "sm": SM}[k]: v for k, v in changed.items()
    }
    return printed(rows, index, health)


def printed(rows: dict[str, str], index: int = 0, health: str = "Healthy") -> str:
    """Print rows as a block."""
    lines = [_row(name, value) for name, value in rows.items()]
    head = [BAR, f"| GPU ID: {index}".ljust(79) + "|", RULE, EXECUTION]
    tail = [HEALTH, _row("Overall Health", health), BAR]
    return "\n".join([*head, *lines[:4], PERFORMANCE, *lines[4:], *tail]) + "\n"


def _row(name: str, value: str) -> str:
    """Print a row in DCGM's columns: what is longer than 39 characters is cut."""
    shown = value if len(value) <= 39 else value[:36] + "..."
    return f"| {name:<35}| {shown:<40}|"


def collect(*texts: str | Json, read: str = "01:00:05") -> Collected:
    """Collect prints, and records as evidence lines, of the attempt ``a`` on node ``n``."""
    options = DcgmOptions(
        attempt="a", node="n", timezone=UTC, read_us=moment_us(read), keep_us=None, observed_us=0
    )
    data = [text if isinstance(text, str) else json.dumps(text) for text in texts]
    collected = collect_dcgm([Source("input", each.encode()) for each in data], options)
    for record in collected.records:
        read_line(canonical_bytes(record))
    return collected


def bodies(collected: Collected) -> dict[str, dict[str, Any]]:
    """Give the statistics by GPU."""
    return {record["body"]["gpu"]: record["body"] for record in collected.records}


def codes(collected: Collected) -> list[str]:
    """Give the codes of the findings."""
    return [finding.code for finding in collected.findings]


def rated(collected: Collected, run: list[Json] | None = None) -> dict[str, str]:
    """Rate the attempt with what was collected, and give the gaps of each of its GPUs."""
    receipt = rate([*(RUN if run is None else run), *collected.records])
    return {
        each["gpu"]: " ".join(
            f"{clock(gap['start'])}-{clock(gap['end'])} {gap['reason']}" for gap in each["gaps"]
        )
        for each in receipt["coverage"]
    }


BOTH = inventory("00:00", f"{U0} {U1}")


def test_the_energy_of_one_sample_is_unknown() -> None:
    """1: 0 J beside 247 W of a job of 20 s is a sample taken from itself, and no 0."""
    rows = MEASURED | {
        "End Time": "Sun Mar  1 00:00:20 2026",
        "Total Execution Time (sec)": "20.48",
        ENERGY: "0",
        POWER: "Avg: 247.541, Max: 247.541, Min: 247...",
    }

    body = bodies(collect(printed(rows), BOTH))[U0]

    assert (body["energy_mj"], body["power_w"]) == (None, "247.541")


def test_a_power_that_was_cut_off_is_unknown() -> None:
    """1: ``247...`` is not 247, wherever in a cell the print was cut."""
    body = bodies(collect(block(power="Avg: 247..."), BOTH))[U0]

    assert body["power_w"] is None


def test_a_sampled_job_is_observed_though_its_energy_is_not_known() -> None:
    """1: one sample of power is a sample: what is unknown is the energy, not the GPU."""
    collected = collect(block(0, energy="0"), block(1), BOTH)

    assert rated(collected) == {U0: "", U1: ""}
    assert bodies(collected)[U0]["energy_mj"] is None


def test_without_job_statistics_the_allocation_is_rated_all_the_same() -> None:
    """3: NO_DATA (status 242, on standard output) makes no record; its text is a finding.

    The GPUs have ``no_samples``: coverage has no word for a record that the engine lost.
    """
    collected = collect(NO_DATA, BOTH)

    receipt = rate([*RUN, *collected.records])
    assert collected.records == []
    assert [(each.code, each.message) for each in collected.findings] == [
        ("dcgm_error", NO_DATA.strip())
    ]
    assert receipt["usage"]["metered"] == "7200.000000"
    assert rated(collected) == dict.fromkeys((U0, U1), "00:00-01:00 no_samples")


def test_a_sentinel_of_32_bits_is_no_utilisation() -> None:
    """5: a print hands 2147483632 on as it stands; where nothing else is known, it is blank."""
    blank = "Avg: 2147483632, Max: 0, Min: 0"
    nothing = block(energy="Not Specified", power="Avg: N/A, Max: N/A, Min: N/A", sm=blank)
    rows = {"Memory Utilization (%)": blank, "No. of Processes": "0"}
    collected = collect(_changed(nothing, rows), BOTH)

    assert bodies(collected)[U0]["sm_util"] == 2147483632
    assert rated(collected)[U0] == "00:00-01:00 blank"


def _changed(text: str, rows: dict[str, str]) -> str:
    """Print other values in some rows."""
    lines = text.split("\n")
    starts = {f"| {name:<35}|": _row(name, value) for name, value in rows.items()}
    return "\n".join(starts.get(line[:38], line) for line in lines)


def test_an_engine_without_a_driver_leaves_every_gpu_unknown() -> None:
    """11: it answers and lists no board: no index is mapped by older evidence, nothing is known."""
    devices = "0 GPUs found.\n| GPU ID | Device Information |\n"

    collected = collect(block(0), block(1), devices, BOTH)

    assert (collected.records, codes(collected)) == ([], ["gpu_unmapped"] * 2)
    assert rated(collected) == dict.fromkeys((U0, U1), "00:00-01:00 no_samples")


def test_statistics_of_another_board_are_not_those_of_the_job() -> None:
    """29: the job's index 0 is U1, the engine's is U0: U1 stays unknown."""
    held = [declared(), started("00:00", gpus=U1), ended("01:00"), WATCHED]

    collected = collect(block(0), BOTH)

    assert list(bodies(collected)) == [U0]
    assert rated(collected, held) == {U1: "00:00-01:00 no_samples"}


def test_an_index_that_nobody_explains_is_no_board() -> None:
    """29: without a list of devices an index is not guessed to be the job's GPU."""
    collected = collect(block(0))

    assert (collected.records, codes(collected)) == ([], ["gpu_unmapped"])


def test_statistics_after_a_replacement_are_of_the_new_board() -> None:
    """31: index and address stay, the UUID does not; the old board is not made to go on."""
    collected = collect(block(0), BOTH, inventory("00:30", f"{U9} {U1}"))

    assert list(bodies(collected)) == [U9]
    assert rated(collected)[U0] == "00:00-01:00 no_samples"


def test_energy_that_is_not_supported_is_unknown() -> None:
    """35: ``Not Supported`` is null and never 0; power beside it stays known."""
    body = bodies(collect(block(energy="Not Supported"), BOTH))[U0]

    assert (body["energy_mj"], body["power_w"]) == (None, "350.112")


def test_energy_and_power_that_do_not_fit_are_both_kept() -> None:
    """37: 187 J by the counter, 65.4 W for an hour by samples.

    Nothing compares them yet: both are handed on as printed, neither is derived from the other,
    and no divergence is told.
    """
    power = "Avg: 65.4, Max: 65.4, Min: 65.4"

    collected = collect(block(energy="187", power=power), BOTH)

    body = bodies(collected)[U0]
    receipt = rate([*RUN, *collected.records])
    assert (body["energy_mj"], body["power_w"]) == (187_000, "65.4")
    assert finding_codes(receipt) == []


def test_an_engine_that_hangs_costs_the_job_nothing(tmp_path: Path) -> None:
    """39: the epilog stops waiting, tells the end and the reason, and the GPUs are unknown."""
    story = Story(tmp_path)
    story.prolog()
    story.age()
    story.settings = story.settings._replace(wall_us=1_500_000)
    story.engine.knob("hang")

    story.epilog()

    assert story.codes == ["dcgm_hangs"]
    assert story.bodies("telemetry.job_stats") == []
    assert len(story.bodies("allocation.ended")) == 1
    assert story.gaps() == {uuid: {"no_samples"} for uuid in BOARDS}


def test_a_warning_about_power_changes_no_record() -> None:
    """41: any nanosecond of throttling warns; the word is no fact that a bill may follow."""
    collected = collect(block(health="Warning"), BOTH)

    assert collected.records == collect(block(health="Healthy"), BOTH).records
    assert codes(collected) == []


@pytest.mark.parametrize("name", ["Overall Health", "Due to - Power (%)", "Critical XID Errors"])
def test_what_a_print_says_beside_the_five_values_is_no_value(name: str) -> None:
    """41: health, throttling and errors are rows of a print, and no part of what is measured."""
    assert read_values(MEASURED | {name: "0"}) == read_values(MEASURED)
    assert tuple(read_values(MEASURED)) == VALUES
