"""The sentences of errors: one line each, naming the thing, whole after a process boundary."""

import pickle

import pytest

from tallystick.app import errors as e
from tallystick.core.errors import TallystickError

ERRORS: list[tuple[TallystickError, str]] = [
    (e.UnreadableFileError("f", "no such file"), "cannot read f: no such file"),
    (e.UnwritableFileError("f", "disk full"), "cannot write f: disk full"),
    (e.RunNotFoundError("r", ()), "no run 'r' in the evidence, which has no run at all"),
    (e.BadSettingsError("s.toml", "x"), "cannot use the settings s.toml: x"),
    (e.ContractNotFoundError(None, ()), "no contract in the store: publish one with"),
    (e.ContractNotFoundError("c", ("a",)), "no contract 'c' in the store, which has 'a'"),
    (e.ContractChoiceError(("a", "b")), "expected --contract-id, since the store has 'a', 'b'"),
    (e.ContractPublishedError("a@1", "sha256:00"), "a@1 is published with other bytes"),
    (e.ReceiptNotIssuedError("r", None, 0), "no receipt of run 'r': issue one with"),
    (e.ReceiptNotIssuedError("r", 3, 2), "no revision 3 of the receipt of run 'r', which has 2"),
    (e.BundleDiffersError("r", "$.lines"), "the receipt of run 'r' does not follow from"),
    (e.NoKeysInFolderError("d"), "expected public keys (*.vkey) in d, found none"),
    (e.SegmentUnusableError("sha256:00", "missing"), "segment sha256:00 is missing: it is not"),
    (e.WitnessStateMissingError("s"), "no head at s: say --first if"),
    (e.UnknownHeadSizeError(9, 3), "expected a size from 0 to 3, got 9"),
]


@pytest.mark.parametrize(("error", "begins"), ERRORS, ids=lambda each: type(each).__name__)
def test_an_error_is_one_line_that_names_the_thing(error: TallystickError, begins: str) -> None:
    """It crosses a process boundary whole."""
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (what was just written)

    assert str(again).startswith(begins)
    assert len(str(again).splitlines()) == 1


def test_a_long_list_is_cut() -> None:
    """Twenty names are enough."""
    names = tuple(f"c{number}" for number in range(23))

    assert str(e.ContractChoiceError(names)).endswith("'c19' and 3 more")
