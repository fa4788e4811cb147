"""Scrapes of a target: runs of failures become outages, wherever spans end."""

import numpy as np
import pytest

from tallystick.collectors.pull.rows import Part
from tallystick.collectors.pull.scrapes import (
    DOWN,
    EMPTY,
    UNSEEN,
    Outage,
    Scrapes,
    Target,
    by_address,
    closed,
    follow,
    owners,
)
from tallystick.collectors.pull.wire import TooMuchError

GAP_US = 25


def part(text: str, otherwise: float) -> list[Part]:
    """Read ``10 20=0``; a time without a value has the other one."""
    pairs = [each.partition("=") for each in text.split()]
    times_us = [int(at) for at, _, _ in pairs]
    values = [float(value) if value else otherwise for _, _, value in pairs]
    return [Part(np.array(times_us, np.int64), np.array(values, np.float64))]


def outages(*spans: str, scraped: str = "") -> list[tuple[int, int, str]]:
    """Follow a target through spans to the end; give its outages."""
    target = Target(labels={})
    found: list[Outage] = []
    for up in spans:
        found += follow(target, "t", part(up, 1), part(scraped, 10), GAP_US).outages
    found += closed(target, "t")
    return [(each.from_us, each.to_us, each.reason) for each in found]


@pytest.mark.parametrize(
    "spans", [["10 20=0 30=0 40"], ["10 20=0", "30=0 40"], ["10", "20=0", "30=0", "40"]]
)
def test_a_run_of_failures_is_one_outage(spans: list[str]) -> None:
    """It reaches from its first to its last zero, wherever spans end."""
    assert outages(*spans) == [(20, 30, DOWN)]


def test_a_run_that_is_open_at_the_end_is_an_outage() -> None:
    """What failed until the end failed."""
    assert outages("10 20=0 30=0") == [(20, 30, DOWN)]


def test_empty_pages_are_an_outage() -> None:
    """The target answered, and had nothing to say."""
    assert outages("10 20 30 40", scraped="10 20=0 30=0 40") == [(20, 30, EMPTY)]


def test_a_failure_after_empty_pages_is_another_outage() -> None:
    """Each reason has its own record."""
    found = outages("10 20 30=0 40", scraped="10 20=0 30=0 40")

    assert found == [(20, 20, EMPTY), (30, 30, DOWN)]


@pytest.mark.parametrize("spans", [["10 20 60 70"], ["10 20", "60 70"]])
def test_a_time_without_scrapes_is_an_outage(spans: list[str]) -> None:
    """The server was away: nothing says that the target was asked."""
    assert outages(*spans) == [(20, 60, UNSEEN)]


def test_a_scrape_that_came_a_little_late_is_none() -> None:
    """2.5 cadences are allowed."""
    assert outages("10 35") == []


def test_blanks_of_up_are_no_scrapes() -> None:
    """A stale marker says that the target is no longer scraped, not that it failed."""
    assert outages("10 20=nan 30") == []


def test_another_value_of_a_moment_means_that_it_did_not_fail() -> None:
    """Of several values the highest counts (r36)."""
    assert outages("10 20=0 20=1 30") == []


def test_a_span_without_scrapes_changes_nothing() -> None:
    """The run that is open stays open."""
    assert outages("10=0", "", "20=0") == [(10, 20, DOWN)]


def test_full_scrapes_are_those_that_gave_samples() -> None:
    """Failed scrapes, empty pages, and scrapes that nobody counted are not full."""
    health = follow(
        Target(labels={}), "t", part("10 20=0 30 40", 1), part("10 20=0 30=0", 10), GAP_US
    )

    assert health.full_us.tolist() == [10]


def test_a_device_belongs_to_the_target_whose_labels_it_has() -> None:
    """A label that only the device has does not matter; one that differs does."""
    targets = {
        "a": Target(labels={"job": "j", "instance": "i", "replica": "0"}),
        "b": Target(labels={"job": "j", "instance": "i", "replica": "1"}),
    }
    labels = {"job": "j", "instance": "i", "replica": "1", "UUID": "g"}

    assert owners(targets, by_address(targets), [labels]) == {"b"}


def test_more_scrapes_than_can_be_held_are_too_much() -> None:
    """Scrapes are bounded like samples."""
    scrapes = Scrapes(rows_max=1)

    with pytest.raises(TooMuchError):
        scrapes.add({"__name__": "up"}, part("1 2", 1)[0])
