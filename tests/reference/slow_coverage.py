"""Lane 2, the slow and literal way: rules 21 to 29."""

import re
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from tests.reference.slow_admission import Record
from tests.reference.slow_attempts import Attempt, Span, at_of, overlaps
from tests.reference.slow_bodies import DECIMAL, moment_us

ENERGY_BLANK = 140_737_488_355_328
BLANK = 2_147_483_632
BIG_EXPONENT = 400  # Beyond it a number is compared by sign alone; no threshold is so large.


class Gap(NamedTuple):
    """A part of an attempt that nothing observed, and why."""

    start: int
    end: int
    reason: str


class GpuCoverage(NamedTuple):
    """What was seen of one GPU (None: without UUID)."""

    gpu: str | None
    observed: list[Span]
    gaps: list[Gap]


# -- values --------------------------------------------------------------------------------


def number(text: str) -> Decimal | None:
    """Read a plain decimal number; None for anything else."""
    match = DECIMAL.fullmatch(text)
    if match is None:
        return None
    mantissa = re.split("[eE]", text)[0]
    exponent = int(text[len(mantissa) + 1 :] or 0)
    if Decimal(mantissa) != 0 and exponent > BIG_EXPONENT:
        return Decimal("-Infinity" if mantissa.startswith("-") else "Infinity")
    if exponent < -BIG_EXPONENT or Decimal(mantissa) == 0:
        return Decimal(0)
    return Decimal(text)


def classify(value: str | int | None, metric: str) -> str:
    """Rule 21: `valid`, `blank` or `impossible`."""
    exact = None if value is None else number(str(value))
    name = metric.lower()
    wide = any(part in name for part in ("energy", "bytes", "violation"))
    if exact is None or exact >= ENERGY_BLANK or (exact >= BLANK and not wide):
        return "blank"
    if exact < 0 or ("util" in name and exact > 100) or ("active" in name and exact > 1):
        return "impossible"
    return "valid"


def all_blank(summary: Record) -> bool:
    """Rule 27: the pattern of a summary behind which nothing was sampled."""
    body = summary.body
    empty = all(classify(body[name], name) == "blank" for name in ("energy_mj", "power_w"))
    return empty and all(
        classify(body[name], name) == "blank" or number(str(body[name])) == 0
        for name in ("sm_util", "mem_util", "processes")
    )


# -- points --------------------------------------------------------------------------------


class Points(NamedTuple):
    """The points of one GPU: the valid times of each series, and the times with nothing valid."""

    series: dict[tuple[str, int], set[int]]
    bad: set[int]
    impossible: set[int]

    def valid(self) -> set[int]:
        """Every time at which any series of the GPU has a valid value."""
        return set().union(*self.series.values())


def points_of(gpu: str, records: tuple[Record, ...]) -> Points:
    """Rule 22: a series is all points of one (gpu, metric, cadence), by distinct time."""
    found = Points({}, set(), set())
    for record in records:
        if record.kind != "telemetry.points" or record.body["gpu"] != gpu:
            continue
        body = record.body
        times = found.series.setdefault((body["metric"], body["cadence_us"]), set())
        for text, value in body["points"]:
            verdict = classify(value, body["metric"])
            if verdict == "valid":
                times.add(moment_us(text))
            else:
                found.bad.add(moment_us(text))
            if verdict == "impossible":
                found.impossible.add(moment_us(text))
    found.bad.difference_update(found.valid())  # Rule 26: "at a time without a valid one".
    return found


def observed_by_series(
    times: set[int], cadence_us: int, factor: Fraction, attempt: Attempt
) -> list[Span]:
    """Rule 24: what one series observes of [S,E)."""
    reach = factor * cadence_us
    start, stop = attempt.start, attempt.stop
    near = sorted(at for at in times if start - reach <= at <= stop + reach)
    spans = [(a, b) for a, b in pairwise(near) if b - a <= reach]
    inside = [at for at in near if start <= at < stop]
    if inside and inside[0] - start <= reach:
        spans.append((start, inside[0]))
    if inside and stop - inside[-1] <= reach:
        spans.append((inside[-1], stop))
    return spans


