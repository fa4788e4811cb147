"""Terms know how receipts write them."""

from fractions import Fraction
from typing import Any

from tallystick.contract.terms import Share


def test_a_contract_is_named_by_id_and_version(contracts: Any) -> None:
    """Receipts name a version as ``id@version``."""
    assert contracts.parse().name == "acme@1"


def test_a_share_is_text_and_number() -> None:
    """A share prints as ``n/d`` and multiplies as a fraction."""
    share = Share(1, 4)

    assert (share.text, share.fraction) == ("1/4", Fraction(1, 4))
