"""The loop of sampling, with clocks that a test moves."""

from pathlib import Path
from typing import Any

import pytest

from tallystick.collectors.nvml import SampleSettings, sample
from tallystick.collectors.nvml.library import ENERGY, GPU_UTIL, METRICS, POWER, Nvml
from tallystick.core.instant import SECOND_US
from tests.collectors.nvml.boards import (
    BOARD,
    LOST,
    NO_DRIVER,
    NO_PERMISSION,
    OTHER,
    U0,
    U1,
    UNKNOWN_ERROR,
    Said,
    say,
)
from tests.collectors.nvml.loops import Clocks, Json, run, told
from tests.evidence.records import clock

U9 = U0[:-1] + "9"


def points(records: list[Json], gpu: str = U0, metric: str = GPU_UTIL) -> list[tuple[str, Any]]:
    """Give what was sampled of a board."""
    return [
        (clock(at), value)
        for body in told(records, "telemetry.points")
        if (body["gpu"], body["metric"]) == (gpu, metric)
        for at, value in body["points"]
    ]


def uuids(records: list[Json]) -> list[tuple[str, list[str]]]:
    """Give the inventories, each as its time and its boards."""
    return [
        (body["at"], [device["uuid"] for device in body["devices"]])
        for body in told(records, "device.inventory")
    ]


def test_it_begins_with_what_there_is(nvml: Nvml) -> None:
    """The boards, and the promise to sample them."""
    records = run(nvml, Clocks())

    assert [each["kind"] for each in records[:2]] == ["device.inventory", "telemetry.watch"]
    assert told(records, "telemetry.watch") == [
        {
            "node": "n1",
            "source": "nvml",
            "engine": "nvml 580.65.06",
            "cadence_us": 10 * SECOND_US,
            "keep_us": None,
            "gpus": [U0, U1],
            "at": "01:00",
        }
    ]


def test_an_inventory_has_every_name_of_a_board(nvml: Nvml) -> None:
    """So that any index can be turned into a UUID."""
    assert told(run(nvml, Clocks()), "device.inventory")[0]["devices"][0] == {
        "uuid": U0,
        "index": 0,
        "pci_bus_id": "00000000:18:00.0",
        "minor": 0,
        "mig": False,
    }


def test_a_name_that_is_not_known_is_left_out(nvml: Nvml, home: Path) -> None:
    """It is not null."""
    say(home, Said(bus=UNKNOWN_ERROR, minor=UNKNOWN_ERROR, mig=UNKNOWN_ERROR))
    nvml.open()

    assert told(run(nvml, Clocks()), "device.inventory")[0]["devices"] == [{"uuid": U0, "index": 0}]


def test_each_board_is_read_at_each_round(nvml: Nvml) -> None:
    """From the first moment to the last."""
    records = run(nvml, Clocks())

    times = ["01:00", "01:00:10", "01:00:20", "01:00:30"]
    assert points(records) == [(time, "97") for time in times]
    assert points(records, U1, POWER) == [(time, "350112") for time in times]


def test_a_batch_has_one_record_for_each_board_and_metric(nvml: Nvml) -> None:
    """The first comes at once, then one a minute, then the rest."""
    settings = SampleSettings(node="n1", every_us=10 * SECOND_US, for_us=90 * SECOND_US)

    batches = list(sample(nvml, settings, Clocks().pace()))

    counts = [
        [len(body["points"]) for body in told(batch.records, "telemetry.points")]
        for batch in batches
    ]
    assert counts == [[n] * 2 * len(METRICS) for n in (1, 6, 3)]


def test_nothing_is_told_twice(nvml: Nvml) -> None:
    """Boards that stay are no news."""
    records = run(nvml, Clocks(), for_s=300)

    assert (len(uuids(records)), len(told(records, "telemetry.watch"))) == (1, 1)
    assert len({each["id"] for each in records}) == len(records)


def test_a_value_that_is_refused_is_a_blank(nvml: Nvml, home: Path) -> None:
    """At its time, which so is known to be one without a value."""
    blank = {10: lambda: say(home, BOARD._replace(energy_mj=UNKNOWN_ERROR), OTHER)}

    records = run(nvml, Clocks(blank), for_s=10)

    assert points(records, metric=ENERGY) == [("01:00", "1575000"), ("01:00:10", None)]
    assert points(records) == [("01:00", "97"), ("01:00:10", "97")]


def test_what_cannot_be_true_is_kept(nvml: Nvml, home: Path) -> None:
    """Coverage judges it, the source does not."""
    say(home, BOARD._replace(util="137"), OTHER)

    assert points(run(nvml, Clocks(), for_s=1)) == [("01:00", "137")]


def test_a_board_that_falls_off_the_bus_leaves_the_inventory(nvml: Nvml, home: Path) -> None:
    """NVML still lists it, so what it does not say is blank."""
    records = run(nvml, Clocks({10: lambda: say(home, BOARD._replace(power_mw=LOST), OTHER)}))

    assert uuids(records) == [("01:00", [U0, U1]), ("01:00:10", [U1])]
    assert [value for _, value in points(records)] == ["97", None, None, None]
    assert len(points(records, U1)) == 4


