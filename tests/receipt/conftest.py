"""What the tests of receipts share."""

from typing import Any

import pytest

from tests.receipt.samples import make_predicate


@pytest.fixture
def predicate() -> dict[str, Any]:
    """Give the small receipt, free to be changed."""
    return make_predicate()
