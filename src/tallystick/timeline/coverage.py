"""The second lane: what of an attempt was observed, per GPU (section 3, rules 20 to 29).

Coverage is the union of what each series and each summary observes. What is left is gap, cut
at every valid sample, and every gap has one reason: the first that the evidence supports.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from tallystick.core.interval import Interval, IntervalSet, complement, cut, total_us, union
from tallystick.timeline.attempt import Attempt, Gpu
from tallystick.timeline.episodes import Episode, episodes_of, observed_of, reach_of
from tallystick.timeline.gap_reason import GapEvidence, gap_reason
from tallystick.timeline.summaries import Summary, summaries_of
from tallystick.timeline.telemetry import NO_SAMPLES, GpuSamples, NodeSeen, Telemetry


class Gap(NamedTuple):
    """A stretch of which nothing is known, and why."""

    start_us: int
    end_us: int
    reason: str


@dataclass(frozen=True, slots=True)
class GpuCoverage:
    """What was observed of one GPU of one attempt.

    ``digests`` name the records that decided it; ``has_impossible`` and ``has_reversed`` say
    that values were impossible, or a summary ended before it started.
    """

    gpu: Gpu
    observed_us: int
    gaps: tuple[Gap, ...]
    digests: tuple[str, ...]
    has_impossible: bool
    has_reversed: bool


def cover(attempt: Attempt, telemetry: Telemetry, gap_factor: Fraction) -> tuple[GpuCoverage, ...]:
    """Work out the coverage of every GPU of an attempt, in the order of its GPUs."""
    summaries = summaries_of(attempt, telemetry)
    covered = []
    for gpu in attempt.gpus:
        if gpu.uuid is None or attempt.held is None:
            covered.append(_uncovered(gpu, attempt, summaries.get(gpu.uuid or "", ())))
            continue
        evidence = _gap_evidence(gpu.uuid, gpu.node, attempt.held, telemetry)
        evidence = replace(evidence, summaries=tuple(summaries.get(gpu.uuid, ())))
        samples = telemetry.samples.get(gpu.uuid, NO_SAMPLES)
        covered.append(_covered(gpu, evidence, samples, gap_factor))
    return tuple(covered)


def _uncovered(gpu: Gpu, attempt: Attempt, summaries: Sequence[Summary]) -> GpuCoverage:
    """Cover a GPU known by number only, whose no sample can be (rule 28), or an empty attempt."""
    gaps = () if attempt.held is None else (Gap(*attempt.held, "no_samples"),)
    has_reversed = any(summary.is_reversed for summary in summaries)
    return GpuCoverage(gpu, 0, gaps, (), has_impossible=False, has_reversed=has_reversed)


def _gap_evidence(uuid: str, node: str | None, held: Interval, telemetry: Telemetry) -> GapEvidence:
    return GapEvidence(
        held=held,
        uuid=uuid,
        node=telemetry.nodes.get(node or "", NodeSeen()),
        is_mig=uuid.startswith("MIG-") or uuid in telemetry.mig_uuids,
        summaries=(),
        blank_us=telemetry.samples.get(uuid, NO_SAMPLES).blank_us,
        sampled_us=frozenset(),
    )


def _covered(
    gpu: Gpu, evidence: GapEvidence, samples: GpuSamples, gap_factor: Fraction
) -> GpuCoverage:
    held = evidence.held
    observed = [part for summary in evidence.summaries for part in summary.observed]
    episodes: list[Episode] = []
    for series in samples.series:
        reach_us = max(0, reach_of(series.cadence_us, gap_factor))
        found = episodes_of(series.times_us, *held, reach_us)
        observed += observed_of(found, *held, reach_us)
        episodes += found
    sampled_us = frozenset(at_us for episode in episodes for at_us in episode)
    gaps, digests = _gaps(replace(evidence, sampled_us=sampled_us), union(observed))
    digests |= {*samples.digests, *(summary.digest for summary in evidence.summaries)}
    return GpuCoverage(
        gpu=gpu,
        observed_us=held.duration_us - total_us(gap[:2] for gap in gaps),
        gaps=gaps,
        digests=tuple(sorted(digests)),
        has_impossible=any(held.start_us <= at < held.end_us for at in samples.impossible_us),
        has_reversed=any(summary.is_reversed for summary in evidence.summaries),
    )


def _gaps(evidence: GapEvidence, observed: IntervalSet) -> tuple[tuple[Gap, ...], set[str]]:
    """Cut what is not observed at every valid sample, and find the reason of each part."""
    gaps: list[Gap] = []
    digests: set[str] = set()
    for hole in complement(evidence.held, observed):
        for part in cut(hole, evidence.sampled_us):
            reason, digest = gap_reason(evidence, part)
            gaps.append(Gap(*part, reason))
            if digest is not None:
                digests.add(digest)
    return tuple(gaps), digests
