"""What a receipt makes of sampled boards: every part that was not observed has its reason."""

from pathlib import Path

import pytest

from tallystick.collectors.nvml.library import Nvml
from tallystick.core.instant import format_instant
from tests.collectors.nvml.boards import (
    BOARD,
    LOST,
    NO_DRIVER,
    NOT_SUPPORTED,
    OTHER,
    U0,
    U1,
    Said,
    say,
)
from tests.collectors.nvml.loops import Clocks, Json, run
from tests.evidence.records import clock, ended, started
from tests.timeline.timelines import draw_attempt

GONE = BOARD._replace(uuid=LOST)
SENSORLESS = BOARD._replace(util=LOST, power_mw=LOST, energy_mj=LOST)
BLANK = BOARD._replace(util=NOT_SUPPORTED, power_mw=NOT_SUPPORTED, energy_mj=NOT_SUPPORTED)


def gaps(records: list[Json], *, since: str = "01:00", until: str = "01:05") -> dict[str, str]:
    """Give the gaps of an attempt that held both boards, in one line each."""
    start = started(since, gpus=f"{U0}@n1 {U1}@n1")
    coverage = draw_attempt(start, ended(until), *records).coverage
    return {
        each.gpu.uuid or "": " ".join(
            f"{_clock(gap.start_us)}-{_clock(gap.end_us)} {gap.reason}" for gap in each.gaps
        )
        for each in coverage
    }


def _clock(us: int) -> str:
    return clock(format_instant(us))


def test_boards_that_were_sampled_are_observed(nvml: Nvml) -> None:
    """From the first moment to the last."""
    assert gaps(run(nvml, Clocks(), for_s=300)) == {U0: "", U1: ""}


@pytest.mark.parametrize("lost", [GONE, SENSORLESS])
def test_a_board_that_fell_off_is_lost(nvml: Nvml, home: Path, lost: Said) -> None:
    """Whichever way NVML says so; the other board stays observed."""
    records = run(nvml, Clocks({90: lambda: say(home, lost, OTHER)}), for_s=300)

    reasons = gaps(records)

    assert reasons[U1] == ""
    assert reasons[U0].startswith("01:01:20-01:05 device_lost")


def test_a_driver_that_was_away_is_the_collectors_fault(nvml: Nvml, home: Path) -> None:
    """For every board of the node, and for that time only."""
    away = {90: lambda: say(home, down=NO_DRIVER), 180: lambda: say(home, BOARD, OTHER)}

    reasons = gaps(run(nvml, Clocks(away), for_s=300))

    assert reasons == dict.fromkeys((U0, U1), "01:01:20-01:03 collector_down")


def test_a_board_that_says_nothing_is_blank(nvml: Nvml, home: Path) -> None:
    """It is there, and none of its sensors answers."""
    say(home, BLANK, OTHER)

    assert gaps(run(nvml, Clocks(), for_s=300)) == {U0: "01:00-01:05 blank", U1: ""}


def test_a_sliced_board_without_sensors_is_mig(nvml: Nvml, home: Path) -> None:
    """NVML has no utilisation of it."""
    say(home, BLANK._replace(mig="1"), OTHER)

    assert gaps(run(nvml, Clocks(), for_s=300))[U0] == "01:00-01:05 mig"


def test_sampling_that_begins_late_leaves_the_time_before_dark(nvml: Nvml) -> None:
    """Nobody promised to look."""
    assert gaps(run(nvml, Clocks(), for_s=300), since="00:50")[U0] == "00:50-01:00 late_watch"


def test_sampling_that_ends_early_loses_the_tail(nvml: Nvml) -> None:
    """What came after the last sample was not seen."""
    assert gaps(run(nvml, Clocks(), for_s=120))[U0] == "01:02-01:05 lost_tail"
