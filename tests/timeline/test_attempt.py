"""What sources together say about an attempt (rules 11 to 19)."""

import pytest

from tallystick.core.instant import format_instant
from tests.evidence.records import (
    Json,
    alive,
    begun,
    by,
    clock,
    committed,
    ended,
    goes_on,
    job_stats,
    linked,
    notice,
    of,
    points,
    record,
    resolution,
    restored,
    resumed,
    started,
    step,
    suspended,
    verified,
    waits,
)
from tests.timeline.timelines import codes_of, draw, draw_attempt


def gpus_of(*records: Json) -> list[str | None]:
    """Give the UUIDs of the only attempt."""
    return [gpu.uuid for gpu in draw_attempt(*records).attempt.gpus]


def until(*records: Json) -> str:
    """Give the moment up to which the only attempt is rated."""
    return clock(format_instant(draw_attempt(*records).attempt.until_us))


# -- starts --------------------------------------------------------------------------------


def test_the_earliest_start_counts() -> None:
    """Its time, GPU type, capacity, zone and tier are the attempt's (rule 11)."""
    late = started("00:02", gpu_type="B200", capacity="reserved", zone="z2", tier="base")
    early = started("00:01", gpu_type="H100", capacity="spot", zone="z1", tier="gold")

    attempt = draw_attempt(late, early, ended()).attempt

    stated = (attempt.gpu_type, attempt.capacity, attempt.zone, attempt.tier)
    assert clock(format_instant(attempt.start_us)) == "00:01"
    assert stated == ("H100", "spot", "z1", "gold")


@pytest.mark.parametrize(
    "change",
    [
        {"gpu_type": "B200"},
        {"gpu_type": None},
        {"capacity": "reserved"},
        {"zone": "z"},
        {"tier": "t"},
    ],
)
def test_starts_that_differ_disagree(change: Json) -> None:
    """Any difference from the earliest in what it decides is a finding (rule 11)."""
    assert codes_of(started(), by("q", started(**change)), ended()) == [("start_disagreement", "a")]


def test_starts_at_other_times_disagree() -> None:
    """The time is one of the things that they state."""
    found = codes_of(started("00:00"), started("00:00:01"), ended())

    assert found == [("start_disagreement", "a")]


def test_prologs_of_several_nodes_agree() -> None:
    """GPUs and nodes are united, and other fields may differ (rule 11)."""
    first = by("slurmd/n1", started(gpus="g2@n1 g1@n1", nodes=["n1"]))
    second = by("slurmd/n2", started(gpus="g3@n2 g1@n2", nodes=["n2"], job_id="8", cluster="c"))

    attempt = draw_attempt(first, second, ended()).attempt

    assert attempt.gpus == (("g1", "n1"), ("g2", "n1"), ("g3", "n2"))
    assert attempt.nodes == ("n1", "n2")
    assert codes_of(first, second, ended()) == []


# -- GPUs ----------------------------------------------------------------------------------


def test_gpus_that_are_counted_only_have_no_uuid() -> None:
    """The number stands for GPUs that nobody named (rule 13)."""
    assert gpus_of(started(gpus=None, gpu_count=2), ended()) == [None, None]


def test_the_largest_count_counts() -> None:
    """Several sources may count differently without naming any."""
    records = (
        started(gpus=None, gpu_count=2),
        by("q", started(gpus=None, gpu_count=3)),
        ended(),
    )

    assert gpus_of(*records) == [None, None, None]
    assert codes_of(*records) == []


def test_a_surplus_is_without_uuid() -> None:
    """More counted than named: the rest comes last, and it is a mismatch (rule 13)."""
    records = (started(gpus="g2 g1", gpu_count=3), ended())

    assert gpus_of(*records) == ["g1", "g2", None]
    assert codes_of(*records) == [("gpu_count_mismatch", "a")]


