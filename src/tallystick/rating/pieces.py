"""Elementary pieces of an attempt, each with its verdict (rules 52, 57 and 58).

GPUs that were observed alike and that resolutions treat alike form a *cohort*: its pieces are
cut and judged once, however many GPUs it has.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tallystick.contract.terms import Contract, Effect, Share
from tallystick.contract.versions import ContractVersions
from tallystick.core.interval import Interval
from tallystick.evidence.bodies import Resolution
from tallystick.rating.seen_lanes import SeenLanes
from tallystick.rating.verdict import (
    NO_CONTRACT,
    AttemptTerms,
    PieceState,
    Verdict,
    attempt_terms,
)
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.spans import Lane


class Piece(NamedTuple):
    """An interval with one verdict."""

    start_us: int
    end_us: int
    verdict: Verdict


class Decision(NamedTuple):
    """A resolution of the parties, with the digest of its record."""

    digest: str
    body: Resolution


@dataclass(frozen=True, slots=True)
class Cohort:
    """GPUs of an attempt, by their place in it, that share every piece."""

    members: tuple[int, ...]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class AttemptPieces:
    """The cohorts of an attempt, and which resolutions changed something."""

    cohorts: tuple[Cohort, ...]
    used: frozenset[str]
    lacks_contract: bool
    lacks_rate: bool


def cut_attempt(
    attempt: Attempt,
    lanes: SeenLanes,
    contracts: ContractVersions,
    decisions: Sequence[Decision],
) -> AttemptPieces:
    """Cut an attempt into pieces and judge each.

    Args:
        attempt: The attempt.
        lanes: Its lanes, as the contract sees them.
        contracts: The versions of the contract.
        decisions: Resolutions that name the attempt, in canonical order.
    """
    held = attempt.held
    if held is None:
        return AttemptPieces((), frozenset(), lacks_contract=False, lacks_rate=False)
    common_us = _common_boundaries(lanes, contracts, decisions, held)
    judge = _Judge(attempt, contracts)
    cohorts, used = [], set()
    for (gaps, treated), members in _cohort_members(attempt, lanes, decisions).items():
        pieces = judge.pieces(lanes, gaps, held, common_us)
        for decision, is_named in zip(decisions, treated, strict=True):
            if is_named:
                pieces, is_used = _resolve(pieces, decision)
                used |= {decision.digest} if is_used else set()
        cohorts.append(Cohort(tuple(members), _joined(pieces)))
    return AttemptPieces(tuple(cohorts), frozenset(used), judge.lacks_contract, judge.lacks_rate)


def _cohort_members(
    attempt: Attempt, lanes: SeenLanes, decisions: Sequence[Decision]
) -> dict[tuple[Lane, tuple[bool, ...]], list[int]]:
    members: dict[tuple[Lane, tuple[bool, ...]], list[int]] = defaultdict(list)
    for index, (gpu, gaps) in enumerate(zip(attempt.gpus, lanes.gaps, strict=True)):
        treated = tuple(each.body.gpus is None or gpu.uuid in each.body.gpus for each in decisions)
        members[gaps, treated].append(index)
    return members


def _common_boundaries(
    lanes: SeenLanes, contracts: ContractVersions, decisions: Sequence[Decision], held: Interval
) -> list[int]:
    """Give every moment that cuts all GPUs of the attempt, start and end included."""
    bounds = set(held)
    bounds.update(span.start_us for span in lanes.allocation)
    bounds.update(span.start_us for span in lanes.progress)
    bounds.update(contracts.boundaries_us)
    bounds.update(held.start_us + first_us for first_us in lanes.first_us)
    for decision in decisions:
        bounds.update((decision.body.from_us, decision.body.to_us))
    return [at_us for at_us in bounds if held.start_us <= at_us <= held.end_us]


class _Judge:
    """Judges pieces of one attempt; equal states are judged once."""

    def __init__(self, attempt: Attempt, contracts: ContractVersions) -> None:
        self._attempt = attempt
        self._contracts = contracts
        self._terms: dict[int, AttemptTerms] = {}
        self._in_force: dict[int, AttemptTerms | None] = {}
        self._verdicts: dict[tuple[int | str, ...], Verdict] = {}
        self.lacks_contract = False
        self.lacks_rate = False

    def pieces(
        self, lanes: SeenLanes, gaps: Lane, held: Interval, common_us: list[int]
    ) -> list[Piece]:
        bounds = sorted({*common_us, *(edge for gap in gaps for edge in gap[:2])})
        pieces = []
        labels = zip(
            _labels_of_gaps(gaps, bounds),
            _labels(lanes.progress, bounds),
            _labels(lanes.allocation, bounds),
            bounds,
            bounds[1:],
            strict=False,
        )
        for telemetry, progress, allocation, start_us, end_us in labels:
            since_us = start_us - held.start_us if lanes.first_us else 0
            state = PieceState(telemetry, progress, allocation, since_us)
            pieces.append(Piece(start_us, end_us, self._verdict(start_us, state)))
        return pieces

    def _verdict(self, start_us: int, state: PieceState) -> Verdict:
        if start_us not in self._in_force:
            contract = self._contracts.in_force(start_us)
            self._in_force[start_us] = None if contract is None else self._terms_of(contract)
        terms = self._in_force[start_us]
        if terms is None:
            self.lacks_contract = True
            return NO_CONTRACT
        place = (terms.contract.version, *state)
        if place not in self._verdicts:
            verdict = terms.verdict(state)
            self.lacks_rate |= verdict.rate is None and verdict.effect.disposition == "hold"
            self._verdicts[place] = verdict
        return self._verdicts[place]

    def _terms_of(self, contract: Contract) -> AttemptTerms:
        if contract.version not in self._terms:
            self._terms[contract.version] = attempt_terms(contract, self._attempt)
        return self._terms[contract.version]


def _labels(lane: Lane, bounds: Sequence[int]) -> list[str]:
    """Give the class of a lane, which covers everything, for each piece between bounds."""
    starts = [span.start_us for span in lane]
    return [lane[bisect_right(starts, at_us) - 1].label for at_us in bounds[:-1]]


def _labels_of_gaps(gaps: Lane, bounds: Sequence[int]) -> list[str]:
    labels = ["observed"] * (len(bounds) - 1)
    places = {at_us: index for index, at_us in enumerate(bounds)}
    for gap in gaps:
        for index in range(places[gap.start_us], places[gap.end_us]):
            labels[index] = gap.label
    return labels


def _resolve(pieces: Iterable[Piece], decision: Decision) -> tuple[list[Piece], bool]:
    """Turn held pieces into what the parties decided (rule 57); say whether any was."""
    effect = resolved_effect(decision.body.disposition)
    resolved, is_used = [], False
    for piece in pieces:
        verdict = piece.verdict
        is_within = decision.body.from_us <= piece.start_us and piece.end_us <= decision.body.to_us
        is_held = verdict.effect.disposition == "hold"
        # Time without a price can be let go, but not charged at a price that nobody named.
        is_allowed = effect.disposition == "exclude" or not verdict.is_unpriced
        if is_within and is_held and is_allowed:
            verdict = verdict._replace(
                effect=effect, clause=decision.body.clause, decision=decision.digest
            )
            is_used = True
        resolved.append(piece._replace(verdict=verdict))
    return resolved, is_used


def _joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Join neighbours with the same verdict: what cut them made no difference."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].verdict is piece.verdict:
            joined[-1] = Piece(joined[-1].start_us, piece.end_us, piece.verdict)
        else:
            joined.append(piece)
    return tuple(joined)


def resolved_effect(disposition: str) -> Effect:
    """Read the disposition of a resolution, which its record's check has let pass."""
    word, _, share = disposition.partition(":")
    if word == "charge":
        return Effect("charge")
    if word == "exclude":
        return Effect("exclude")
    fraction = Fraction(share)
    return Effect(
        "credit" if word == "credit" else "share",
        Share(fraction.numerator, fraction.denominator),
    )
