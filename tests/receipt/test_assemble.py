"""From evidence to receipts: what holds of every story, in any order, number and split."""

import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.contract.parse import parse_contract
from tallystick.contract.versions import ContractVersions
from tallystick.core.instant import parse_instant
from tallystick.core.money import Rounding, money_text
from tallystick.evidence.admission import admit
from tallystick.receipt.assemble import (
    Case,
    Receipts,
    asked_of,
    prepare,
    receipt_of,
    receipts_in,
    receipts_of,
    with_scanned,
)
from tallystick.timeline.segments import Answer, Found, Scanned, SegmentStatus
from tests.evidence.records import (
    Json,
    admitted,
    as_line,
    by,
    declared,
    ended,
    linked,
    moment_us,
    numbered,
    of,
    points,
    record,
    resolution,
    same,
    samples,
    started,
    step,
    watch,
)
from tests.rating.rated import contract, finding_codes, rate, rate_all
from tests.reference.slow_money import round_to
from tests.reference.stories import Story, shuffled, story

seeds = st.integers(0, 2**32)


def seeded(seed: int) -> random.Random:
    """Give the random numbers of a seed."""
    return random.Random(seed)  # noqa: S311 (a story to test with, not a secret)


def versions_of(told: Story) -> ContractVersions:
    """Read the contracts of a story."""
    return ContractVersions(tuple(map(parse_contract, told.contracts)))


def rate_files(told: Story, *files: list[bytes], run: str | None = None) -> Receipts:
    """Rate evidence under the contracts of a story; its own evidence if none is given."""
    return receipts_of(admit(files or [told.evidence]), versions_of(told), run)


def span_us(one: Json) -> int:
    """Give the length of a printed interval."""
    return parse_instant(one["end"]) - parse_instant(one["start"])


def seconds_us(text: str) -> int:
    """Read a printed quantity."""
    return int(Decimal(text).scaleb(6))


def units_of(receipt: Json) -> dict[str, int]:
    """Give the number of GPUs of each attempt."""
    return {each["attempt"]: each["gpus"] for each in receipt["attempts"]}


def lengths_us(receipt: Json) -> dict[str, int]:
    """Give the metered length of each attempt, by its allocation lane."""
    return {each["attempt"]: sum(map(span_us, each["allocation"])) for each in receipt["timeline"]}


def receipts(seed: int) -> Iterator[Json]:
    """Give the receipts of a story."""
    yield from rate_files(story(seeded(seed))).predicates


# -- conservation --------------------------------------------------------------------------


@given(seeds)
def test_each_lane_is_a_partition_of_the_attempt(seed: int) -> None:
    """Lanes 1 and 3 run from start to end without a hole; lane 2 adds up per GPU (section 7)."""
    for receipt in receipts(seed):
        lanes = {each["attempt"]: each for each in receipt["timeline"]}
        for attempt in receipt["attempts"]:
            held = lanes[attempt["attempt"]]["allocation"]
            progress = lanes[attempt["attempt"]]["progress"]
            assert ends_of(progress) == ends_of(held)
            if attempt["end"] is not None:
                is_held = attempt["end"] > attempt["start"]
                expected = (attempt["start"], attempt["end"]) if is_held else None
                assert ends_of(held) == expected
        for each in receipt["coverage"]:
            lost_us = sum(map(span_us, each["gaps"]))
            whole_us = lengths_us(receipt)[each["attempt"]]
            assert seconds_us(each["observed_seconds"]) + lost_us == whole_us


def ends_of(lane: list[Json]) -> tuple[str, str] | None:
    """Give the start and end of a lane, which has no hole and no needless cut."""
    assert all(one["end"] == other["start"] for one, other in pairwise(lane))
    assert all(one["class"] != other["class"] for one, other in pairwise(lane))
    return (lane[0]["start"], lane[-1]["end"]) if lane else None


