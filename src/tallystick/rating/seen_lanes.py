"""The lanes of an attempt as a contract sees them.

Classes that no rule asks for are one: where no rule looks at progress, progress cuts nothing.
Verdicts are the same as with every class (rule 52 cuts finer, and neighbours are joined in
the end), but a contract with few rules has few pieces to judge.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tallystick.contract.versions import ContractVersions
from tallystick.timeline.run import AttemptTimeline
from tallystick.timeline.spans import Lane, Span, join_equal

_UNSEEN = ""


@dataclass(frozen=True, slots=True)
class AskedFor:
    """The classes of each lane, and the times after a start, that some rule asks for."""

    telemetry: frozenset[str]
    progress: frozenset[str]
    allocation: frozenset[str]
    first_us: frozenset[int]


@dataclass(frozen=True, slots=True)
class SeenLanes:
    """The lanes; ``gaps`` are those of each GPU, by its place in the attempt.

    ``first_us`` are the times after the start at which some rule ends.
    """

    allocation: Lane
    progress: Lane
    gaps: tuple[Lane, ...]
    first_us: frozenset[int]


def asked_for(contracts: ContractVersions) -> AskedFor:
    """Collect what the rules of all versions ask for."""
    rules = [rule for each in contracts.versions for rule in each.rules]
    return AskedFor(
        telemetry=frozenset(word for rule in rules for word in rule.when.telemetry or ()),
        progress=frozenset(word for rule in rules for word in rule.when.progress or ()),
        allocation=frozenset(word for rule in rules for word in rule.when.allocation or ()),
        first_us=frozenset(rule.when.first_us for rule in rules if rule.when.first_us is not None),
    )


def seen_lanes(timeline: AttemptTimeline, asked: AskedFor) -> SeenLanes:
    """See an attempt's lanes through what is asked for."""
    known: dict[tuple[tuple[int, int, str], ...], Lane] = {}
    gaps = []
    for covered in timeline.coverage:
        if covered.gaps not in known:
            named = (Span(*gap[:2], f"unknown:{gap.reason}") for gap in covered.gaps)
            known[covered.gaps] = _seen_gaps(named, asked.telemetry)
        gaps.append(known[covered.gaps])
    return SeenLanes(
        allocation=_seen(timeline.allocation, asked.allocation),
        progress=_seen(timeline.progress, asked.progress),
        gaps=tuple(gaps),
        first_us=asked.first_us,
    )


def is_named(label: str, words: Iterable[str]) -> bool:
    """Tell whether a class is asked for, itself or by what stands before its colon."""
    return label in words or label.partition(":")[0] in words


def _seen(lane: Iterable[Span], words: frozenset[str]) -> Lane:
    return join_equal(
        (start_us, end_us, _seen_label(label, words)) for start_us, end_us, label in lane
    )


@lru_cache(maxsize=1024)
def _seen_label(label: str, words: frozenset[str]) -> str:
    return label if is_named(label, words) else _UNSEEN


def _seen_gaps(gaps: Iterable[Span], words: frozenset[str]) -> Lane:
    """See the gaps of a GPU; what no rule tells from observed time is no gap."""
    if "observed" in words:
        return _seen(gaps, words)
    return tuple(gap for gap in _seen(gaps, words) if gap.label != _UNSEEN)
