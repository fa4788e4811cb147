"""Pulling from a real Prometheus and a real VictoriaMetrics after everything went wrong."""

from pathlib import Path

import pytest

from tallystick.app.pull import Progress
from tallystick.collectors.pull import Kind
from tests.app.pulls import bodies
from tests.live.prometheus.exporter import GPUS, PAGE, UTIL
from tests.live.prometheus.story import Story, coverage, sealed, stated

SERVERS = ["prometheus", "victoria"]
DOWN, EMPTY, AWAY = "up is 0", "empty page", "the server has no scrape"


def test_every_sample_of_prometheus_is_sealed_once(story: Story, tmp_path: Path) -> None:
    """Times and values are those that its own tool finds on its disk, to the millisecond.

    It refuses to load more than ten samples at once, so every span is asked in halves.
    """
    with story.store(tmp_path) as store:
        found = story.pull(store, "prometheus")

        assert stated(sealed(store, found, PAGE)) == story.dumped(PAGE)
        assert stated(sealed(store, found, UTIL)) == story.dumped(UTIL)
    assert found.kind is Kind.PROMETHEUS
    assert found.findings == []


def test_what_is_sealed_was_served(story: Story, tmp_path: Path) -> None:
    """Each value is the number of a page that the exporter noted, of a GPU that was on it."""
    with story.store(tmp_path) as store:
        found = story.pull(store, "prometheus")

        rows = stated(sealed(store, found, PAGE))
    traced = [(row.gpu, int(row.value or 0)) for row in rows]
    assert len(traced) == len(set(traced)) > 40
    assert set(traced) <= story.served()


def test_what_did_not_reach_the_other_server_is_what_was_lost(story: Story, tmp_path: Path) -> None:
    """VictoriaMetrics lacks only what Prometheus had not sent when it was killed."""
    with story.store(tmp_path) as store:
        found = story.pull(store, "victoria")

        rows = stated(sealed(store, found, PAGE))
    dumped = set(story.dumped(PAGE))
    lacking_s = sorted(story.killed_s - row.at_us / 1e6 for row in dumped - set(rows))
    assert found.kind is Kind.VICTORIAMETRICS
    assert len(rows) == len(set(rows))
    assert set(rows) <= dumped
    assert all(-0.5 < seconds < 5 for seconds in lacking_s), lacking_s


@pytest.mark.parametrize("name", SERVERS)
def test_receipts_say_why_there_was_nothing(story: Story, tmp_path: Path, name: str) -> None:
    """Killed, hanging, 503, empty, and the server's own absence; the second GPU left out."""
    with story.store(tmp_path) as store:
        story.pull(store, name)

        gaps = coverage(store)
        recorded = [body["reason"] for body in bodies(store, "telemetry.scrape_failed")]
    first, second = ([gap["reason"] for gap in gaps[gpu]] for gpu in GPUS)
    assert first == [*["collector_down"] * 5, "lost_tail"]
    assert second == [*["collector_down"] * 4, "blank", "collector_down", "lost_tail"]
    assert sorted(recorded) == sorted([DOWN] * 3 + [EMPTY, AWAY])


def test_a_change_of_labels_is_no_gap(story: Story, tmp_path: Path) -> None:
    """The job's label came and changed three times; only failures leave gaps."""
    with story.store(tmp_path) as store:
        story.pull(store, "prometheus")

        assert len(coverage(store)[GPUS[0]]) == 6


@pytest.mark.parametrize("name", SERVERS)
def test_a_pull_that_is_cut_short_ends_as_one_that_is_not(
    story: Story, tmp_path: Path, name: str
) -> None:
    """The segments are the same, byte for byte."""
    with story.store(tmp_path / "whole") as store:
        whole = story.pull(store, name)
    calls = 0

    def stop(_: Progress) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt

    with story.store(tmp_path / "cut") as store:
        with pytest.raises(KeyboardInterrupt):
            story.pull(store, name, stop)
        rest = story.pull(store, name)
        again = story.pull(store, name)

    digests = [each.digest for each in whole.segments]
    assert rest.resumed
    assert [each.digest for each in rest.segments] == digests[-len(rest.segments) :]
    assert [each.digest for each in again.segments] == digests
    assert not any(each.is_new for each in again.segments)


def test_a_prometheus_that_was_killed_is_a_plain_error(story: Story) -> None:
    """It was asked while it was away: pull_server_away."""
    error = story.refused.exception

    assert getattr(error, "code", None) == "pull_server_away"
    assert "\n" not in str(error)
