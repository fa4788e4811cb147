"""What happens where a program of others is missing."""

import pytest

from tests.strangers.strangers import REQUIRED, missing, program


def test_a_missing_program_skips_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without it, the rest of the tests still runs."""
    monkeypatch.delenv(REQUIRED, raising=False)

    with pytest.raises(pytest.skip.Exception) as skipped:
        program("no-such-program-of-others")

    assert str(skipped.value).startswith("no-such-program-of-others is not installed")


def test_a_missing_program_fails_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all programs are meant to be there, nothing is left out unseen."""
    monkeypatch.setenv(REQUIRED, "required")

    with pytest.raises(pytest.fail.Exception):
        missing("anything")