@given(seeds)
def test_every_gpu_has_a_coverage(seed: int) -> None:
    """One entry a GPU, by UUID, those without one last (rule 28)."""
    for receipt in receipts(seed):
        entries = Counter(each["attempt"] for each in receipt["coverage"])
        uuids: dict[str, list[str]] = {}
        for each in receipt["coverage"]:
            uuids.setdefault(each["attempt"], [])
            if each["gpu"] is not None:
                uuids[each["attempt"]].append(each["gpu"])

        stated = {each["attempt"]: each["gpu_uuids"] for each in receipt["attempts"]}
        assert entries == Counter(units_of(receipt))
        assert uuids == {key: found for key, found in stated.items() if entries[key]}
        assert all(found == sorted(found) for found in stated.values())


@given(seeds)
def test_dispositions_partition_metered_usage(seed: int) -> None:
    """Metered is net billed, excluded, credited and held, and by lines the same (section 9)."""
    parts = {
        "charge": "net_billed",
        "share": "net_billed",
        "credit": "credited",
        "exclude": "excluded",
        "hold": "held",
    }
    for receipt in receipts(seed):
        usage = {
            name: seconds_us(text) for name, text in receipt["usage"].items() if name != "unit"
        }
        sums = Counter(dict.fromkeys(set(parts.values()), 0))
        for line in receipt["lines"]:
            if line["kind"] == "usage":
                sums[parts[line["disposition"]]] += seconds_us(line["quantity"])

        metered_us = usage.pop("metered")
        assert metered_us == sum(usage.values())
        assert usage == dict(sums)


@given(seeds)
def test_every_second_of_every_gpu_is_on_one_line(seed: int) -> None:
    """The pieces of an attempt's lines cover each of its GPUs once, all the time (section 0)."""
    for receipt in receipts(seed):
        if receipt["usage"]["unit"] != "gpu_seconds":
            continue
        for key, units in units_of(receipt).items():
            pieces = list(pieces_of(receipt, key))
            covered_us = sum(span_us(piece) * len(piece["gpus"]) for piece in pieces)
            assert covered_us == lengths_us(receipt)[key] * units
            for gpu in {gpu for piece in pieces for gpu in piece["gpus"] if gpu is not None}:
                own = sorted((p["start"], p["end"]) for p in pieces if gpu in p["gpus"])
                assert all(one[1] == other[0] for one, other in pairwise(own))


def pieces_of(receipt: Json, attempt: str) -> Iterator[Json]:
    """Give the pieces of an attempt's usage lines, with all their GPUs."""
    (found,) = (each for each in receipt["attempts"] if each["attempt"] == attempt)
    unnamed = [None] * (found["gpus"] - len(found["gpu_uuids"]))
    for line in receipt["lines"]:
        if line["kind"] == "usage" and line["attempt"] == attempt:
            for piece in line["pieces"]:
                every = [*found["gpu_uuids"], *unnamed]
                yield piece | {"gpus": every if piece["gpus"] is None else piece["gpus"]}


@given(seeds)
def test_a_quantity_is_the_sum_of_its_pieces(seed: int) -> None:
    """Each line's own pieces, times their GPUs (section 6)."""
    for receipt in receipts(seed):
        if receipt["usage"]["unit"] != "gpu_seconds":
            continue
        for line in receipt["lines"]:
            if line["kind"] != "usage":
                continue
            units = units_of(receipt)[line["attempt"]]
            sums_us = (
                span_us(piece) * (units if piece["gpus"] is None else len(piece["gpus"]))
                for piece in line["pieces"]
            )
            assert seconds_us(line["quantity"]) == sum(sums_us)


@given(seeds)
def test_progress_classes_sum_to_the_gpu_time(seed: int) -> None:
    """All classes together are the GPU time of the attempts (section 7)."""
    for receipt in receipts(seed):
        spent_us = sum(map(seconds_us, receipt["progress"]["gpu_seconds"].values()))
        units = units_of(receipt)

        held_us = sum(length_us * units[key] for key, length_us in lengths_us(receipt).items())
        assert spent_us == held_us
        if receipt["usage"]["unit"] == "gpu_seconds":
            assert seconds_us(receipt["usage"]["metered"]) == spent_us


