"""The receipt's predicate: what it names, in which order, and what decided it (rules 64 to 68)."""

from typing import Any

import pytest

from tallystick.core.canonical import check_canonical, sha256_digest
from tallystick.evidence.record import content_digest
from tests.evidence.records import (
    Json,
    adjustment,
    alive,
    begun,
    by,
    clock,
    committed,
    declared,
    ended,
    engine_started,
    goes_on,
    inventory,
    job_stats,
    linked,
    minutes,
    notice,
    of,
    points,
    resolution,
    restored,
    resumed,
    scrape_failed,
    started,
    step,
    suspended,
    waits,
    watch,
)
from tests.rating.rated import (
    HELD_WHEN_DARK,
    contract,
    finding_codes,
    metering,
    rate,
    rate_all,
    rule,
)

HOUR = (started(), ended())


def digests(*records: Json) -> list[str]:
    """Name records as evidence."""
    return sorted(map(content_digest, records))


def evidence_of(line: int, records: list[Json], *contracts: bytes) -> list[str]:
    """Give the evidence that a line names."""
    named: list[str] = rate(records, *contracts)["lines"][line]["evidence"]
    return named


# -- what stands on it ---------------------------------------------------------------------


def test_a_receipt_has_its_keys() -> None:
    """Names are frozen, and the whole has a canonical form (section 7)."""
    receipt = rate(HOUR)

    check_canonical(receipt)
    assert list(receipt) == [
        "schema",
        "kernel",
        "run",
        "revision",
        "supersedes",
        "contracts",
        "log",
        "attempts",
        "coverage",
        "progress",
        "usage",
        "lines",
        "timeline",
        "totals",
        "findings",
    ]
    assert (receipt["schema"], receipt["kernel"]) == ("tallystick.receipt/1", "1")
    assert (receipt["revision"], receipt["supersedes"], receipt["log"]) == (1, None, None)


@pytest.mark.parametrize(
    ("declarations", "job_class"),
    [
        ([], None),
        ([declared(job_class=None)], None),
        ([declared(at="00:02", job_class="eval"), declared(at="00:01")], "eval"),
        (
            [declared(at="00:02", job_class="eval"), declared(at="00:01", job_class="train")],
            "train",
        ),
    ],
)
def test_the_job_class_is_the_first_that_is_stated(
    declarations: list[Json], job_class: str | None
) -> None:
    """In canonical order, and null if nobody said (rule 19)."""
    receipt = rate((*HOUR, *declarations))

    assert receipt["run"] == {"id": "run", "job_class": job_class, "accepted": None}


def test_an_attempt_is_shown_as_its_sources_stated_it() -> None:
    """Times, GPUs, who ended it, the notice and the wait (section 7)."""
    records = (
        *(started(gpus="g2 g1", gpu_count=3), notice("00:53"), ended(by_whom="provider")),
        *of("b", started("01:21:52", gpu_type=None, capacity="unknown")),
    )

    first, second = rate(records)["attempts"]

    assert first == {
        "attempt": "a",
        "start": "2026-03-01T00:00:00.000000Z",
        "end": "2026-03-01T01:00:00.000000Z",
        "gpus": 3,
        "gpu_uuids": ["g1", "g2"],
        "gpu_type": "H100",
        "capacity": "spot",
        "ended_by": "provider",
        "notice_seconds": "420.000000",
        "replacement_wait_seconds": "1312.000000",
    }
    assert [second[key] for key in ("end", "gpu_type", "ended_by", "notice_seconds")] == [None] * 4


def test_a_contract_is_named_by_the_digest_of_its_bytes() -> None:
    """Anybody can compare the file (rule 68)."""
    terms = contract()

    assert rate(HOUR, terms)["contracts"] == [
        {"id": "acme", "version": 1, "digest": sha256_digest(terms)}
    ]


def test_coverage_names_each_gpu_and_gap() -> None:
    """A GPU without UUID has an entry of its own, after the others (rule 28)."""
    seen = points(minutes("00:00", "00:30"))

    receipt = rate((started(gpus="g1", gpu_count=2), ended(), seen))

    assert receipt["coverage"] == [
        {
            "attempt": "a",
            "gpu": "g1",
            "observed_seconds": "1800.000000",
            "gaps": [
                {
                    "start": "2026-03-01T00:30:00.000000Z",
                    "end": "2026-03-01T01:00:00.000000Z",
                    "reason": "lost_tail",
                }
            ],
        },
        {
            "attempt": "a",
            "gpu": None,
            "observed_seconds": "0.000000",
            "gaps": [
                {
                    "start": "2026-03-01T00:00:00.000000Z",
                    "end": "2026-03-01T01:00:00.000000Z",
                    "reason": "no_samples",
                }
            ],
        },
    ]


