"""Errors carry facts, make their sentence from them, and cross a process boundary whole."""

import pickle

import pytest

from tallystick.core.errors import (
    BadInstantError,
    EmptyIntervalError,
    NotCanonicalError,
    TallystickError,
    UnknownCurrencyError,
)

ERRORS: list[tuple[TallystickError, str, str]] = [
    (
        EmptyIntervalError(5, 5),
        "interval_must_not_be_empty",
        "interval must end after its start, got [5, 5)",
    ),
    (
        BadInstantError("yesterday"),
        "bad_time",
        "expected a time like 2026-01-01T00:00:00.000000Z, got 'yesterday'",
    ),
    (
        NotCanonicalError("a float"),
        "not_canonical",
        "value has no canonical form: a float",
    ),
    (
        UnknownCurrencyError("QQQ"),
        "unknown_currency",
        "expected an ISO 4217 currency with a minor unit, got 'QQQ'",
    ),
]


@pytest.mark.parametrize(("error", "code", "sentence"), ERRORS)
def test_an_error_says_what_was_expected_and_found(
    error: TallystickError, code: str, sentence: str
) -> None:
    """The code is stable, and the sentence is one line in lower case."""
    assert (error.code, str(error)) == (code, sentence)


@pytest.mark.parametrize("error", [error for error, _, _ in ERRORS])
def test_an_error_survives_another_process(error: TallystickError) -> None:
    """Facts travel as arguments, so the sentence can be made again."""
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)

    assert type(again) is type(error)
    assert str(again) == str(error)


def test_a_long_text_is_cut_in_a_message() -> None:
    """A message stays a line, whatever was found."""
    sentence = str(BadInstantError("x" * 10_000 + "\n"))

    assert len(sentence) < 120
    assert "\n" not in sentence


def test_errors_of_ours_end_a_command_as_misuse() -> None:
    """Exit status 2, unless a class says otherwise."""
    assert TallystickError.exit_status == 2