def test_a_board_that_lost_its_handle_leaves_it_too(nvml: Nvml, home: Path) -> None:
    """NVML still counts it."""
    records = run(nvml, Clocks({10: lambda: say(home, BOARD._replace(uuid=LOST), OTHER)}))

    assert uuids(records) == [("01:00", [U0, U1]), ("01:00:10", [U1])]
    assert points(records) == [("01:00", "97")]


def test_a_board_that_comes_back_goes_on(nvml: Nvml, home: Path) -> None:
    """It was promised before, so it is not promised again."""
    lost = BOARD._replace(uuid=LOST)

    records = run(
        nvml, Clocks({10: lambda: say(home, lost, OTHER), 20: lambda: say(home, BOARD, OTHER)})
    )

    assert uuids(records)[-1] == ("01:00:20", [U0, U1])
    assert points(records) == [("01:00", "97"), ("01:00:20", "97"), ("01:00:30", "97")]
    assert len(told(records, "telemetry.watch")) == 1


def test_a_board_that_replaces_another_is_another(nvml: Nvml, home: Path) -> None:
    """Index and PCI address stay, the series does not: it is promised from then on."""
    new = BOARD._replace(uuid=U9)

    records = run(nvml, Clocks({10: lambda: say(home, new, OTHER)}))

    assert uuids(records)[-1] == ("01:00:10", [U9, U1])
    assert [time for time, _ in points(records)] == ["01:00"]
    assert [time for time, _ in points(records, U9)] == ["01:00:10", "01:00:20", "01:00:30"]
    watch = told(records, "telemetry.watch")[-1]
    assert (watch["at"], watch["gpus"]) == ("01:00:10", [U9])


def test_nvml_is_opened_again_while_a_board_is_lost(nvml: Nvml, home: Path) -> None:
    """Only then it lists one that came, but not at every round."""
    lost = BOARD._replace(uuid=LOST)
    came = BOARD._replace(uuid=U9)

    records = run(nvml, Clocks({10: lambda: say(home, lost, OTHER, came)}), for_s=70)

    assert uuids(records) == [
        ("01:00", [U0, U1]),
        ("01:00:10", [U1]),
        ("01:01", [U1, U9]),
    ]


def test_slicing_a_board_is_a_change(nvml: Nvml, home: Path) -> None:
    """From then on its utilisation means nothing."""
    records = run(nvml, Clocks({10: lambda: say(home, BOARD._replace(mig="1"), OTHER)}))

    assert [
        [device["mig"] for device in body["devices"]] for body in told(records, "device.inventory")
    ] == [[False, False], [True, False]]


def test_a_driver_that_goes_away_is_a_failed_scrape(nvml: Nvml, home: Path) -> None:
    """No board is called lost for it, and none has a blank."""
    records = run(
        nvml,
        Clocks({10: lambda: say(home, down=NO_DRIVER), 30: lambda: say(home, BOARD, OTHER)}),
        for_s=40,
    )

    assert [
        (body["node"], clock(body["from"]), clock(body["to"]), body["reason"])
        for body in told(records, "telemetry.scrape_failed")
    ] == [("n1", "01:00:10", "01:00:20", "driver not loaded")]
    assert [time for time, _ in points(records)] == ["01:00", "01:00:30", "01:00:40"]
    assert len(uuids(records)) == 1


def test_a_failure_that_lasts_is_told_with_each_batch(nvml: Nvml, home: Path) -> None:
    """Nobody has to wait for its end to learn of it."""
    records = run(nvml, Clocks({10: lambda: say(home, down=NO_DRIVER)}), for_s=90)

    assert [
        (clock(body["from"]), clock(body["to"]))
        for body in told(records, "telemetry.scrape_failed")
    ] == [("01:00:10", "01:01"), ("01:01:10", "01:01:30")]


def test_a_clock_that_is_set_back_reverses_no_failure(nvml: Nvml, home: Path) -> None:
    """It spans both moments."""
    clocks = Clocks({10: lambda: say(home, down=NO_DRIVER)})
    clocks.at[20] = lambda: setattr(clocks, "step_us", -60 * SECOND_US)

    records = run(nvml, clocks, for_s=20)

    failure = told(records, "telemetry.scrape_failed")[0]
    assert (clock(failure["from"]), clock(failure["to"])) == ("00:59:20", "01:00:10")