@given(seeds)
def test_lines_sum_to_totals(seed: int) -> None:
    """Charges, credits, adjustments and what is held, rounded once; net is arithmetic."""
    told = story(seeded(seed))
    for receipt in rate_files(told).predicates:
        rounding = rounding_of(receipt, versions_of(told))
        totals, lines = receipt["totals"], receipt["lines"]
        own = [line for line in lines if line["kind"] != "adjustment"]
        held = [line for line in own if line["disposition"] == "hold"]
        sums = {
            "charged": [exact(line, "amount") for line in own if line not in held],
            "credits": [exact(line, "credit") for line in own if "credit" in line],
            "adjustments": [Fraction(line["amount"]) for line in lines if line not in own],
        }
        if all(line["at_most"] is not None for line in held):
            sums["held_at_most"] = [exact(line, "at_most") for line in held]

        charged, credit, adjusted, *at_most = (total(sums[name], rounding) for name in sums)
        assert [totals[name] for name in sums] == [
            money_text(each, rounding.digits) for each in (charged, credit, adjusted, *at_most)
        ]
        net = charged - credit + adjusted
        assert Fraction(low(totals["net"])) == net
        if at_most:
            assert Fraction(high(totals["net"])) == net + at_most[0]
        else:
            assert (totals["held_at_most"], high(totals["net"])) == (None, None)


def rounding_of(receipt: Json, versions: ContractVersions) -> Rounding:
    """Give the rounding of the highest version that rated, else the highest (rule 62)."""
    rated = [each["version"] for each in receipt["contracts"]]
    number = max(rated) if rated else versions.highest.version
    (terms,) = (each for each in versions.versions if each.version == number)
    return terms.rounding


def total(values: list[Fraction], rounding: Rounding) -> Fraction:
    """Add up and round, by a second reading of the rule."""
    return round_to(sum(values, Fraction(0)), rounding.digits, rounding.mode)


def exact(line: Json, column: str) -> Fraction:
    """Give the exact value of a money column, where the line is not rounded."""
    if "amount_exact" not in line:
        return Fraction(line[column])
    value = Fraction(line["amount_exact"])
    if column == "credit":
        return value * Fraction(line["share"])
    return max(value, Fraction(0)) if column == "at_most" else value


def low(value: Any) -> Any:
    """Give the lower bound of a value, which is itself if it is plain."""
    return value["at_least"] if isinstance(value, dict) else value


def high(value: Any) -> Any:
    """Give the upper bound of a value, which is itself if it is plain."""
    return value["at_most"] if isinstance(value, dict) else value


@given(seeds)
def test_at_least_is_no_more_than_at_most(seed: int) -> None:
    """Bounds are in order and never equal; equal ones are a plain value."""
    for receipt in receipts(seed):
        progress = receipt["progress"]
        values = [
            *(each["lost_steps"] for each in progress["interruptions"]),
            *(progress["replayed_steps"], progress["lost_gpu_seconds"], receipt["totals"]["net"]),
        ]
        for value in values:
            if isinstance(value, dict) and value["at_most"] is not None:
                assert Decimal(value["at_least"]) < Decimal(value["at_most"])


# -- deliveries ----------------------------------------------------------------------------


@given(seeds)
def test_neither_order_nor_number_of_deliveries_matters(seed: int) -> None:
    """Shuffled copies, seen again by restarted producers: the same receipts (section 0)."""
    told = story(seeded(seed))
    if told.ordered:
        return

    again = rate_files(told, shuffled(seeded(seed + 1), told.evidence))

    assert again.predicates == rate_files(told).predicates


@given(seeds)
def test_rating_twice_adds_nothing(seed: int) -> None:
    """The same lines again, and each line twice: the same receipts."""
    told = story(seeded(seed))
    once = rate_files(told)

    doubled = [line for line in told.evidence for _ in range(2)]

    assert rate_files(told) == once
    assert rate_files(told, told.evidence, told.evidence).predicates == once.predicates
    assert rate_files(told, doubled).predicates == once.predicates


