"""Lines: pieces added up by attempt, version, rate, disposition and clause (section 6).

A line's quantity is GPU time, or node time where the contract bills nodes. Granularity and
minimum never change it: they make one line of their own (rules 54 and 55).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from tallystick.contract.terms import Contract
from tallystick.contract.versions import ContractVersions
from tallystick.core.money import to_quanta
from tallystick.rating.nodes import node_stretches, nodes_of
from tallystick.rating.pieces import AttemptPieces
from tallystick.rating.stretches import LinePiece, Stretch, line_pieces
from tallystick.rating.verdict import PRECEDENCE, Verdict
from tallystick.timeline.attempt import Attempt


class RatedLine(NamedTuple):
    """One line before money: what is charged for, under which terms.

    ``verdict`` is that of its pieces; of a granularity line that of the governing piece.
    """

    kind: str
    attempt: str
    verdict: Verdict
    quantity_us: int
    pieces: tuple[LinePiece, ...]
    members: frozenset[int]
    decisions: frozenset[str]


def usage_lines(
    attempt: Attempt, cut: AttemptPieces, contracts: ContractVersions
) -> list[RatedLine]:
    """Add up an attempt's pieces, in the order that lines stand in (rule 65)."""
    groups: dict[tuple[object, ...], list[Stretch]] = defaultdict(list)
    for stretch in _stretches(attempt, cut, contracts):
        groups[_sort_key(stretch.verdict)].append(stretch)
    return [_line(attempt, groups[key]) for key in sorted(groups)]


def _stretches(
    attempt: Attempt, cut: AttemptPieces, contracts: ContractVersions
) -> Iterable[Stretch]:
    if contracts.highest.unit == "node":
        return node_stretches(attempt, cut, contracts.highest)
    return [
        Stretch(start_us, end_us, verdict, cohort.members, len(cohort.members))
        for cohort in cut.cohorts
        for start_us, end_us, verdict in cohort.pieces
    ]


def _line(attempt: Attempt, stretches: Sequence[Stretch]) -> RatedLine:
    return RatedLine(
        kind="usage",
        attempt=attempt.key,
        verdict=stretches[0].verdict,
        quantity_us=sum((s.end_us - s.start_us) * s.units for s in stretches),
        pieces=line_pieces(attempt, stretches),
        members=frozenset(member for s in stretches for member in s.members),
        decisions=frozenset(s.verdict.decision for s in stretches if s.verdict.decision),
    )


def _sort_key(verdict: Verdict) -> tuple[object, ...]:
    """Order an attempt's lines and tell them apart: no version is last, no rule clause first."""
    contract, rate, effect = verdict.contract, verdict.rate, verdict.effect
    return (
        (contract is None, 0 if contract is None else contract.version),
        (rate is None, "" if rate is None else rate.clause),
        PRECEDENCE[effect.disposition],
        (verdict.clause is not None, verdict.clause or ""),
        Fraction(0) if effect.share is None else effect.share.fraction,
    )


def granularity_line(
    attempt: Attempt, cut: AttemptPieces, contracts: ContractVersions
) -> RatedLine | None:
    """Give what rounding each GPU's (or node's) time adds, None if nothing (rule 54)."""
    held = attempt.held
    governing = _governing_verdict(attempt, cut)
    if held is None or governing is None or governing.contract is None:
        return None
    units = len(attempt.gpus)
    if contracts.highest.unit == "node":
        units = sum(node.units for node in nodes_of(attempt, contracts.highest))
    added_us = _rounded_us(held.duration_us, governing.contract) - held.duration_us
    if not added_us * units:
        return None
    return RatedLine(
        kind="granularity",
        attempt=attempt.key,
        verdict=governing,
        quantity_us=added_us * units,
        pieces=(),
        members=frozenset(),
        decisions=frozenset() if governing.decision is None else frozenset({governing.decision}),
    )


def _rounded_us(duration_us: int, contract: Contract) -> int:
    quanta = to_quanta(Fraction(duration_us, contract.granularity_us), contract.quantity_rounding)
    return max(quanta * contract.granularity_us, contract.minimum_us)


def _governing_verdict(attempt: Attempt, cut: AttemptPieces) -> Verdict | None:
    """Find the piece whose terms govern the rounding (rule 55): the last of the first kind."""
    candidates = [
        (
            -PRECEDENCE[piece.verdict.effect.disposition],
            piece.end_us,
            _last_name(attempt, cohort.members),
            piece.verdict,
        )
        for cohort in cut.cohorts
        for piece in cohort.pieces
    ]
    if not candidates:
        return None
    return max(candidates, key=lambda candidate: candidate[:3])[3]


def _last_name(attempt: Attempt, members: Sequence[int]) -> tuple[bool, str]:
    return max((uuid is None, uuid or "") for uuid in (attempt.gpus[m].uuid for m in members))
