"""An explanation as rows of text, at most 80 columns wide."""

from collections.abc import Iterator
from typing import Final

from tallystick.receipt.columns import PAGE_COLUMNS, fit, labelled, visible
from tallystick.receipt.explain import Explanation
from tallystick.receipt.reader import Line, Piece, Receipt
from tallystick.receipt.wording import UNKNOWN, duration, plural, seconds_wording, span

ROWS_MAX: Final = 20
"""How many intervals, and how many records, are listed; the JSON form lists all."""


def explanation_rows(receipt: Receipt, explanation: Explanation, *, ascii_only: bool) -> list[str]:
    """Write one explanation."""
    line = explanation.line
    rows = [_heading(receipt, line)]
    for label, text in _fields(receipt, explanation):
        rows += labelled(label, visible(text, ascii_only=ascii_only))
    rows += _interval_rows(explanation, ascii_only=ascii_only)
    rows += [visible(row, ascii_only=ascii_only) for row in _evidence_rows(explanation)]
    return [fit(row, PAGE_COLUMNS).rstrip() for row in rows]


def _heading(receipt: Receipt, line: Line) -> str:
    return f"LINE {line.line} of {len(receipt.lines)}: {_result(receipt, line)}"


def _result(receipt: Receipt, line: Line) -> str:
    currency = receipt.totals.currency
    if line.disposition is None:
        return f"adjusted by {currency} {line.amount}"
    if line.disposition == "hold":
        bound = UNKNOWN if line.at_most is None else f"{currency} {line.at_most}"
        return f"held, at most {bound}"
    if line.disposition == "exclude":
        return "excluded"
    back = "" if line.credit is None else f", {currency} {line.credit} given back"
    return f"charged, {currency} {line.amount}{back}"


def _fields(receipt: Receipt, explanation: Explanation) -> Iterator[tuple[str, str]]:
    line, attempt = explanation.line, explanation.attempt
    if attempt is not None:
        number = receipt.attempts.index(attempt) + 1
        yield "attempt", f"{number}, {attempt.attempt}"
        yield "contract", line.contract or "none in force"
    yield "decided by", explanation.decided_by
    if explanation.says is not None:
        yield "which says", f'"{explanation.says}"'
    yield "outcome", explanation.meaning
    if line.rate_clause is not None:
        unit = "node" if receipt.usage.unit == "node_seconds" else "GPU"
        yield (
            "rate",
            f"{line.rate_clause}: {receipt.totals.currency} {line.per_hour} an hour of one {unit}",
        )
    for label, step in zip(["arithmetic"] + [""] * 9, explanation.steps, strict=False):
        yield label, step
    for label, way in zip(["settled by"] + ["or by"] * 99, explanation.settled_by, strict=False):
        yield label, way


def _interval_rows(explanation: Explanation, *, ascii_only: bool) -> Iterator[str]:
    line, attempt = explanation.line, explanation.attempt
    if attempt is None or not line.pieces:
        return
    quantity = "" if line.quantity is None else f", {seconds_wording(line.quantity)} s in all"
    yield f"  {plural(len(line.pieces), 'interval')} (UTC){quantity}"
    for piece in line.pieces[:ROWS_MAX]:
        length = duration(piece.end - piece.start)
        row = f"    {span(piece.start, piece.end)}, {length}, "
        who = visible(_gpus(piece, attempt.gpus), ascii_only=ascii_only)
        yield row + fit(who, PAGE_COLUMNS - len(row))
    if len(line.pieces) > ROWS_MAX:
        yield f"    and {len(line.pieces) - ROWS_MAX} more"


def _gpus(piece: Piece, gpus_of_attempt: int) -> str:
    if piece.gpus is None:
        return f"all {plural(gpus_of_attempt, 'GPU')}"
    if len(piece.gpus) == 1:
        return piece.gpus[0] or "a GPU without UUID"
    return plural(len(piece.gpus), "GPU")


def _evidence_rows(explanation: Explanation) -> Iterator[str]:
    yield f"  {plural(len(explanation.evidence), 'record')} of evidence"
    for digest, note in explanation.evidence[:ROWS_MAX]:
        yield f"    {digest}"
        if note is not None:
            at = "" if note.at is None else f", {note.at}"
            yield f"      {note.kind}{at}, {note.producer}"
    if len(explanation.evidence) > ROWS_MAX:
        yield f"    and {len(explanation.evidence) - ROWS_MAX} more"
