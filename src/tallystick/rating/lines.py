"""Lines: pieces added up by attempt, version, rate, disposition and clause (section 6).

A line's quantity is GPU time, or node time where the contract bills nodes. Granularity and
minimum never change it: they make one line of their own (rules 54 and 55).
"""

from collections import defaultdict
from collections.abc import Sequence
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

_NO_SHARE = Fraction(0)


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


def attempt_lines(
    attempt: Attempt, cut: AttemptPieces, contracts: ContractVersions
) -> list[RatedLine]:
    """Add up an attempt's pieces, in the order that lines stand in (rule 65)."""
    stretches = _stretches(attempt, cut, contracts)
    groups: dict[tuple[object, ...], list[Stretch]] = defaultdict(list)
    for stretch in stretches:
        groups[_terms(stretch.verdict)].append(stretch)
    lines = [_line(attempt, group) for group in groups.values()]
    lines.sort(key=lambda line: _sort_key(line.verdict))
    granularity = _granularity_line(attempt, stretches, contracts)
    return lines if granularity is None else [*lines, granularity]


def _stretches(attempt: Attempt, cut: AttemptPieces, contracts: ContractVersions) -> list[Stretch]:
    if cut.cohorts and contracts.highest.unit == "node":
        return list(node_stretches(attempt, cut, contracts.highest))
    return [
        Stretch(start_us, end_us, verdict, cohort.members, len(cohort.members), cohort.members[-1])
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
        members=frozenset().union(*[s.members for s in stretches]),
        decisions=frozenset(s.verdict.decision for s in stretches if s.verdict.decision),
    )


def _terms(verdict: Verdict) -> tuple[object, ...]:
    """Tell verdicts apart that stand on different lines."""
    contract, rate, effect = verdict.contract, verdict.rate, verdict.effect
    return (
        None if contract is None else contract.version,
        None if rate is None else rate.clause,
        effect.disposition,
        None if effect.share is None else effect.share.text,
        verdict.clause,
    )


def _sort_key(verdict: Verdict) -> tuple[object, ...]:
    """Order an attempt's lines: no version stands last, no rule clause first (rule 65)."""
    contract, rate, effect = verdict.contract, verdict.rate, verdict.effect
    return (
        (contract is None, 0 if contract is None else contract.version),
        (rate is None, "" if rate is None else rate.clause),
        PRECEDENCE[effect.disposition],
        (verdict.clause is not None, verdict.clause or ""),
        _NO_SHARE if effect.share is None else effect.share.fraction,
    )


def _granularity_line(
    attempt: Attempt, stretches: Sequence[Stretch], contracts: ContractVersions
) -> RatedLine | None:
    """Give what rounding each GPU's (or node's) time adds, None if nothing (rule 54)."""
    held = attempt.held
    if held is None or not stretches:
        return None
    governing = max(stretches, key=_governing_key).verdict
    if governing.contract is None:
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


def _governing_key(stretch: Stretch) -> tuple[int, int, int]:
    """Order stretches so that the one whose terms govern the rounding is last (rule 55)."""
    precedence = PRECEDENCE[stretch.verdict.effect.disposition]
    return -precedence, stretch.end_us, stretch.speaker


def _rounded_us(duration_us: int, contract: Contract) -> int:
    quanta = to_quanta(Fraction(duration_us, contract.granularity_us), contract.quantity_rounding)
    return max(quanta * contract.granularity_us, contract.minimum_us)
