"""Whether the figures of a receipt follow from each other.

Everything here can be checked by whoever holds nothing but the receipt: that time is
conserved, that each amount is its quantity times its rate, that the lines add up to the
totals. How an amount was rounded is the contract's matter; that it is less than one unit of
its last place from the exact one is not.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NoReturn

from tallystick.core.instant import HOUR_US, format_instant
from tallystick.core.quantity import seconds_text
from tallystick.receipt.errors import MalformedPredicateError, WrongFigureError
from tallystick.receipt.reader import Attempt, LaneSpan, Line, MoneyRange, Receipt

BILLED = ("charge", "credit", "share")

_USAGE_OF = {
    "charge": "net_billed",
    "share": "net_billed",
    "credit": "credited",
    "hold": "held",
    "exclude": "excluded",
}
_MONEY_FIELDS = (
    *("attempt", "quantity", "per_hour", "amount", "share", "credit"),
    *("at_least", "at_most", "amount_exact"),
)
_FIELDS = {
    "charge": (("attempt", "quantity", "per_hour", "amount"), ("amount_exact",)),
    "share": (("attempt", "quantity", "per_hour", "amount", "share"), ("amount_exact",)),
    "credit": (
        ("attempt", "quantity", "per_hour", "amount", "share", "credit"),
        ("amount_exact",),
    ),
    "hold": (("attempt", "quantity", "at_least"), ("per_hour", "at_most", "amount_exact")),
    "exclude": (("attempt", "quantity"), ("per_hour", "amount", "amount_exact")),
    None: (("amount",), ()),
}
"""By outcome (None is an adjustment): the fields that a line needs, and those it may have."""


def check_figures(receipt: Receipt) -> None:
    """Check a receipt against itself.

    Raises:
        MalformedPredicateError: a line lacks a field that its kind needs.
        WrongFigureError: a figure differs from what the others give.
    """
    attempts = {attempt.attempt: attempt for attempt in receipt.attempts}
    _check_attempt_names(receipt, attempts)
    _check_coverage(receipt, attempts)
    _check_lanes(receipt, attempts)
    _check_progress_seconds(receipt)
    for index, line in enumerate(receipt.lines):
        path = f"lines[{index}]"
        if line.line != index + 1:
            _wrong(f"{path}.line", index + 1, line.line)
        _check_fields(path, line)
        _check_price(path, line)
        if line.attempt is not None and receipt.usage.unit == "gpu_seconds":
            _check_pieces(path, line, attempts[line.attempt])
    _check_usage(receipt)
    _check_totals(receipt)


def seconds_us(text: str) -> int:
    """Read decimal seconds with six places as microseconds."""
    return int(text.replace(".", ""))


def exact_price(line: Line) -> Fraction | None:
    """Multiply a line's quantity by its rate, before any share: None without a rate."""
    if line.quantity is None or line.per_hour is None:
        return None
    return Fraction(line.per_hour) * seconds_us(line.quantity) / HOUR_US


def money_unit(text: str) -> Fraction:
    """Give one unit of an amount's last place."""
    return Fraction(1, 10 ** len(text.partition(".")[2]))


def _check_attempt_names(receipt: Receipt, attempts: dict[str, Attempt]) -> None:
    lists: tuple[tuple[str, Iterable[str | None]], ...] = (
        ("coverage", (entry.attempt for entry in receipt.coverage)),
        ("timeline", (lanes.attempt for lanes in receipt.timeline)),
        ("lines", (line.attempt for line in receipt.lines)),
        ("progress.interruptions", (each.attempt for each in receipt.progress.interruptions)),
    )
    if len(attempts) != len(receipt.attempts):
        _wrong("attempts", "each attempt once", len(receipt.attempts))
    for name, keys in lists:
        for index, key in enumerate(keys):
            if key is not None and key not in attempts:
                _wrong(f"{name}[{index}].attempt", "one of attempts", key)


