"""The second lane: what of an attempt was observed, per GPU (section 3, rules 20 to 29).

Coverage is the union of what each series and each summary observes. What is left is gap, cut
at every valid sample, and every gap has one reason: the first that the evidence supports.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from tallystick.core.interval import IntervalSet, complement, cut, total_us, union
from tallystick.evidence.bodies import JobStats
from tallystick.evidence.record import Record
from tallystick.timeline.attempt import Attempt, Gpu
from tallystick.timeline.gap_reason import GapEvidence, gap_reason
from tallystick.timeline.sampled import Sampled, sampled, told_by_segments
from tallystick.timeline.summaries import Summary, observed_by, summaries_of
from tallystick.timeline.telemetry import NO_SAMPLES, NOTHING_SEEN, Telemetry


class Gap(NamedTuple):
    """A stretch of which nothing is known, and why."""

    start_us: int
    end_us: int
    reason: str


class GpuCoverage(NamedTuple):
    """What was observed of one GPU of one attempt.

    ``digests`` name the records that decided it; ``has_impossible`` says that a sample had a
    value that it cannot have.
    """

    gpu: Gpu
    observed_us: int
    gaps: tuple[Gap, ...]
    digests: tuple[str, ...]
    has_impossible: bool


def cover(attempt: Attempt, telemetry: Telemetry, gap_factor: Fraction) -> tuple[GpuCoverage, ...]:
    """Work out the coverage of every GPU of an attempt, in the order of its GPUs.

    GPUs that nothing tells apart, as when only summaries of equal content are about them,
    are covered once.
    """
    statistics = _statistics(attempt)
    alike: dict[tuple[object, ...], GpuCoverage] = {}
    covered = []
    for gpu in attempt.gpus:
        if gpu.uuid is None or attempt.held is None:
            covered.append(_uncovered(gpu, attempt))
            continue
        records = statistics.get(gpu.uuid, ())
        summaries = summaries_of(records)
        likeness = _likeness(gpu.uuid, gpu.node, telemetry, summaries)
        if likeness not in alike:
            told = told_by_segments(telemetry, gpu.uuid, attempt.held, gap_factor)
            inline = telemetry.samples.get(gpu.uuid, NO_SAMPLES)
            samples = sampled(inline, told, attempt.held, gap_factor)
            evidence = GapEvidence(
                held=attempt.held,
                uuid=gpu.uuid,
                node=telemetry.nodes.get(gpu.node or "", NOTHING_SEEN),
                is_mig=telemetry.is_mig(gpu.uuid),
                summaries=summaries,
                blank_us=samples.blank_us,
            )
            alike[likeness] = _covered(gpu, evidence, samples)
        covered.append(_named(gpu, alike[likeness], records))
    return tuple(covered)


def _statistics(attempt: Attempt) -> dict[str, list[Record]]:
    """Sort the job statistics of an attempt by the GPU that they are about."""
    statistics: dict[str, list[Record]] = {}
    for record in attempt.records.of("telemetry.job_stats"):
        if isinstance(record.body, JobStats):
            statistics.setdefault(record.body.gpu, []).append(record)
    return statistics


def _likeness(
    uuid: str, node: str | None, telemetry: Telemetry, summaries: tuple[Summary, ...]
) -> tuple[object, ...]:
    """Give all that the coverage of a GPU depends on."""
    is_sampled = uuid in telemetry.samples or uuid in telemetry.catalogue.of_gpu
    mentions = telemetry.nodes.get(node or "", NOTHING_SEEN).mentions.get(uuid)
    return uuid if is_sampled else None, node, mentions, telemetry.is_mig(uuid), summaries


def _named(gpu: Gpu, covered: GpuCoverage, records: Sequence[Record]) -> GpuCoverage:
    """Give a GPU its own name and evidence."""
    digests = (*covered.digests, *[record.digest for record in records])
    return GpuCoverage(gpu, covered.observed_us, covered.gaps, digests, covered.has_impossible)


def _uncovered(gpu: Gpu, attempt: Attempt) -> GpuCoverage:
    """Cover a GPU known by number only, whose no sample can be (rule 28), or an empty attempt."""
    gaps = () if attempt.held is None else (Gap(*attempt.held, "no_samples"),)
    return GpuCoverage(gpu, 0, gaps, (), has_impossible=False)


def _covered(gpu: Gpu, evidence: GapEvidence, samples: Sampled) -> GpuCoverage:
    held = evidence.held
    observed = [
        part
        for summary in evidence.summaries
        if (part := observed_by(summary, evidence.uuid, evidence.node, held)) is not None
    ]
    gaps, digests = _gaps(evidence, union([*observed, *samples.observed]), samples.sampled_us)
    digests.update(samples.digests)
    return GpuCoverage(
        gpu=gpu,
        observed_us=held.duration_us - total_us(gap[:2] for gap in gaps),
        gaps=gaps,
        digests=tuple(sorted(digests)),
        has_impossible=samples.has_impossible,
    )


def _gaps(
    evidence: GapEvidence, observed: IntervalSet, sampled_us: Sequence[int]
) -> tuple[tuple[Gap, ...], set[str]]:
    """Cut what is not observed at every valid sample, and find the reason of each part.

    Args:
        evidence: What bears on the gaps.
        observed: What was observed.
        sampled_us: Every valid sample time at which a gap can begin or end, in order.
    """
    gaps: list[Gap] = []
    digests: set[str] = set()
    for hole in complement(evidence.held, observed):
        first = bisect_left(sampled_us, hole.start_us)
        inside = sampled_us[first : bisect_right(sampled_us, hole.end_us)]
        for part in cut(hole, inside):
            was_seen = part.start_us > evidence.held.start_us or part.start_us in inside
            reason, digest = gap_reason(evidence, part, was_seen=was_seen)
            gaps.append(Gap(*part, reason))
            if digest is not None:
                digests.add(digest)
    return tuple(gaps), digests