def test_the_timeline_draws_the_lanes() -> None:
    """With equal neighbours merged, so that a picture needs the receipt alone (section 7)."""
    (lanes,) = rate((*HOUR, restored("00:10", 0), step("00:20", 1), step("00:30", 2)))["timeline"]

    drawn = [
        (clock(each["start"]), clock(each["end"]), each["class"]) for each in lanes["progress"]
    ]
    assert drawn == [
        ("00:00", "00:10", "starting"),
        ("00:10", "00:30", "advancing"),
        ("00:30", "01:00", "unknown"),
    ]
    assert [each["class"] for each in lanes["allocation"]] == ["held"]


# -- progress ------------------------------------------------------------------------------


def test_progress_of_an_interrupted_run() -> None:
    """Checkpoints, interruptions and GPU time by class, waiting taken together (section 7)."""
    records = (
        *(started(gpus="g1 g2"), restored("00:10", 0, None), step("00:20", 10, every=5)),
        *(begun("00:20", 10), committed("00:25", 10), step("00:40", 20, every=5)),
        *(waits("00:40"), goes_on("00:45"), waits("00:45", "compile"), goes_on("00:50")),
        ended(by_whom="provider"),
        *of("b", started("02:00", gpus="g1 g2"), restored("02:10", 10)),
        *of("b", step("02:30", 20), ended("02:30")),
    )

    assert rate(records)["progress"] == {
        "steps_completed": 20,
        "last_valid_checkpoint": {"checkpoint": "ckpt", "step": 10, "attempt": "a"},
        "interruptions": [
            {
                "attempt": "a",
                "last_step": 20,
                "restored_step": 10,
                "lost_steps": {"at_least": 10, "at_most": 14},
                "avoidable_lost_steps": 0,
            }
        ],
        "replayed_steps": 10,
        "gpu_seconds": {
            "starting": "2400.000000",
            "advancing": "1200.000000",
            "replaying": "2400.000000",
            "discarded": "1800.000000",
            "saving": "600.000000",
            "waiting": "1200.000000",
            "mixed": "0.000000",
            "unknown": "1200.000000",
        },
        "lost_gpu_seconds": {"at_least": "1800.000000", "at_most": "3000.000000"},
    }


@pytest.mark.parametrize(
    ("records", "lost"),
    [
        ([started(), ended()], "0.000000"),
        ([started(), step("00:10", 1)], "0.000000"),
        ([started(), ended(by_whom="user")], {"at_least": "0.000000", "at_most": "3600.000000"}),
        (
            [started(), restored("00:10", 0), step("00:40", 1), ended(by_whom="user")],
            {"at_least": "0.000000", "at_most": "1200.000000"},
        ),
        (
            [started(), restored("00:10", 0), alive("00:20"), ended(by_whom="user")],
            {"at_least": "0.000000", "at_most": "3000.000000"},
        ),
        (
            [started(), step("00:10", 1), waits("00:20"), step("00:40", 2), ended(by_whom="user")],
            {"at_least": "0.000000", "at_most": "1200.000000"},
        ),
        (
            [started(), step("01:30", 1), ended(by_whom="user")],
            {"at_least": "0.000000", "at_most": "3600.000000"},
        ),
        ([started(), step("01:00", 1), ended(by_whom="user")], "0.000000"),
        (
            [
                *(started(), restored("00:10", 0), step("00:40", 20), ended(by_whom="user")),
                *of("b", started("02:00"), restored("02:10", 10), ended("03:00")),
            ],
            {"at_least": "0.000000", "at_most": "3000.000000"},
        ),
    ],
)
def test_lost_time_is_discarded_at_least(records: list[Json], lost: Any) -> None:
    """And at most mixed, and unknown after the last step of an interruption (rule 67)."""
    assert rate(records)["progress"]["lost_gpu_seconds"] == lost


# -- order ---------------------------------------------------------------------------------


def test_attempts_lanes_and_coverage_stand_in_order_of_start() -> None:
    """Then key; the GPUs of each by UUID (section 7)."""
    records = (
        *of("a", started("02:00", gpus="g2 g1"), ended("03:00")),
        *of("c", started("00:00"), ended("01:00")),
        *of("b", started("00:00", gpus="g3"), ended("00:30")),
    )

    receipt = rate(records)

    assert [each["attempt"] for each in receipt["attempts"]] == ["b", "c", "a"]
    assert [each["attempt"] for each in receipt["timeline"]] == ["b", "c", "a"]
    coverage = [(each["attempt"], each["gpu"]) for each in receipt["coverage"]]
    assert coverage == [("b", "g3"), ("c", "g1"), ("a", "g1"), ("a", "g2")]


