"""The lanes of an attempt, drawn in text: one row each, 60 marks over its duration.

A mark stands for a stretch of time and shows one class; where several meet, the one that
must not be overlooked wins, and that is always the unknown. Every class has a mark of its
own in plain ASCII, and nothing but unknown is drawn with ``?``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tallystick.receipt.reader import Gap, GpuCoverage, Lanes, LaneSpan

MARKS: Final = 60
ROWS_MAX: Final = 8

ALLOCATION_MARKS: Final = {"held": "=", "notice": "!", "suspended": "-"}
OBSERVED_MARK: Final = "#"
UNKNOWN_MARK: Final = "?"
PROGRESS_MARKS: Final = {
    "advancing": ">",
    "starting": ".",
    "saving": "S",
    "waiting": "w",
    "replaying": "r",
    "discarded": "x",
    "mixed": "m",
    "unknown": UNKNOWN_MARK,
}
"""In both tables a later class hides an earlier one; an unlisted class is drawn as unknown."""


@dataclass(frozen=True, slots=True)
class GpuGroup:
    """GPUs of one attempt of which the same was seen."""

    gpus: tuple[str | None, ...]
    gaps: tuple[Gap, ...]


def allocation_row(lanes: Lanes) -> str:
    """Draw how the allocation was held."""
    return _draw(lanes.allocation, _bounds_us(lanes.allocation), ALLOCATION_MARKS)


def progress_row(lanes: Lanes) -> str:
    """Draw what the run did."""
    return _draw(lanes.progress, _bounds_us(lanes.progress), PROGRESS_MARKS)


def coverage_row(group: GpuGroup, lanes: Lanes) -> str:
    """Draw what was seen of some GPUs; the lane is as long as that of the allocation."""
    start_us, end_us = _bounds_us(lanes.allocation)
    seen = LaneSpan(lanes.allocation[0].start, lanes.allocation[-1].end, "observed")
    gaps = [LaneSpan(gap.start, gap.end, "unknown") for gap in group.gaps]
    marks = {"observed": OBSERVED_MARK, "unknown": UNKNOWN_MARK}
    return _draw([seen, *gaps], (start_us, end_us), marks)


def gpu_groups(coverage: Iterable[GpuCoverage]) -> tuple[GpuGroup, ...]:
    """Group an attempt's GPUs by their gaps; more than ``ROWS_MAX`` groups end in a common one.

    The common group has the gaps of all of its GPUs, so that it hides none.
    """
    members: dict[tuple[Gap, ...], list[str | None]] = {}
    for entry in coverage:
        members.setdefault(entry.gaps, []).append(entry.gpu)
    groups = [GpuGroup(tuple(gpus), gaps) for gaps, gpus in members.items()]
    if len(groups) <= ROWS_MAX:
        return tuple(groups)
    rest = groups[ROWS_MAX - 1 :]
    gaps = {gap: None for group in rest for gap in group.gaps}
    common = GpuGroup(
        tuple(gpu for group in rest for gpu in group.gpus),
        tuple(sorted(gaps, key=lambda gap: (gap.start, gap.end, gap.reason))),
    )
    return (*groups[: ROWS_MAX - 1], common)


def _bounds_us(spans: Sequence[LaneSpan]) -> tuple[int, int]:
    return spans[0].start, spans[-1].end


def _draw(spans: Iterable[LaneSpan], within: tuple[int, int], marks: Mapping[str, str]) -> str:
    start_us, end_us = within
    length_us = end_us - start_us
    order = list(marks)
    ranks = [-1] * MARKS
    for span in spans:
        name = span.name.partition(":")[0]
        rank = order.index(name) if name in marks else len(order)
        first = max(0, (span.start - start_us) * MARKS // length_us)
        last = min(MARKS, -((start_us - span.end) * MARKS // length_us))
        ranks[first:last] = [max(rank, other) for other in ranks[first:last]]
    drawn = [*marks.values(), UNKNOWN_MARK]
    return "".join(drawn[rank] for rank in ranks)
