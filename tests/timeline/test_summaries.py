"""What an engine's job statistics vouch for (rule 27)."""

import pytest

from tests.evidence.records import Json, ended, engine_started, job_stats, points, started, watch
from tests.timeline.timelines import draw_attempt, gaps_of

HOUR = (started(), ended())
READ = job_stats("01:00", "00:00", "01:00", keep_s=7200)
NOTHING: Json = {
    "energy_mj": None,
    "power_w": None,
    "sm_util": 0,
    "mem_util": "0",
    "processes": None,
}


def test_a_watched_summary_observes_the_attempt() -> None:
    """The engine watched from the start and kept its memory until it was read."""
    assert gaps_of(*HOUR, watch("00:00"), READ) == []


@pytest.mark.parametrize(
    ("watches", "gaps"),
    [
        ([], ["00:00-01:00 no_samples"]),
        ([watch("00:20")], ["00:00-00:20 late_watch"]),
        ([watch("00:20"), watch("00:10", engine="other")], ["00:00-00:10 late_watch"]),
        ([watch("01:00")], ["00:00-01:00 no_samples"]),
        ([watch("01:00:00.000001")], ["00:00-01:00 no_samples"]),
        ([watch("00:00", node="other")], ["00:00-01:00 no_samples"]),
        ([watch("00:00", gpus=["g2"])], ["00:00-01:00 no_samples"]),
    ],
)
def test_a_summary_observes_from_when_its_watch_began(watches: list[Json], gaps: list[str]) -> None:
    """A late watch makes it partial, and without one it is worth nothing."""
    assert gaps_of(*HOUR, READ, *watches) == gaps


@pytest.mark.parametrize(
    ("stats", "gaps"),
    [
        (job_stats("01:00", "00:10", "00:50", keep_s=7200), ["00:00-00:10", "00:50-01:00"]),
        (job_stats("00:40", "00:00", "01:00", keep_s=7200), ["00:40-01:00"]),
        (job_stats("01:10", "00:00", "01:00", keep_s=3600), ["00:00-00:10"]),
        (job_stats("01:00", "23:00", "23:30", keep_s=7200), ["00:00-01:00"]),
        (job_stats("01:00", "00:50", "00:10", keep_s=7200), ["00:00-01:00"]),
        (job_stats("01:00", "00:30", "00:30", keep_s=7200), ["00:00-01:00"]),
    ],
)
def test_a_summary_observes_its_own_time_as_far_as_it_was_kept(
    stats: Json, gaps: list[str]
) -> None:
    """From its start or as far back as samples were kept, to its end or its reading."""
    spans = [gap.split()[0] for gap in gaps_of(*HOUR, watch("00:00"), stats)]

    assert spans == gaps


@pytest.mark.parametrize(
    ("own_s", "watch_us", "spans"),
    [
        (None, 1_800_000_000, ["00:00-00:30"]),
        (2400, 1_800_000_000, ["00:00-00:20"]),
        (None, None, ["00:00-01:00"]),
    ],
)
def test_how_long_samples_are_kept_is_its_own_or_its_watchs(
    own_s: int | None, watch_us: int | None, spans: list[str]
) -> None:
    """What it states itself goes first; where nobody says, it observes nothing."""
    stats = job_stats("01:00", "00:00", "01:00", keep_s=own_s)
    gaps = gaps_of(*HOUR, stats, watch("00:00", keep_us=watch_us))

    assert [gap.split()[0] for gap in gaps] == spans


@pytest.mark.parametrize(
    ("start", "observed"),
    [
        (engine_started("00:00"), True),
        (engine_started("00:00:00.000001"), False),
        (engine_started("01:00"), False),
        (engine_started("01:00:00.000001"), True),
        (engine_started("00:30", engine="other"), True),
        (engine_started("00:30", node="other"), True),
    ],
)
def test_an_engine_that_restarted_forgot(start: Json, observed: bool) -> None:  # noqa: FBT001
    """Any start of it after the watch, up to the reading, voids the summary."""
    covered = draw_attempt(*HOUR, watch("00:00"), READ, start).coverage[0]

    assert covered.observed_us == (3_600_000_000 if observed else 0)


def test_a_watch_after_a_restart_vouches_again() -> None:
    """From then on the engine kept its memory."""
    records = (watch("00:00"), engine_started("00:10"), watch("00:20"))

    assert gaps_of(*HOUR, READ, *records) == ["00:00-00:20 engine_restart"]


@pytest.mark.parametrize(
    ("values", "observed"),
    [
        (NOTHING, False),
        (NOTHING | {"energy_mj": "9223372036854775794", "power_w": "2147483632"}, False),
        (NOTHING | {"sm_util": "2147483632"}, False),
        (NOTHING | {"energy_mj": 0}, True),
        (NOTHING | {"power_w": "0"}, True),
        (NOTHING | {"sm_util": 1}, True),
        (NOTHING | {"mem_util": "0.1"}, True),
        (NOTHING | {"processes": 1}, True),
    ],
)
def test_an_all_blank_summary_observes_nothing(values: Json, observed: bool) -> None:  # noqa: FBT001
    """Energy and power blank, and nothing counted: what is printed when nothing was sampled."""
    stats = job_stats("01:00", "00:00", "01:00", keep_s=7200, **values)

    gaps = gaps_of(*HOUR, watch("00:00"), stats)

    assert gaps == ([] if observed else ["00:00-01:00 blank"])


def test_a_summary_fills_what_samples_left() -> None:
    """Coverage is the union of both, cut at samples where neither observes (rule 24)."""
    stats = job_stats("01:00", "00:00", "00:30", keep_s=7200)

    gaps = gaps_of(*HOUR, watch("00:00"), stats, points("00:10 00:40"))

    assert gaps == ["00:30-00:40 unexplained", "00:40-01:00 lost_tail"]


def test_a_summary_of_a_gpu_that_the_attempt_had_not_is_ignored() -> None:
    """It is about another GPU."""
    other = job_stats("01:00", "00:00", "01:00", "g9", keep_s=7200)

    assert gaps_of(*HOUR, watch("00:00"), other) == ["00:00-01:00 no_samples"]