def _check_coverage(receipt: Receipt, attempts: dict[str, Attempt]) -> None:
    for index, entry in enumerate(receipt.coverage):
        attempt = attempts[entry.attempt]
        if attempt.end is None:
            continue  # The moment up to which an open attempt is rated is not a field of its own.
        gaps_us = sum(gap.end - gap.start for gap in entry.gaps)
        expected_us = max(0, attempt.end - attempt.start) - gaps_us
        _same_seconds(f"coverage[{index}].observed_seconds", expected_us, entry.observed_seconds)


def _check_lanes(receipt: Receipt, attempts: dict[str, Attempt]) -> None:
    for index, lanes in enumerate(receipt.timeline):
        attempt = attempts[lanes.attempt]
        _check_lane(f"timeline[{index}].allocation", lanes.allocation, attempt)
        _check_lane(f"timeline[{index}].progress", lanes.progress, attempt)


def _check_lane(path: str, spans: Sequence[LaneSpan], attempt: Attempt) -> None:
    """Check that a lane leaves no moment of its attempt out and holds none twice."""
    cursor_us: int = attempt.start
    for index, span in enumerate(spans):
        if span.start != cursor_us:
            _wrong(f"{path}[{index}].start", format_instant(cursor_us), format_instant(span.start))
        if span.end <= span.start:
            _wrong(f"{path}[{index}].end", "a later time", format_instant(span.end))
        cursor_us = span.end
    if attempt.end is not None and cursor_us != max(attempt.start, attempt.end):
        _wrong(path, f"an end at {format_instant(attempt.end)}", format_instant(cursor_us))


def _check_progress_seconds(receipt: Receipt) -> None:
    """Check that the progress classes, and the metered usage, are the time of all GPUs."""
    stated = receipt.progress.gpu_seconds
    found_us = sum(seconds_us(getattr(stated, name)) for name in stated.__struct_fields__)
    expected_us = 0
    for attempt in receipt.attempts:
        if attempt.end is None:
            expected_us = found_us  # Up to when an open attempt is rated is no field of its own.
            break
        expected_us += max(0, attempt.end - attempt.start) * attempt.gpus
    if found_us != expected_us:
        _wrong("progress.gpu_seconds", seconds_text(expected_us), seconds_text(found_us))
    if receipt.usage.unit == "gpu_seconds":
        _same_seconds("usage.metered", found_us, receipt.usage.metered)


def _check_pieces(path: str, line: Line, attempt: Attempt) -> None:
    """Check a quantity against its intervals, where each GPU in them has a name."""
    if attempt.gpus != len(attempt.gpu_uuids) or line.kind != "usage" or line.quantity is None:
        return
    held_us = sum(
        (piece.end - piece.start) * (attempt.gpus if piece.gpus is None else len(piece.gpus))
        for piece in line.pieces
    )
    _same_seconds(f"{path}.quantity", held_us, line.quantity)


def _check_fields(path: str, line: Line) -> None:
    """Check that a line has the fields that its outcome needs, and no other amounts."""
    needed, allowed = _FIELDS[line.disposition]
    if (line.kind == "adjustment") != (line.disposition is None):
        raise MalformedPredicateError(f"outcome of a {line.kind} line - at `$.{path}.disposition`")
    for name in _MONEY_FIELDS:
        stated = getattr(line, name) is not None
        if name in needed and not stated:
            raise MalformedPredicateError(f"a {_outcome(line)} line needs `{name}` - at `$.{path}`")
        if stated and name not in needed and name not in allowed:
            raise MalformedPredicateError(f"a {_outcome(line)} line has `{name}` - at `$.{path}`")


def _outcome(line: Line) -> str:
    return line.disposition or line.kind


def _check_price(path: str, line: Line) -> None:
    """Check the amounts of one line against quantity times rate."""
    price = exact_price(line)
    share = Fraction(line.share) if line.share is not None else Fraction(1)
    if line.disposition == "hold":
        _check_hold(path, line, price)
    elif line.disposition == "exclude":
        price = Fraction(0)
        _near(f"{path}.amount", price, line.amount)
    elif price is not None:
        _near(f"{path}.credit", price * share, line.credit)
        price *= share if line.disposition == "share" else 1
        _near(f"{path}.amount", price, line.amount)
    if line.amount_exact is not None and (price is None or Fraction(line.amount_exact) != price):
        _wrong(f"{path}.amount_exact", price, line.amount_exact)