def test_a_board_that_may_not_be_seen_is_not_lost(nvml: Nvml, home: Path) -> None:
    """No inventory calls it so; the finding comes once, and the other boards are sampled."""
    hidden = {10: lambda: say(home, BOARD._replace(uuid=NO_PERMISSION), OTHER)}
    settings = SampleSettings(node="n1", every_us=10 * SECOND_US, for_us=30 * SECOND_US)

    batches = list(sample(nvml, settings, Clocks(hidden).pace()))

    records = [record for batch in batches for record in batch.records]
    findings = [finding for batch in batches for finding in batch.findings]
    assert [(each.code, each.message) for each in findings] == [
        ("board_unreadable", "board 0: insufficient permissions")
    ]
    assert uuids(records) == [("01:00", [U0, U1])]
    assert len(points(records, U1)) == 4


def test_boards_are_promised_though_another_is_hidden(nvml: Nvml, home: Path) -> None:
    """A promise names boards, so it says nothing of others."""
    say(home, BOARD._replace(uuid=NO_PERMISSION), OTHER)

    records = run(nvml, Clocks())

    assert uuids(records) == []
    assert [body["gpus"] for body in told(records, "telemetry.watch")] == [[U1]]


def test_a_node_without_boards_has_an_empty_inventory(nvml: Nvml, home: Path) -> None:
    """And nothing is promised."""
    say(home)
    nvml.open()

    records = run(nvml, Clocks())

    assert [each["kind"] for each in records] == ["device.inventory"]


def test_a_board_that_was_lost_from_the_start_has_no_points(nvml: Nvml, home: Path) -> None:
    """Nobody promised to sample it."""
    say(home, BOARD._replace(power_mw=LOST), OTHER)

    records = run(nvml, Clocks())

    assert (uuids(records), points(records)) == ([("01:00", [U1])], [])


def test_another_driver_is_another_engine(nvml: Nvml, home: Path) -> None:
    """Its counters begin anew, so everything is promised anew."""
    clocks = Clocks({10: lambda: say(home, down=NO_DRIVER)})
    clocks.at[20] = lambda: say(home, BOARD, OTHER, driver="590.10")

    watches = told(run(nvml, clocks), "telemetry.watch")

    assert [(body["at"], body["engine"], body["gpus"]) for body in watches] == [
        ("01:00", "nvml 580.65.06", [U0, U1]),
        ("01:00:20", "nvml 590.10", [U0, U1]),
    ]


def test_the_same_driver_is_the_same_engine(nvml: Nvml, home: Path) -> None:
    """Nothing is promised twice for having been away."""
    clocks = Clocks({10: lambda: say(home, down=NO_DRIVER)})
    clocks.at[20] = lambda: say(home, BOARD, OTHER)

    assert len(told(run(nvml, clocks), "telemetry.watch")) == 1


def test_an_engine_has_the_boot_in_its_name(nvml: Nvml) -> None:
    """Counters do not go on over another one."""
    settings = SampleSettings(node="n1", every_us=SECOND_US, for_us=1, boot="b1")

    records = next(sample(nvml, settings, Clocks().pace())).records

    assert told(records, "telemetry.watch")[0]["engine"] == "nvml 580.65.06 b1"


def test_a_driver_without_a_version_is_nvml(nvml: Nvml, home: Path) -> None:
    """Nothing is made up for it."""
    say(home, BOARD, driver=None)

    assert told(run(nvml, Clocks()), "telemetry.watch")[0]["engine"] == "nvml"


def test_a_batch_may_be_of_any_number_of_rounds(nvml: Nvml) -> None:
    """The caller says what a crash may cost."""
    settings = SampleSettings(
        node="n1", every_us=10 * SECOND_US, for_us=40 * SECOND_US, flush_rounds=2
    )

    batches = list(sample(nvml, settings, Clocks().pace()))

    assert [len(told(batch.records, "telemetry.points")[0]["points"]) for batch in batches] == [
        1,
        2,
        2,
    ]


@pytest.mark.parametrize(
    ("every_us", "rounds"),
    [(10 * SECOND_US, 6), (60 * SECOND_US, 1), (3600 * SECOND_US, 1), (1000, 600)],
)
def test_a_batch_is_that_of_a_minute(every_us: int, rounds: int) -> None:
    """At least one round, and never more than a record holds well."""
    assert SampleSettings(node="n1", every_us=every_us).rounds_a_batch == rounds


def test_rounds_that_were_missed_are_not_made_up_for(nvml: Nvml) -> None:
    """After a wait that took too long the cadence goes on as it was."""
    clocks = Clocks()
    clocks.at[10] = lambda: setattr(clocks, "passed_us", 34 * SECOND_US)

    records = run(nvml, clocks, for_s=50)

    assert [time for time, _ in points(records)] == ["01:00", "01:00:34", "01:00:40", "01:00:50"]


def test_asking_to_stop_ends_it_with_what_was_read(nvml: Nvml) -> None:
    """Nothing that was read is lost."""
    records = run(nvml, Clocks(stop_s=20), for_s=None)

    assert [time for time, _ in points(records)] == ["01:00", "01:00:10"]


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_sampled(nvml: Nvml, metric: str) -> None:
    """With its own name, so that coverage knows its bounds."""
    assert len(points(run(nvml, Clocks()), metric=metric)) == 4
