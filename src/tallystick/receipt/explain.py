"""Why a line says what it says: the clause, the intervals, the arithmetic, the evidence.

An explanation is computed from the receipt and from what is at hand beside it. For a held
line it also says what would settle it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from tallystick.core.money import fraction_text
from tallystick.receipt.background import Background, RecordNote
from tallystick.receipt.errors import UnknownLineError
from tallystick.receipt.figures import exact_price
from tallystick.receipt.reader import Attempt, Gap, Line, Piece, Receipt
from tallystick.receipt.wording import hardware, seconds_wording

MEANINGS: Final = {
    "charge": "charged in full",
    "exclude": "metered, and not charged",
    "hold": "charged or not only after a decision; until then it is only a bound",
    "credit": "charged in full, and a share of the price is given back",
    "share": "only a share of the price is charged",
}
_ADJUSTMENT = "an amount that the parties agreed on, apart from any time"
_GRANULARITY = (
    "the attempt's time as the contract rounds it, less its exact time; it follows the "
    "outcome of the attempt's other time"
)

_SETTLED_BY: Final = {
    "late_watch": "samples from before the watch began, of a source that already ran",
    "lost_tail": "samples up to the end of the attempt, or its job statistics",
    "engine_restart": "samples of a source that ran through the engine's restart",
    "retention": "samples of the time that the statistics no longer held when they were read",
    "collector_down": "samples of a source that was not scraped by that collector",
    "blank": "samples with values; those at hand are blank or impossible",
    "device_lost": "an inventory or samples that show the device in that time",
    "mig": "samples of the MIG instance itself",
    "clock": "job statistics whose end is not before their start",
    "no_samples": "any samples or job statistics of that GPU",
    "unexplained": "samples inside the gap, or what interrupted them",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """One line of a receipt and the chain that led to it."""

    line: Line
    attempt: Attempt | None
    decided_by: str
    says: str | None
    meaning: str
    steps: tuple[str, ...]
    """The arithmetic, one step each."""
    exact: Fraction | None
    evidence: tuple[tuple[str, RecordNote | None], ...]
    settled_by: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Give everything as JSON with stable keys."""
        line = self.line
        return {
            "line": line.line,
            "kind": line.kind,
            "attempt": line.attempt,
            "contract": line.contract,
            "rate_clause": line.rate_clause,
            "rule_clause": line.rule_clause,
            "says": self.says,
            "decided_by": self.decided_by,
            "disposition": line.disposition,
            "meaning": self.meaning,
            "exact": None if self.exact is None else fraction_text(self.exact),
            "arithmetic": list(self.steps),
            "evidence": [_evidence_json(digest, note) for digest, note in self.evidence],
            "settled_by": list(self.settled_by),
        }


def explain(receipt: Receipt, number: int, background: Background) -> Explanation:
    """Explain one line.

    Raises:
        UnknownLineError: the receipt has no line of that number.
    """
    if not 1 <= number <= len(receipt.lines):
        raise UnknownLineError(number, len(receipt.lines))
    line = receipt.lines[number - 1]
    attempts = {attempt.attempt: attempt for attempt in receipt.attempts}
    attempt = None if line.attempt is None else attempts[line.attempt]
    contract = background.contracts.get(line.contract or "")
    sentences = {} if contract is None else contract.sentences
    return Explanation(
        line=line,
        attempt=attempt,
        decided_by=_decided_by(line, background),
        says=sentences.get(line.rule_clause or ""),
        meaning=_meaning(line),
        steps=tuple(_steps(line, background)),
        exact=exact_price(line),
        evidence=tuple((digest, background.records.get(digest)) for digest in line.evidence),
        settled_by=tuple(_settled_by(receipt, line, attempt)),
    )


def _decided_by(line: Line, background: Background) -> str:
    """Say which clause decided, as far as what is at hand can tell."""
    if line.kind == "adjustment":
        return f"a decision.adjustment under clause {line.rule_clause}"
    if line.rule_clause is not None:
        contract = background.contracts.get(line.contract or "")
        if contract is None:
            return f"clause {line.rule_clause}"
        if line.rule_clause in contract.rule_clauses:
            return f"rule {line.rule_clause}, the first that matched these intervals"
        return f"a decision.resolution under clause {line.rule_clause}"
    if line.contract is None:
        return "no contract version was in force, and without one time is held"
    if line.rate_clause is None:
        return "no rule matched, and no rate fits the attempt: such time is held"
    return f"no rule matched, so rate {line.rate_clause} alone decides"


