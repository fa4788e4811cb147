"""Why a gap is there: the first reason that the evidence supports (rules 25, 26 and 29)."""

import pytest

from tests.evidence.records import (
    Json,
    ended,
    engine_started,
    inventory,
    job_stats,
    minutes,
    of,
    points,
    scrape_failed,
    started,
    watch,
)
from tests.timeline.timelines import codes_of, draw_attempt, gaps_of

HOUR = (started(), ended())
SEEN = minutes("00:00", "00:20") + " " + minutes("00:40", "00:59")
BLANK_STATS: Json = {"energy_mj": None, "power_w": None, "processes": 0}


def hole(*records: Json) -> str:
    """Give the reason of a gap from 00:20 to 00:40 between samples."""
    (gap,) = gaps_of(*HOUR, points(SEEN), *records)
    span, reason = gap.split()
    assert span == "00:20-00:40"
    return reason


def head(*records: Json) -> str:
    """Give the reason of a gap from the start to 00:40."""
    (gap,) = gaps_of(*HOUR, points(minutes("00:40", "00:59")), *records)
    return gap.removeprefix("00:00-00:40 ")


def tail(*records: Json) -> str:
    """Give the reason of a gap from 00:20 to the end."""
    (gap,) = gaps_of(*HOUR, points(minutes("00:00", "00:20")), *records)
    return gap.removeprefix("00:20-01:00 ")


def whole(*records: Json, gpu: str = "g1") -> str:
    """Give the reason of an attempt of which nothing was seen."""
    (gap,) = gaps_of(started(gpus=gpu), ended(), *records)
    return gap.removeprefix("00:00-01:00 ")


# -- by place ------------------------------------------------------------------------------


def test_a_gap_between_samples_is_unexplained() -> None:
    """Nothing says why."""
    assert hole() == "unexplained"


def test_a_gap_up_to_the_end_is_a_lost_tail() -> None:
    """Samples came before it and none after."""
    assert tail() == "lost_tail"


def test_nothing_at_all_is_no_samples() -> None:
    """Neither before nor after, watched or not."""
    assert (whole(), whole(watch("00:00"))) == ("no_samples", "no_samples")


@pytest.mark.parametrize(
    ("watches", "reason"),
    [
        ([], "late_watch"),
        ([watch("00:00:00.000001")], "late_watch"),
        ([watch("00:00")], "unexplained"),
        ([watch("00:00", node="other")], "late_watch"),
        ([watch("00:00", gpus=["g2"])], "late_watch"),
        ([watch("00:00", gpus=["g2", "g1"])], "unexplained"),
    ],
)
def test_a_gap_from_the_start_is_a_late_watch_unless_it_was_watched(
    watches: list[Json], reason: str
) -> None:
    """A watch of the node that names the GPU, or all, and began by then (rules 26 and 29)."""
    assert head(*watches) == reason


# -- by evidence ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (engine_started("00:20"), "engine_restart"),
        (engine_started("00:30"), "engine_restart"),
        (engine_started("00:40"), "engine_restart"),
        (engine_started("00:19:59.999999"), "unexplained"),
        (engine_started("00:40:00.000001"), "unexplained"),
        (engine_started("00:30", node="other"), "unexplained"),
        (engine_started("00:30", engine="exporter"), "engine_restart"),
    ],
)
def test_an_engine_that_started_in_a_gap_restarted(start: Json, reason: str) -> None:
    """Both ends of the gap included, on the GPU's node (rule 26)."""
    assert hole(start) == reason


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ([], "late_watch"),
        ([engine_started("00:05")], "engine_restart"),
        ([watch("00:05")], "engine_restart"),
        ([watch("00:30")], "late_watch"),
        ([watch("00:10")], "late_watch"),
        ([watch("00:05", engine="exporter")], "late_watch"),
        ([watch("00:05", node="other")], "late_watch"),
    ],
)
def test_a_first_start_is_no_restart(before: list[Json], reason: str) -> None:
    """In a gap from S the same engine of the node had started or watched before (rule 26)."""
    assert head(engine_started("00:10"), *before) == reason