def test_fewer_counted_than_named_is_a_mismatch() -> None:
    """The names win, since each is a GPU (rule 13)."""
    records = (started(gpus="g1 g2", gpu_count=1), ended())

    assert gpus_of(*records) == ["g1", "g2"]
    assert codes_of(*records) == [("gpu_count_mismatch", "a")]


def test_a_count_that_matches_the_names_is_none() -> None:
    """Names and number of one or of several sources may say the same."""
    records = (started(gpus="g1 g2"), by("q", started(gpus=None, gpu_count=2)), ended())

    assert gpus_of(*records) == ["g1", "g2"]
    assert codes_of(*records) == []


# -- ends ----------------------------------------------------------------------------------


def test_the_earliest_end_counts() -> None:
    """Its exit code and signal too, but it is the first to know by whom (rule 12)."""
    unknown = ended("00:50", "unknown", exit_code=1, signal=9)
    known = ended("00:51", "provider", exit_code=0)
    records = (started(), known, ended("00:52", "user"), unknown)

    attempt = draw_attempt(*records).attempt

    assert attempt.end is not None
    stated = (attempt.end.ended_by, attempt.end.exit_code, attempt.end.signal)
    assert (until(*records), stated) == ("00:50", ("provider", 1, 9))


@pytest.mark.parametrize(
    ("ends", "disagree"),
    [
        ([ended("00:50", "user"), ended("00:51", "user")], True),
        ([ended("00:50", "user"), by("q", ended("00:50", "provider"))], True),
        ([ended("00:50", "user"), by("q", ended("00:50", "unknown"))], False),
        ([ended("00:50", "user"), by("q", ended("00:50", "user", exit_code=1))], False),
        ([ended("00:50", "unknown"), by("q", ended("00:50", "unknown"))], False),
    ],
)
def test_ends_disagree_about_time_or_author(ends: list[Json], disagree: bool) -> None:  # noqa: FBT001
    """Unknown contradicts nobody (rule 12)."""
    expected = [("end_disagreement", "a")] if disagree else []

    assert codes_of(started(), *ends) == expected


def test_an_end_by_nobody_known_is_unknown() -> None:
    """Only unknown was said, so it is what counts."""
    assert draw_attempt(started(), ended(by_whom="unknown")).attempt.ended_by == "unknown"


# -- open attempts -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sign",
    [
        suspended("00:30"),
        resumed("00:30"),
        notice("00:30"),
        alive("00:30"),
        step("00:30", 1),
        waits("00:30"),
        goes_on("00:30"),
        begun("00:30", 1),
        committed("00:30", 1),
        restored("00:30", 1),
        job_stats("00:30", "00:00", "00:20"),
        started("00:30"),
    ],
)
def test_an_open_attempt_is_rated_to_its_last_sign_of_life(sign: Json) -> None:
    """The latest allocation, progress, checkpoint or job-stats record counts (rule 14)."""
    assert until(started(), sign) == "00:30"


@pytest.mark.parametrize(
    "other",
    [
        linked("a", "run", "00:30"),
        verified("00:30", ok=True),
        resolution("charge", at="00:30"),
        points("00:30"),
        record("telemetry.fan_speed", "00:30", {"attempt": "a"}),
    ],
)
def test_what_comes_days_later_is_no_sign_of_life(other: Json) -> None:
    """Links, verifications, decisions and samples do not prolong an attempt (rule 14)."""
    assert until(started(), step("00:10", 1), other) == "00:10"


def test_an_open_attempt_has_no_end() -> None:
    """Nothing is known of how it ended, and that is a finding (rule 14)."""
    attempt = draw_attempt(started(), notice("00:10"), step("00:20", 1))

    assert (attempt.attempt.end_us, attempt.attempt.ended_by, attempt.attempt.notice_us) == (
        None,
        None,
        None,
    )
    assert attempt.replacement_wait_us is None
    assert ("open_attempt", "a") in codes_of(started(), notice("00:10"))


# -- lengths -------------------------------------------------------------------------------


