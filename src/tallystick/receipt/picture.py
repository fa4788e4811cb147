"""The timeline block of a page: for each attempt its lanes, and each gap with its reason."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tallystick.receipt.columns import PAGE_COLUMNS, fit, labelled
from tallystick.receipt.lanes import (
    ALLOCATION_MARKS,
    MARKS,
    OBSERVED_MARK,
    PROGRESS_MARKS,
    UNKNOWN_MARK,
    GpuGroup,
    allocation_row,
    coverage_row,
    gpu_groups,
    progress_row,
)
from tallystick.receipt.reader import Attempt, GpuCoverage, Lanes, Receipt
from tallystick.receipt.wording import UNKNOWN, hardware, plural, span

GAP_ROWS_MAX: Final = 12

_INDENT: Final = " " * 5
_LABEL_COLUMNS: Final = 13
_LEGEND: Final = (
    ("allocation", ALLOCATION_MARKS),
    ("GPUs", {"observed": OBSERVED_MARK, UNKNOWN: UNKNOWN_MARK}),
    ("progress", PROGRESS_MARKS),
)


def timeline_rows(receipt: Receipt) -> Iterator[str]:
    """Draw the attempts of a receipt one below the other."""
    coverage: defaultdict[str, list[GpuCoverage]] = defaultdict(list)
    for entry in receipt.coverage:
        coverage[entry.attempt].append(entry)
    lanes = {each.attempt: each for each in receipt.timeline}
    for number, attempt in enumerate(receipt.attempts, start=1):
        yield from [""] if number > 1 else []
        yield f"{number:>3}  {attempt.attempt}"
        yield f"{_INDENT}{hardware(attempt)}"
        yield from _attempt_rows(attempt, lanes.get(attempt.attempt), coverage[attempt.attempt])
    if receipt.attempts:
        yield ""
        yield from _legend_rows()


def _attempt_rows(
    attempt: Attempt, lanes: Lanes | None, coverage: Sequence[GpuCoverage]
) -> Iterator[str]:
    if lanes is None or not lanes.allocation or not lanes.progress:
        end_us = attempt.start if attempt.end is None else attempt.end
        yield f"{_INDENT}{span(attempt.start, end_us)}, no time to show"
        return
    start_us, end_us = lanes.allocation[0].start, lanes.allocation[-1].end
    so_far = " so far" if attempt.end is None else ""
    yield f"{_INDENT}{span(start_us, end_us)}{so_far}, {MARKS} marks"
    groups = gpu_groups(coverage)
    yield _lane_row("allocation", allocation_row(lanes))
    for group in groups:
        yield _lane_row(plural(len(group.gpus), "GPU"), coverage_row(group, lanes))
    yield _lane_row("progress", progress_row(lanes))
    yield from _gap_rows(groups, start_us)


def _lane_row(label: str, marks: str) -> str:
    return f"{_INDENT}{label:<{_LABEL_COLUMNS}} {marks}"


def _gap_rows(groups: Iterable[GpuGroup], day_of_us: int) -> Iterator[str]:
    gaps = sorted(
        ((gap, group.gpus) for group in groups for gap in group.gaps),
        key=lambda pair: (pair[0].start, pair[0].end),
    )
    for gap, gpus in gaps[:GAP_ROWS_MAX]:
        who = plural(len(gpus), "GPU") if len(gpus) > 1 else gpus[0] or "a GPU without UUID"
        row = f"{_INDENT}{UNKNOWN_MARK} {span(gap.start, gap.end, day_of_us)}  {gap.reason}  "
        yield row + fit(who, max(PAGE_COLUMNS - len(row), 0))
    if len(gaps) > GAP_ROWS_MAX:
        yield f"{_INDENT}{UNKNOWN_MARK} and {plural(len(gaps) - GAP_ROWS_MAX, 'more gap')}"


def _legend_rows() -> Iterator[str]:
    for label, marks in _LEGEND:
        words = [f"{mark} {name} " for name, mark in marks.items()]
        yield from labelled(label, words, indent=len(_INDENT), label_columns=_LABEL_COLUMNS)