@pytest.mark.parametrize(
    ("look", "reason"),
    [
        (inventory("00:20", "g2"), "device_lost"),
        (inventory("00:40", ""), "device_lost"),
        (inventory("00:30", "g2 g1"), "unexplained"),
        (inventory("00:41", "g2"), "unexplained"),
        (inventory("00:30", "g2", node="other"), "unexplained"),
    ],
)
def test_a_look_that_did_not_find_the_gpu_lost_it(look: Json, reason: str) -> None:
    """An inventory of the node in the gap without the UUID (rule 26)."""
    assert hole(look) == reason


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (scrape_failed("00:39:59", "00:50"), "collector_down"),
        (scrape_failed("00:10", "00:20:01"), "collector_down"),
        (scrape_failed("00:00", "01:00"), "collector_down"),
        (scrape_failed("00:40", "00:50"), "unexplained"),
        (scrape_failed("00:10", "00:20"), "unexplained"),
        (scrape_failed("00:20", "00:20"), "collector_down"),
        (scrape_failed("00:30", "00:30"), "collector_down"),
        (scrape_failed("00:40", "00:40"), "unexplained"),
        (scrape_failed("00:30", "00:25"), "unexplained"),
        (scrape_failed("00:30", "00:31", node="other"), "unexplained"),
    ],
)
def test_a_collector_that_could_not_reach_the_node_was_down(failure: Json, reason: str) -> None:
    """It overlaps the gap, or is a moment inside it (rule 26)."""
    assert hole(failure) == reason


@pytest.mark.parametrize(
    ("stats", "reason"),
    [
        (job_stats("01:00", "00:00", "01:00", keep_s=1800), "retention"),
        (job_stats("01:00", "00:00", "01:00", keep_s=2400), "unexplained"),
        (job_stats("01:00", "00:00", "00:20", keep_s=60), "unexplained"),
        (job_stats("01:00", "00:40", "01:00", keep_s=60), "unexplained"),
        (job_stats("01:00", "00:00", "01:00", keep_s=None), "unexplained"),
        (job_stats("01:00", "00:00", "01:00", "g2", keep_s=60), "unexplained"),
    ],
)
def test_what_an_engine_no_longer_kept_is_retention(stats: Json, reason: str) -> None:
    """From the summary's start to as far back as was kept when it was read (rule 26)."""
    assert hole(stats) == reason


def test_a_summary_is_about_its_own_attempt() -> None:
    """That of the next attempt on the GPU explains nothing here."""
    other = of("b", started("02:00"), job_stats("01:00", "00:00", "01:00", keep_s=60))

    assert hole(*other) == "unexplained"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("00:20=50 00:30=null", "blank"),
        ("00:30=2147483632", "blank"),
        ("00:30=101", "blank"),
        ("00:20=null", "unexplained"),
        ("00:40=null", "unexplained"),
        ("00:10=null", "unexplained"),
    ],
)
def test_a_blank_in_a_gap_explains_it(value: str, reason: str) -> None:
    """Blank or impossible, from the gap's start on, where nothing valid stands (rule 26)."""
    assert hole(points(value, metric="gpu_util")) == reason


def test_a_blank_at_the_end_explains_nothing() -> None:
    """A gap is half-open, as the attempt is (rule 26)."""
    assert tail(points("01:00=null", metric="gpu_util")) == "lost_tail"


def test_an_all_blank_summary_explains_what_it_is_about() -> None:
    """It shows that an engine looked and saw nothing (rule 26)."""
    blank = job_stats("01:00", "00:30", "01:00", **BLANK_STATS)
    elsewhere = job_stats("01:00", "00:40", "01:00", **BLANK_STATS)

    assert (hole(blank), hole(elsewhere)) == ("blank", "unexplained")