def test_an_end_before_the_start_is_shown_as_stated() -> None:
    """Both stamps stay, nothing is metered, and it is a finding (rule 15)."""
    records = (started("00:10"), ended("00:05", "provider"), points("00:07"))

    timeline = draw_attempt(*records)

    assert (timeline.attempt.held, timeline.allocation, timeline.progress) == (None, (), ())
    assert [(each.observed_us, each.gaps) for each in timeline.coverage] == [(0, ())]
    assert codes_of(*records) == [("reversed_interval", "a")]
    assert clock(format_instant(timeline.attempt.end_us or 0)) == "00:05"


def test_an_attempt_of_no_length_is_no_finding() -> None:
    """It ended as it started (rule 15)."""
    records = (started("00:10"), ended("00:10"))

    timeline = draw_attempt(*records)

    assert (timeline.attempt.held, codes_of(*records)) == (None, [])


# -- notices and neighbours ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("notices", "seconds"),
    [
        ([], None),
        ([notice("00:53")], 420),
        ([notice("00:55"), notice("00:53", by="scheduler")], 420),
        ([notice("01:00")], 0),
        ([notice("01:00:01")], None),
        ([notice("00:53"), notice("01:30")], 420),
    ],
)
def test_the_notice_is_the_time_from_the_earliest_to_the_end(
    notices: list[Json], seconds: int | None
) -> None:
    """By whomever it was given, and whoever ended the attempt (rule 18)."""
    attempt = draw_attempt(started(), *notices, ended(by_whom="user")).attempt

    assert attempt.notice_us == (None if seconds is None else seconds * 1_000_000)


def test_the_wait_stands_on_the_attempt_that_ended() -> None:
    """From its end to the next start; the last has none (rule 17)."""
    timeline = draw(
        started("00:00"),
        ended("00:10"),
        started("00:15", attempt="b"),
        ended("00:20", attempt="b"),
    )

    waits_us = [each.replacement_wait_us for each in timeline.attempts]
    assert waits_us == [300_000_000, None]


def test_a_wait_may_be_nothing() -> None:
    """The next attempt started as this one ended, which is known, and is not unknown."""
    timeline = draw(
        *(started("00:00"), ended("00:10")),
        *of("b", started("00:10"), ended("00:20")),
    )

    assert timeline.attempts[0].replacement_wait_us == 0


def test_a_negative_wait_is_not_known() -> None:
    """The next attempt began before this one ended (rule 17)."""
    records = (
        started("00:00"),
        ended("00:10"),
        started("00:05", attempt="b"),
        ended("00:20", attempt="b"),
    )

    assert draw(*records).attempts[0].replacement_wait_us is None
    assert codes_of(*records) == [("overlapping_attempts", "b")]


def test_attempts_are_in_order_of_start_then_key() -> None:
    """The order of ends or lines does not matter (rule 17)."""
    timeline = draw(
        started("00:05", attempt="a"),
        started("00:00", attempt="c"),
        started("00:00", attempt="b"),
        *(ended("00:05", attempt=key) for key in "abc"),
    )

    assert [each.attempt.key for each in timeline.attempts] == ["b", "c", "a"]


def test_attempts_that_meet_in_a_point_do_not_overlap() -> None:
    """One ends as the next begins, or has no length at all (rule 17)."""
    records = (
        started("00:00"),
        ended("00:10"),
        started("00:10", attempt="b"),
        ended("00:20", attempt="b"),
        started("00:15", attempt="c"),
        ended("00:15", attempt="c"),
    )

    assert codes_of(*records) == []


def test_each_attempt_that_meets_an_earlier_one_overlaps() -> None:
    """Not only the neighbour: any earlier one that still held its GPUs (rule 17)."""
    records = [
        started("00:00", attempt="a"),
        ended("01:00", attempt="a"),
        started("00:10", attempt="b"),
        ended("00:20", attempt="b"),
        started("00:30", attempt="c"),
        ended("00:40", attempt="c"),
    ]

    assert codes_of(*records) == [("overlapping_attempts", "b"), ("overlapping_attempts", "c")]
