"""The shared suite tells what differs, as test modules do."""

import pytest

pytest.register_assert_rewrite("tests.stores.conformance")
