"""What a line costs (section 6, rules 60 to 63).

An amount is an exact fraction until the one rounding that the contract names: of each line,
or of the receipt's totals. Unknown is None: a price that nobody named is not zero.
"""

from fractions import Fraction
from typing import NamedTuple

from tallystick.contract.terms import Contract
from tallystick.core.money import price, round_money
from tallystick.rating.lines import RatedLine

_NOTHING = Fraction(0)


class LineAmounts(NamedTuple):
    """The money columns of a line, exact or rounded as its contract says.

    ``exact`` is the exact amount, of a hold that of the held price. Of a hold ``amount`` is
    None and the bounds stand; ``at_most`` None is unbounded.
    """

    exact: Fraction | None
    amount: Fraction | None
    credit: Fraction | None = None
    at_least: Fraction | None = None
    at_most: Fraction | None = None


def line_amounts(line: RatedLine) -> LineAmounts:
    """Price one line."""
    verdict = line.verdict
    disposition, share = verdict.effect.disposition, verdict.effect.share
    if disposition == "exclude":
        return LineAmounts(_NOTHING, _NOTHING)
    if verdict.rate is None or verdict.contract is None:
        return LineAmounts(None, None, at_least=_NOTHING)
    exact = price(line.quantity_us, verdict.rate.per_hour)
    if disposition == "share" and share is not None:
        exact *= share.fraction
    amount = _rounded(exact, verdict.contract)
    if disposition == "hold":
        return LineAmounts(
            exact, None, at_least=min(_NOTHING, amount), at_most=max(_NOTHING, amount)
        )
    if disposition == "credit" and share is not None:
        credit = _rounded(exact * share.fraction, verdict.contract)
        return LineAmounts(exact, amount, credit=credit)
    return LineAmounts(exact, amount)


def _rounded(amount: Fraction, contract: Contract) -> Fraction:
    return amount if contract.rounding_per == "receipt" else round_money(amount, contract.rounding)