def _meaning(line: Line) -> str:
    if line.disposition is None:
        return _ADJUSTMENT
    meaning = MEANINGS[line.disposition]
    return f"{_GRANULARITY}: {meaning}" if line.kind == "granularity" else meaning


def _steps(line: Line, background: Background) -> Iterator[str]:
    """Write the arithmetic out: quantity, times rate, rounded."""
    price = exact_price(line)
    if line.quantity is None:
        return
    quantity = seconds_wording(line.quantity)
    if price is None:
        yield f"{quantity} s, and no rate to multiply it with: the amount is unknown"
        return
    product = f"{quantity} s x {line.per_hour} / 3600"
    contract = background.contracts.get(line.contract or "")
    rounding = "" if contract is None else f", {contract.rounding}"
    if line.disposition == "exclude":
        yield f"{product} = {_number(price)}, of which nothing is charged"
    elif line.disposition == "hold":
        bound = line.at_least if price < 0 else line.at_most
        yield f"{product} = {_number(price)}{_rounded(price, bound, rounding)}"
        yield f"until it is settled: at least {line.at_least}, at most {line.at_most}"
    elif line.disposition == "share":
        part = price * Fraction(line.share or "1")
        yield f"{product} x {line.share} = {_number(part)}{_rounded(part, line.amount, rounding)}"
    else:
        yield f"{product} = {_number(price)}{_rounded(price, line.amount, rounding)}"
    if line.credit is not None:
        back = price * Fraction(line.share or "1")
        yield (
            f"given back: {product} x {line.share} = {_number(back)}"
            f"{_rounded(back, line.credit, rounding)}"
        )


def _settled_by(receipt: Receipt, line: Line, attempt: Attempt | None) -> Iterator[str]:
    if line.disposition != "hold" or attempt is None:
        return
    if line.contract is None:
        yield "a contract version that was in force at that time"
        return
    if line.rate_clause is None:
        yield f"a contract version with a rate for {hardware(attempt)}"
    for reason in dict.fromkeys(gap.reason for gap in _gaps_of(receipt, line)):
        yield f"{reason}: {_SETTLED_BY.get(reason, 'samples of that GPU in that time')}"
    if line.rate_clause is None:
        yield "a decision.resolution of the parties for this attempt and time, to exclude it"
    else:
        yield "a decision.resolution of the parties for this attempt and time"


def _gaps_of(receipt: Receipt, line: Line) -> Iterator[Gap]:
    """Find the gaps in coverage that a line's intervals meet."""
    for entry in receipt.coverage:
        if entry.attempt == line.attempt:
            pieces = [piece for piece in line.pieces if _names(piece, entry.gpu)]
            yield from (gap for gap in entry.gaps if _meets(gap, pieces))


def _names(piece: Piece, gpu: str | None) -> bool:
    return piece.gpus is None or gpu in piece.gpus


def _meets(gap: Gap, pieces: Sequence[Piece]) -> bool:
    return any(piece.start < gap.end and gap.start < piece.end for piece in pieces)


def _number(value: Fraction) -> str:
    """Write a fraction, and as a decimal too if that is exact and short."""
    decimal = decimal_text(value)
    if decimal is None:
        return fraction_text(value)
    return decimal if value.denominator == 1 else f"{fraction_text(value)} = {decimal}"


def decimal_text(value: Fraction, places_max: int = 12) -> str | None:
    """Write a fraction as the decimal that it is, None if it has no short one."""
    for places in range(places_max + 1):
        scaled = value * 10**places
        if scaled.denominator == 1:
            digits = f"{abs(scaled.numerator):0{places + 1}}"
            whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
            sign = "-" if value < 0 else ""
            return f"{sign}{whole}.{part}" if places else f"{sign}{whole}"
    return None


def _rounded(exact: Fraction, stated: str | None, rounding: str) -> str:
    if stated is None or Fraction(stated) == exact:
        return ""
    return f", rounded to {stated}{rounding}"


def _evidence_json(digest: str, note: RecordNote | None) -> dict[str, Any]:
    if note is None:
        return {"digest": digest, "kind": None, "at": None, "producer": None}
    return {"digest": digest, "kind": note.kind, "at": note.at, "producer": note.producer}