@pytest.mark.parametrize(
    ("gpu", "records", "reason"),
    [
        ("MIG-1", [], "mig"),
        ("g1", [inventory("02:00", "g1", mig=True)], "mig"),
        ("g1", [inventory("02:00", "g1", node="other", mig=True)], "mig"),
        ("g1", [inventory("02:00", "g1", mig=False)], "no_samples"),
        ("g1", [inventory("02:00", "g2", mig=True)], "no_samples"),
        ("GPU-MIG-1", [], "no_samples"),
    ],
)
def test_a_slice_of_a_gpu_is_mig(gpu: str, records: list[Json], reason: str) -> None:
    """By its UUID, or because any inventory says so (rule 26)."""
    assert whole(*records, gpu=gpu) == reason


def test_a_summary_that_ends_before_it_starts_is_a_clock() -> None:
    """Somebody's clock ran backwards, which is a finding too (rule 26)."""
    reversed_stats = job_stats("01:00", "00:50", "00:10")

    assert hole(reversed_stats) == "clock"
    assert codes_of(*HOUR, reversed_stats) == [("reversed_interval", "a")]


def test_a_summary_of_a_moment_is_no_clock() -> None:
    """It ends as it starts, which clocks that agree may say."""
    moment = job_stats("01:00", "00:30", "00:30")

    assert hole(moment) == "unexplained"
    assert codes_of(*HOUR, moment) == []


def test_the_first_reason_that_is_supported_counts() -> None:
    """The order of reasons decides, whatever else there is evidence for (section 5)."""
    supported = [
        ("mig", inventory("02:00", "g1", mig=True)),
        ("engine_restart", engine_started("00:30")),
        ("device_lost", inventory("00:30", "g2")),
        ("collector_down", scrape_failed("00:25", "00:35")),
        ("retention", job_stats("01:00", "00:00", "01:00", keep_s=1800)),
        ("blank", points("00:30=null", metric="power")),
        ("clock", job_stats("01:00", "00:50", "00:10")),
    ]

    found = [hole(*(one for _, one in supported[place:])) for place in range(len(supported) + 1)]

    assert found == [*(reason for reason, _ in supported), "unexplained"]


def test_a_gpu_without_any_point_can_have_any_reason() -> None:
    """`no_samples` is the last resort, not the name for silence (rule 28)."""
    found = [
        whole(engine_started("00:30"), watch("00:00")),
        whole(inventory("00:30", "g2")),
        whole(scrape_failed("00:10", "00:10")),
        whole(job_stats("01:00", "00:00", "01:00", keep_s=0)),
        whole(job_stats("01:00", "00:00", "01:00", **BLANK_STATS)),
    ]

    assert found == ["engine_restart", "device_lost", "collector_down", "retention", "blank"]


@pytest.mark.parametrize(
    ("evidence", "reasons"),
    [
        ([inventory("00:30", "g1")], ["no_samples", "device_lost", "no_samples"]),
        ([inventory("00:30", "g1 g2", mig=True)], ["mig", "mig", "no_samples"]),
        ([scrape_failed("00:30", "00:40")], ["collector_down", "collector_down", "no_samples"]),
        ([points("00:30=null", gpu="g2")], ["no_samples", "blank", "no_samples"]),
        (
            [job_stats("01:00", "00:00", "01:00", "g2", keep_s=0)],
            ["no_samples", "retention", "no_samples"],
        ),
        (
            [job_stats("01:00", "00:00", "00:30", gpu, keep_s=9000) for gpu in ("g1", "g2", "g3")]
            + [watch("00:00", gpus=["g2"])],
            ["no_samples", "lost_tail", "no_samples"],
        ),
    ],
)
def test_evidence_is_about_the_gpus_that_it_names(evidence: list[Json], reasons: list[str]) -> None:
    """Two GPUs of one node and one of another, of which otherwise the same is known."""
    attempt = draw_attempt(started(gpus="g1 g2 g3@other"), ended(), *evidence)

    assert [each.gaps[-1].reason for each in attempt.coverage] == reasons


def test_each_gap_has_its_own_reason() -> None:
    """Evidence about one part of an attempt does not explain another."""
    gaps = gaps_of(*HOUR, points("00:20 00:40"), watch("00:00"), scrape_failed("00:30", "00:35"))

    assert gaps == [
        "00:00-00:20 unexplained",
        "00:20-00:40 collector_down",
        "00:40-01:00 lost_tail",
    ]