# -- watches, engines, summaries -----------------------------------------------------------


class Context(NamedTuple):
    """One named GPU of one attempt, and everything that may say something about it."""

    attempt: Attempt
    gpu: str
    node: str
    records: tuple[Record, ...]
    points: Points

    def on_node(self, kind: str) -> list[Record]:
        """Give the records of a kind that name the GPU's node."""
        return [one for one in self.records if one.kind == kind and one.body["node"] == self.node]

    def watches(self) -> list[Record]:
        """Rule 29: the watches that cover the GPU."""
        return [
            one
            for one in self.on_node("telemetry.watch")
            if one.body["gpus"] is None or self.gpu in one.body["gpus"]
        ]

    def summaries(self) -> list[Record]:
        """Give the job_stats of this attempt and GPU."""
        return [
            one for one in self.attempt.of("telemetry.job_stats") if one.body["gpu"] == self.gpu
        ]


def observed_by_summary(summary: Record, context: Context) -> list[Span]:
    """Rule 27: what one summary observes, for each covering watch."""
    if all_blank(summary):
        return []
    spans = []
    read = at_of(summary)
    start, end = moment_us(summary.body["start"]), moment_us(summary.body["end"])
    for watch in context.watches():
        keep = summary.body["keep_us"]
        if keep is None:
            keep = watch.body["keep_us"]
        restarted = any(
            one.body["engine"] == watch.body["engine"] and at_of(watch) < at_of(one) <= read
            for one in context.on_node("telemetry.engine_started")
        )
        if at_of(watch) <= read and not restarted and keep is not None:
            spans.append((max(start, read - keep, at_of(watch)), min(end, read)))
    return spans


# -- gaps ----------------------------------------------------------------------------------


def reason_of(gap: Span, context: Context) -> str:
    """Rule 25: the first reason, in the order of S5, that the evidence supports."""
    a, b = gap
    attempt = context.attempt
    before = a > attempt.start or a in context.points.valid()
    checks = (
        ("mig", is_mig(context)),
        ("engine_restart", engine_restarted(gap, context)),
        ("device_lost", device_lost(gap, context)),
        ("collector_down", collector_down(gap, context)),
        ("retention", any(not_kept(gap, one) for one in context.summaries())),
        ("blank", blank_inside(gap, context)),
        ("clock", any(is_reversed(one) for one in context.summaries())),
        ("late_watch", not before and b < attempt.stop and not watched_in_time(context)),
        ("lost_tail", before and b == attempt.stop),
        ("no_samples", not before and b == attempt.stop),
    )
    return next((name for name, supported in checks if supported), "unexplained")


def is_mig(context: Context) -> bool:
    """Rule 26: the UUID says so, or any inventory."""
    return context.gpu.startswith("MIG-") or any(
        device["uuid"] == context.gpu and device.get("mig") is True
        for one in context.records
        if one.kind == "device.inventory"
        for device in one.body["devices"]
    )


def engine_restarted(gap: Span, context: Context) -> bool:
    """Rule 26: an engine start in [a,b], which must not be the engine's first one at S."""
    for one in context.on_node("telemetry.engine_started"):
        if not gap[0] <= at_of(one) <= gap[1]:
            continue
        earlier = any(
            other.body["engine"] == one.body["engine"] and at_of(other) < at_of(one)
            for kind in ("telemetry.engine_started", "telemetry.watch")
            for other in context.on_node(kind)
        )
        if gap[0] > context.attempt.start or earlier:
            return True
    return False


def device_lost(gap: Span, context: Context) -> bool:
    """Rule 26: an inventory of the node in [a,b] without the UUID."""
    return any(
        gap[0] <= at_of(one) <= gap[1]
        and context.gpu not in [device["uuid"] for device in one.body["devices"]]
        for one in context.on_node("device.inventory")
    )


def collector_down(gap: Span, context: Context) -> bool:
    """Rule 26: a failed scrape that overlaps the gap, or of zero length inside it."""
    return any(
        overlaps((moment_us(one.body["from"]), moment_us(one.body["to"])), gap)
        for one in context.on_node("telemetry.scrape_failed")
    )