@given(seeds, st.integers(2, 5))
def test_evidence_may_be_split_over_files(seed: int, number: int) -> None:
    """Any split gives the same receipts, and the same findings at other places."""
    told, rng = story(seeded(seed)), seeded(seed + 1)
    files: list[list[bytes]] = [[] for _ in range(number)]
    for place, line in enumerate(told.evidence):
        # Where order matters the files take the lines in turn, without changing their order.
        file = place * number // len(told.evidence) if told.ordered else rng.randrange(number)
        files[file].append(line)

    split, whole = rate_files(told, *files), rate_files(told)

    assert split.predicates == whole.predicates
    assert sorted(each.code for each in split.findings) == sorted(
        each.code for each in whole.findings
    )


@given(seeds)
def test_asking_for_one_run_only_filters(seed: int) -> None:
    """Its receipt is the one that it has among all, and findings stay (rule 66)."""
    told = story(seeded(seed))
    every = rate_files(told)

    for receipt in every.predicates:
        one = rate_files(told, run=receipt["run"]["id"])
        assert one == Receipts((receipt,), every.findings)
    assert rate_files(told, run="nobody") == Receipts((), every.findings)


# -- runs and what belongs to them ---------------------------------------------------------


def test_receipts_stand_in_order_of_run() -> None:
    """By code point, whatever the order of the input (rule 9)."""
    rated = rate_all([declared("b"), declared("é"), declared("B")])

    assert [each["run"]["id"] for each in rated.predicates] == ["B", "b", "é"]


def test_findings_of_lines_stand_before_those_of_names() -> None:
    """Refusals in input order, then aliases, attempts and runs by name (rule 9)."""
    lines = [b"x", *map(as_line, [step("00:10", 1), same("x", "x"), step("00:10", 1, attempt="0")])]

    rated = receipts_of(admit([lines]), ContractVersions((parse_contract(contract()),)))

    assert [(each.code, each.attempt) for each in rated.findings] == [
        ("bad_json", None),
        ("alias_conflict", "x"),
        ("unknown_attempt", "0"),
        ("unknown_attempt", "a"),
        ("unknown_attempt", "x"),
    ]


def test_the_gap_factor_is_that_of_the_version_in_force_at_the_start() -> None:
    """A version that begins later does not change what was observed (rule 23)."""
    wide = '[telemetry]\ngap_factor = "20"'
    records = (
        *(started(), points("00:00 00:20 00:40"), ended()),
        *of("b", started("02:00"), ended("03:00")),
        points("02:00 02:20 02:40"),
    )

    receipt = rate(records, contract(wide, until="01:00"), contract(version=2, since="01:00"))

    observed = [each["observed_seconds"] for each in receipt["coverage"]]
    assert observed == ["3600.000000", "0.000000"]


def test_without_a_version_the_gap_factor_is_five_halves() -> None:
    """The default holds where nobody said otherwise (rule 23)."""
    wide = '[telemetry]\ngap_factor = "20"'
    records = (started(), points("00:00 00:02:30 00:05:01"), ended())

    receipt = rate(records, contract(wide, since="00:01"))

    assert [each["observed_seconds"] for each in receipt["coverage"]] == ["150.000000"]


# -- segments ------------------------------------------------------------------------------

TWO_RUNS = (
    *(started(), ended()),
    *of("b", started("02:00", run="two"), ended("03:00")),
    samples("g1", "00:00", "03:00"),
)


def case_of(*records: Json, scanned: Scanned | None = None) -> Case:
    """Group records."""
    return prepare(
        admitted(records), ContractVersions((parse_contract(contract()),)), scanned=scanned
    )


def all_observed(case: Case) -> Scanned:
    """Answer every question with an episode that spans its window."""
    answers = {}
    for segment, windows in asked_of(case):
        spans = {each: Found(((each.start_us, each.end_us),), (), False) for each in windows}  # noqa: FBT003
        answers[segment.digest] = Answer(SegmentStatus.READ, spans)
    return Scanned(answers)


def observed_of(receipts: Receipts) -> list[str]:
    """Give the observed time of each first GPU."""
    return [each["coverage"][0]["observed_seconds"] for each in receipts.predicates]


