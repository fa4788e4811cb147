"""What the contract says about one elementary piece of time (rules 47 to 50).

A verdict is found by walking the rules in order; the first that matches decides. Conditions
that look at the whole attempt are settled once, so that only lanes are left for each piece.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from tallystick.contract.terms import Contract, Effect, Rate, Rule
from tallystick.rating.seen_lanes import is_named
from tallystick.timeline.attempt import Attempt

Lookout = Literal["telemetry", "progress", "allocation", "notice"]

PRECEDENCE: Final[Mapping[str, int]] = {
    "charge": 0,
    "credit": 1,
    "share": 2,
    "hold": 3,
    "exclude": 4,
}
"""Order of dispositions where one must go first (sections 6 and 7)."""

_CHARGE: Final = Effect("charge")
_HOLD: Final = Effect("hold")


class Verdict(NamedTuple):
    """How a piece is disposed of, at what rate, under which clause, and why.

    ``looked_at`` names the kinds of evidence that the rules up to the deciding one looked at;
    ``decision`` is the digest of a resolution that took the place of a hold.
    """

    contract: Contract | None
    rate: Rate | None
    effect: Effect
    clause: str | None
    looked_at: frozenset[Lookout]
    decision: str | None = None

    @property
    def is_unpriced(self) -> bool:
        """Tell whether it is held for want of a contract or a rate."""
        return self.rate is None


class PieceState(NamedTuple):
    """What the lanes say of a piece, and how long after the start it begins."""

    telemetry: str
    progress: str
    allocation: str
    since_start_us: int


@dataclass(frozen=True, slots=True)
class AttemptTerms:
    """One contract version as it applies to one attempt."""

    contract: Contract
    rate: Rate | None
    rules: tuple[tuple[Rule, frozenset[Lookout]], ...]
    looked_at: frozenset[Lookout]

    def verdict(self, state: PieceState) -> Verdict:
        """Decide one piece by the first rule that matches; without one it is charged."""
        for rule, looked_at in self.rules:
            if _matches_piece(rule, state):
                return self._priced(rule.effect, rule.clause, looked_at)
        return self._priced(_CHARGE, None, self.looked_at)

    def _priced(self, effect: Effect, clause: str | None, looked_at: frozenset[Lookout]) -> Verdict:
        if self.rate is None and effect.disposition != "exclude":
            effect = _HOLD
        return Verdict(self.contract, self.rate, effect, clause, looked_at)


NO_CONTRACT: Final = Verdict(None, None, _HOLD, None, frozenset())


def attempt_terms(contract: Contract, attempt: Attempt) -> AttemptTerms:
    """Settle all that a contract version looks at in an attempt as a whole."""
    looked_at: set[Lookout] = set()
    rules = []
    for rule in contract.rules:
        _look(rule, looked_at)
        if _matches_attempt(rule, attempt):
            rules.append((rule, frozenset(looked_at)))
    rate = next((rate for rate in contract.rates if _fits(rate, attempt)), None)
    return AttemptTerms(contract, rate, tuple(rules), frozenset(looked_at))


def _fits(rate: Rate, attempt: Attempt) -> bool:
    return (
        (rate.gpu_type is None or rate.gpu_type == attempt.gpu_type)
        and (rate.capacity is None or rate.capacity == attempt.capacity)
        and (rate.zone is None or rate.zone == attempt.zone)
        and (rate.tier is None or rate.tier == attempt.tier)
    )


def _look(rule: Rule, looked_at: set[Lookout]) -> None:
    """Note what kinds of evidence a rule looks at."""
    when = rule.when
    if when.telemetry is not None:
        looked_at.add("telemetry")
    if when.progress is not None:
        looked_at.add("progress")
    if when.allocation is not None:
        looked_at.add("allocation")
    if when.notice_shorter_than_us is not None:
        looked_at.add("notice")


def _matches_attempt(rule: Rule, attempt: Attempt) -> bool:
    """Tell whether a rule's conditions on the whole attempt hold (rules 14 and 49)."""
    when = rule.when
    if not (
        (when.ended_by is None or attempt.ended_by in when.ended_by)
        and (when.gpu_type is None or attempt.gpu_type in when.gpu_type)
        and (when.capacity is None or attempt.capacity in when.capacity)
        and (when.zone is None or attempt.zone in when.zone)
        and (when.tier is None or attempt.tier in when.tier)
    ):
        return False
    end_us = attempt.end_us
    if when.attempt_shorter_than_us is not None and (
        end_us is None or end_us - attempt.start_us >= when.attempt_shorter_than_us
    ):
        return False
    if when.notice_shorter_than_us is None:
        return True
    is_taken_back = attempt.ended_by in {"provider", "scheduler"}
    return is_taken_back and (attempt.notice_us or 0) < when.notice_shorter_than_us


def _matches_piece(rule: Rule, state: PieceState) -> bool:
    when = rule.when
    if when.first_us is not None and state.since_start_us >= when.first_us:
        return False
    if when.allocation is not None and state.allocation not in when.allocation:
        return False
    if when.progress is not None and not is_named(state.progress, when.progress):
        return False
    return when.telemetry is None or is_named(state.telemetry, when.telemetry)