def test_findings_stand_by_code_then_attempt() -> None:
    """Null first, each code and attempt once, but records that decide nothing each (rule 64)."""
    records = (
        *(started(gpu_count=3), resumed("00:10"), step("23:00", 1), step("23:10", 2)),
        *(linked("a", "run", "22:00"), linked("a", "elsewhere", "23:00"), linked("ghost", "run")),
        *of("b", started("00:30", gpu_count=3), ended("00:40"), ended("00:50")),
        *(adjustment("1", currency="EUR"), adjustment("2", currency="EUR")),
        *(resolution("charge", "10:00"), resolution("charge", "11:00")),
    )

    (_, receipt) = rate_all(records).predicates

    assert finding_codes(receipt) == [
        ("attempt_without_start", "ghost"),
        ("currency_mismatch", None),
        ("currency_mismatch", None),
        ("end_disagreement", "b"),
        ("gpu_count_mismatch", "a"),
        ("gpu_count_mismatch", "b"),
        ("open_attempt", "a"),
        ("overlapping_attempts", "b"),
        ("resolution_unused", "a"),
        ("resolution_unused", "a"),
        ("run_disagreement", "a"),
        ("unpaired_resume", "a"),
    ]


def test_a_code_stands_once_for_an_attempt() -> None:
    """Two reasons for one finding are one finding (rule 64)."""
    records = (started("01:00"), ended("00:00"), job_stats("02:00", "00:50", "00:10"))

    assert finding_codes(rate(records)) == [("reversed_interval", "a")]


def test_every_finding_says_something() -> None:
    """A message for people stands beside each code."""
    receipt = rate((started(), resumed("00:10")))

    assert finding_codes(receipt) == [("open_attempt", "a"), ("unpaired_resume", "a")]
    assert all(each["message"] for each in receipt["findings"])


# -- evidence of lines ---------------------------------------------------------------------


def test_a_line_names_its_start_and_end() -> None:
    """Every source of them, and nothing that no rule looked at."""
    starts = [started(), by("q", started())]
    others = [notice("00:50"), points(minutes("00:00", "00:59")), step("00:10", 1)]

    named = evidence_of(0, [*starts, *others, ended()])

    assert named == digests(*starts, ended())


def test_a_rule_that_looks_at_telemetry_names_it() -> None:
    """Samples, summaries and what explains a gap, of the GPUs of the line only."""
    seen = points(minutes("00:00", "00:20"), gpu="g1")
    down, other = scrape_failed("00:30", "00:40"), points("00:10", gpu="g2")
    records = [started(gpus="g1 g2"), seen, other, down, ended()]

    charge = evidence_of(0, records, contract(HELD_WHEN_DARK))
    hold = evidence_of(1, records, contract(HELD_WHEN_DARK))

    assert charge == digests(started(gpus="g1 g2"), ended(), seen, down)
    assert hold == digests(started(gpus="g1 g2"), ended(), seen, down, other)


@pytest.mark.parametrize(
    "why",
    [
        engine_started("00:30"),
        inventory("00:30", "g2"),
        job_stats("01:00", "00:00", "01:00", keep_s=60),
        job_stats("01:00", "00:50", "00:10"),
    ],
)
def test_what_explains_a_gap_is_named(why: Json) -> None:
    """An engine start, a look at the node, a summary."""
    records = [started(), watch("00:00"), why, ended()]

    assert content_digest(why) in evidence_of(0, records, contract(HELD_WHEN_DARK))


def test_a_rule_that_looks_at_the_allocation_names_it() -> None:
    """Pauses and notices, for the lines up to the rule that decided and after it."""
    lane = [suspended("00:10"), resumed("00:20"), notice("00:50")]
    terms = contract(rule("1", 'allocation = "suspended"', "exclude"))

    for line in (0, 1):
        assert evidence_of(line, [started(), *lane, ended()], terms) == digests(*HOUR, *lane)


def test_a_rule_that_looks_at_the_notice_names_it() -> None:
    """Only notices decide how long it was."""
    lane = [suspended("00:10"), resumed("00:20"), notice("00:50")]
    terms = contract(rule("1", "notice_shorter_than_s = 60", "exclude"))

    assert evidence_of(0, [started(), *lane, ended()], terms) == digests(*HOUR, notice("00:50"))


def test_a_rule_that_looks_at_progress_names_what_bounds_the_line() -> None:
    """Events that lie in its intervals or at their ends."""
    events = [restored("00:10", 0), step("00:20", 1), waits("00:30"), goes_on("00:40")]
    terms = contract(rule("1", 'progress = "waiting"', "exclude"))

    named = evidence_of(1, [started(), *events, ended()], terms)

    assert named == digests(*HOUR, waits("00:30"), goes_on("00:40"))


def test_a_rule_after_the_deciding_one_looked_at_nothing() -> None:
    """What was not reached did not decide."""
    terms = contract(rule("1", "first_s = 7200", "charge"), HELD_WHEN_DARK)

    assert evidence_of(0, [started(), points("00:10"), ended()], terms) == digests(*HOUR)


def test_the_rounding_of_time_names_start_and_end() -> None:
    """They are all that it rounds."""
    records = [started(), points("00:10"), ended()]

    named = evidence_of(1, records, contract(metering(granularity_s=7200)))

    assert named == digests(*HOUR)