def not_kept(gap: Span, summary: Record) -> bool:
    """Rule 26, `retention`: [start, min(read-keep, end)) overlaps, where keep is stated."""
    keep = summary.body["keep_us"]
    if keep is None:
        return False
    start, end = moment_us(summary.body["start"]), moment_us(summary.body["end"])
    kept_from: int = at_of(summary) - keep
    return max(start, gap[0]) < min(kept_from, end, gap[1])


def blank_inside(gap: Span, context: Context) -> bool:
    """Rule 26: a blank or impossible point in [a,b), or an all-blank summary that overlaps."""
    if any(gap[0] <= at < gap[1] for at in context.points.bad):
        return True
    for one in context.summaries():
        start, end = moment_us(one.body["start"]), moment_us(one.body["end"])
        if all_blank(one) and max(start, gap[0]) < min(end, gap[1]):
            return True
    return False


def is_reversed(summary: Record) -> bool:
    """Rule 26, `clock`: the summary ends before it starts."""
    return moment_us(summary.body["end"]) < moment_us(summary.body["start"])


def watched_in_time(context: Context) -> bool:
    """Rule 26, `late_watch`: a covering watch with at <= S."""
    return any(at_of(one) <= context.attempt.start for one in context.watches())


# -- the lane ------------------------------------------------------------------------------


def cover(attempt: Attempt, records: tuple[Record, ...], factor: Fraction) -> list[GpuCoverage]:
    """Rules 24 and 28: every GPU of an attempt, by UUID, those without one last."""
    named = [cover_gpu(gpu, attempt, records, factor) for gpu in attempt.uuids]
    whole = [Gap(attempt.start, attempt.stop, "no_samples")] if attempt.length > 0 else []
    return named + [GpuCoverage(None, [], whole) for _ in range(attempt.unnamed)]


def cover_gpu(
    gpu: str, attempt: Attempt, records: tuple[Record, ...], factor: Fraction
) -> GpuCoverage:
    """Rules 21 to 27 for one GPU with a UUID."""
    points = points_of(gpu, records)
    context = Context(attempt, gpu, attempt.node_of[gpu], records, points)
    if any(attempt.start <= at < attempt.stop for at in points.impossible):
        attempt.codes.add("impossible_value")  # Rule 21.
    if attempt.length <= 0:
        return GpuCoverage(gpu, [], [])  # Rule 15.
    spans = []
    for (_, cadence_us), times in points.series.items():
        spans += observed_by_series(times, cadence_us, factor, attempt)
    for summary in context.summaries():
        spans += observed_by_summary(summary, context)
    observed = union([clip(span, attempt) for span in spans])
    gaps = [
        Gap(*part, reason_of(part, context))
        for hole in complement(observed, attempt)
        for part in cut(hole, points.valid())
    ]
    return GpuCoverage(gpu, observed, gaps)


def clip(span: Span, attempt: Attempt) -> Span:
    """Limit a span to [S,E); what is outside becomes empty or reversed."""
    return (max(span[0], attempt.start), min(span[1], attempt.stop))


def union(spans: list[Span]) -> list[Span]:
    """Merge what touches or overlaps, dropping what has no length."""
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def complement(observed: list[Span], attempt: Attempt) -> list[Span]:
    """What is left of [S,E)."""
    edges = [attempt.start, *(at for span in observed for at in span), attempt.stop]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def cut(span: Span, moments: set[int]) -> list[Span]:
    """Rule 24: what is left is cut at every valid sample time."""
    edges = [span[0], *sorted(at for at in moments if span[0] < at < span[1]), span[1]]
    return list(pairwise(edges))


def classes(coverage: GpuCoverage, attempt: Attempt) -> list[tuple[int, int, str]]:
    """Lane 2 of one GPU as a partition of [S,E)."""
    lane: list[tuple[int, int, Any]] = [(a, b, "observed") for a, b in coverage.observed]
    lane += [(gap.start, gap.end, f"unknown:{gap.reason}") for gap in coverage.gaps]
    lane.sort()
    if sum(b - a for a, b, _ in lane) != max(0, attempt.length):
        raise AssertionError(lane)
    return lane