def test_segments_are_asked_for_all_runs_or_for_one() -> None:
    """Each run asks for its own windows, in the reach that its contract gives (rule 23)."""
    case = case_of(*TWO_RUNS)

    asked = [
        [
            (window.start_us, window.reach_us)
            for each in asked_of(case, run)
            for window in each.windows
        ]
        for run in (None, "run", "two", "nobody")
    ]

    one, two = ((moment_us(clock), 150_000_000) for clock in ("00:00", "02:00"))
    assert asked == [[one, two], [one], [two], []]


def test_the_answers_of_segments_go_in_beside_the_evidence() -> None:
    """Before grouping, after it, or for one receipt: the receipts are the same."""
    case = case_of(*TWO_RUNS)
    scanned = all_observed(case)
    versions = ContractVersions((parse_contract(contract()),))

    after = receipts_in(with_scanned(case, scanned))

    assert observed_of(after) == ["3600.000000"] * 2
    assert [finding_codes(each) for each in after.predicates] == [[], []]
    assert receipts_of(admitted(TWO_RUNS), versions, scanned=scanned) == after
    assert receipts_in(case_of(*TWO_RUNS, scanned=scanned)) == after
    assert tuple(receipt_of(run, case, scanned) for run in case.runs()) == after.predicates


def test_without_answers_segments_are_findings_and_no_samples() -> None:
    """A case is not changed by the answers that were put into a copy of it (rule 20)."""
    case = case_of(*TWO_RUNS)
    with_scanned(case, all_observed(case))

    found = receipts_in(case)

    assert observed_of(found) == ["0.000000"] * 2
    assert [finding_codes(each) for each in found.predicates] == [[("segment_not_read", None)]] * 2


# -- numbers that are missing --------------------------------------------------------------

GAP = (numbered(record("x", None, {"n": 1}), 1), numbered(record("x", None, {"n": 2}), 3))


@pytest.mark.parametrize(
    "naming",
    [
        declared("run"),
        linked("a", "run"),
        step("00:10", 1),
        resolution("charge", attempt="other"),
        resolution("charge", run="other"),
        points("09:00"),
        same("hook", "a"),
        step("00:10", 1, attempt="hook"),
    ],
)
def test_a_missing_number_is_told_to_the_runs_of_its_producer(naming: Json) -> None:
    """One of its records names the run, an attempt of it, or samples of its GPUs (rule 10)."""
    base = [by("q", each) for each in (started(), ended(), same("hook", "a"))]

    receipt = rate((*base, *GAP, naming))

    assert ("sequence_gap", None) in finding_codes(receipt)


@pytest.mark.parametrize(
    "other",
    [
        declared("other"),
        step("00:10", 1, attempt="b"),
        points("00:10", gpu="g2"),
        watch("00:00"),
        samples("g1", "02:00", "03:00"),
    ],
)
def test_a_missing_number_is_not_told_to_other_runs(other: Json) -> None:
    """A producer that says nothing of a run takes nothing from it (rule 10)."""
    base = [by("q", each) for each in (started(), ended())]

    (*_, receipt) = rate_all((*base, *GAP, other)).predicates

    assert receipt["run"]["id"] == "run"
    assert finding_codes(receipt) == []


def test_each_boot_with_missing_numbers_is_told() -> None:
    """Once for each producer and boot, on no attempt (rules 10 and 64)."""
    more = (
        numbered(record("x", None, {"n": 3}), 5, "b2"),
        numbered(record("x", None, {"n": 4}), 9, "b2"),
    )

    receipt = rate((started(), ended(), *GAP, *more))

    assert finding_codes(receipt) == [("sequence_gap", None), ("sequence_gap", None)]


def test_a_refused_line_leaves_its_mark_on_the_receipt() -> None:
    """What it said is gone, and everybody can see that something is (rule 10)."""
    good = [
        numbered(each, place) for place, each in enumerate((started(), step("00:10", 5), ended()))
    ]
    lines = [as_line(each) for each in good]
    lines[1] = lines[1].replace(b'"step":5', b'"step":5.0')

    rated = receipts_of(admit([lines]), ContractVersions((parse_contract(contract()),)))

    assert [each.code for each in rated.findings] == ["float_refused"]
    assert finding_codes(rated.predicates[0]) == [("sequence_gap", None)]
