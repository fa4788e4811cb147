"""Errors of contracts say everything in one place, and cross a process boundary whole."""

import pickle

from tallystick.contract.errors import BadContractError, ContractIdMismatchError, Mistake


def test_a_single_mistake_is_one_line() -> None:
    """Place, key and message stand on the one line of the error."""
    error = BadContractError((Mistake(12, "rate[1].clause", "missing", "c.toml"),))

    assert str(error) == "c.toml:12: rate[1].clause: missing"


def test_several_mistakes_follow_a_count() -> None:
    """The first line counts the mistakes, and each has a line of its own."""
    error = BadContractError(
        (Mistake(None, "id", "missing", "a.toml"), Mistake(1, "", "no TOML", "b.toml"))
    )

    assert str(error).splitlines() == [
        "a.toml, b.toml: 2 mistakes",
        "a.toml: id: missing",
        "b.toml:1: no TOML",
    ]


def test_errors_survive_pickling() -> None:
    """A worker process can hand its error to its parent."""
    errors = [
        BadContractError((Mistake(1, "id", "missing"),)),
        ContractIdMismatchError("a@1", "a", "b@1", "b"),
    ]

    copies = pickle.loads(pickle.dumps(errors))  # noqa: S301 (our own bytes)

    assert [(type(each), str(each)) for each in copies] == [
        (type(each), str(each)) for each in errors
    ]