def _check_hold(path: str, line: Line, price: Fraction | None) -> None:
    if (price is None) != (line.at_most is None):
        _wrong(f"{path}.at_most", "null without a rate, an amount with one", line.at_most)
    _near(f"{path}.at_least", min(Fraction(0), price or Fraction(0)), line.at_least)
    _near(f"{path}.at_most", max(Fraction(0), price or Fraction(0)), line.at_most)


def _check_usage(receipt: Receipt) -> None:
    sums_us = dict.fromkeys(_USAGE_OF.values(), 0)
    for line in receipt.lines:
        if line.kind == "usage" and line.disposition is not None and line.quantity is not None:
            sums_us[_USAGE_OF[line.disposition]] += seconds_us(line.quantity)
    for name, sum_us in sums_us.items():
        _same_seconds(f"usage.{name}", sum_us, getattr(receipt.usage, name))
    _same_seconds("usage.metered", sum(sums_us.values()), receipt.usage.metered)


def _check_totals(receipt: Receipt) -> None:
    totals, lines = receipt.totals, receipt.lines
    _near("totals.charged", sum(_charged(lines), Fraction(0)), totals.charged)
    _near("totals.credits", sum(_credited(lines), Fraction(0)), totals.credits)
    adjusted = [line for line in lines if line.kind == "adjustment"]
    _near("totals.adjustments", sum(map(_amount, adjusted), Fraction(0)), totals.adjustments)
    held = [line for line in lines if line.disposition == "hold"]
    unpriced = any(line.at_most is None for line in held)
    if unpriced != (totals.held_at_most is None):
        _wrong("totals.held_at_most", "null" if unpriced else "an amount", totals.held_at_most)
    if not unpriced:
        held_at_most = sum((_held(line) for line in held), Fraction(0))
        _near("totals.held_at_most", held_at_most, totals.held_at_most)
    _check_net(receipt)


def _check_net(receipt: Receipt) -> None:
    """Check the net, which is arithmetic on the totals as they are printed."""
    totals = receipt.totals
    settled = Fraction(totals.charged) - Fraction(totals.credits) + Fraction(totals.adjustments)
    net = totals.net if isinstance(totals.net, MoneyRange) else MoneyRange(totals.net, totals.net)
    if net.at_least is None or Fraction(net.at_least) != settled:
        _wrong("totals.net", f"at least {settled}", net.at_least)
    at_most = None if totals.held_at_most is None else settled + Fraction(totals.held_at_most)
    if at_most != (None if net.at_most is None else Fraction(net.at_most)):
        _wrong("totals.net", f"at most {at_most}", net.at_most)


def _charged(lines: Iterable[Line]) -> Iterator[Fraction]:
    return (_amount(line) for line in lines if line.disposition in BILLED)


def _credited(lines: Iterable[Line]) -> Iterator[Fraction]:
    for line in lines:
        if line.credit is not None and line.amount_exact is not None and line.share is not None:
            yield Fraction(line.amount_exact) * Fraction(line.share)
        elif line.credit is not None:
            yield Fraction(line.credit)


def _amount(line: Line) -> Fraction:
    stated = line.amount if line.amount_exact is None else line.amount_exact
    assert stated is not None, "the fields of a line are checked before its sums"
    return Fraction(stated)


def _held(line: Line) -> Fraction:
    stated = line.at_most if line.amount_exact is None else line.amount_exact
    assert stated is not None, "an unknown price is treated before"
    return max(Fraction(0), Fraction(stated))


def _near(path: str, exact: Fraction, stated: str | None) -> None:
    """Check an amount that was rounded in a way that the receipt does not state."""
    if stated is not None and abs(Fraction(stated) - exact) >= money_unit(stated):
        _wrong(path, exact, stated)


def _same_seconds(path: str, expected_us: int, stated: str) -> None:
    if seconds_us(stated) != expected_us:
        _wrong(path, seconds_text(expected_us), stated)


def _wrong(path: str, expected: object, found: object) -> NoReturn:
    raise WrongFigureError(path, str(expected), str(found))
