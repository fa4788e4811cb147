"""Why a store cannot be used: each reason in one sentence, whole across processes."""

import pickle

import pytest

from tallystick.core.errors import TallystickError
from tallystick.stores import errors

ERRORS: list[tuple[TallystickError, str]] = [
    (
        errors.StoreNotFoundError("/s"),
        (
            "no store at /s: make one with `tallystick init`, or name another with --store or"
            " TALLYSTICK_STORE"
        ),
    ),
    (errors.StoreExistsError("/s", "it is full"), "cannot make a store at /s: it is full"),
    (
        errors.StoreBusyError("/s", 60),
        (
            "store /s is busy: another process has been writing for 60 s; nothing was stored, try"
            " again"
        ),
    ),
    (
        errors.NewerStoreError("/s", 1, 2),
        "store /s has format 2, and this program knows up to 1: use a later version of it",
    ),
    (
        errors.NetworkStoreError("/s\n", "nfs"),
        "expected a store on a local disk, got '/s\\n' on nfs",
    ),
    (
        errors.OldSqliteError("3.51.3", "3.40.1"),
        "expected SQLite 3.51.3 or later, got 3.40.1: reinstall apsw from its wheel",
    ),
    (errors.StoreUnusableError("/s", "no permission"), "cannot use store /s: no permission"),
    (
        errors.StoreWriteError("/s", "disk full"),
        "cannot write to store /s: disk full; nothing of it was stored",
    ),
    (errors.StoreDamagedError("/s", "leaf 7"), "store /s is damaged: leaf 7"),
    (
        errors.DocumentConflictError("head", "a\n"),
        "there is another head named 'a\\n' already, and nothing is ever replaced",
    ),
    (
        errors.DuplicateLeafError(),
        "a record of that producer and id is in the log already, and none is ever replaced",
    ),
    (errors.NoSuchLeafError(5, 3), "no leaf 5: the log has 3, counted from 0"),
    (
        errors.StoreBehindHeadError(3, 5),
        (
            "the log has 3 records, and a head of 5 was issued: signing now would fork it; bring"
            " back the records that are missing"
        ),
    ),
    (
        errors.StoreForkedError(5),
        (
            "the first 5 records are not those of the head that was issued of them: this log is"
            " another one, or was changed"
        ),
    ),
    (
        errors.HeadMissingError("/s.head"),
        (
            "no last issued head at /s.head, though heads were issued: bring the file back, from a"
            " witness if need be"
        ),
    ),
]


@pytest.mark.parametrize(("error", "sentence"), ERRORS, ids=lambda each: type(each).__name__)
def test_an_error_is_one_sentence(error: TallystickError, sentence: str) -> None:
    """It names the thing, what was expected and what was found."""
    assert str(error) == sentence


@pytest.mark.parametrize("error", [error for error, _ in ERRORS], ids=lambda each: each.code)
def test_an_error_crosses_a_process_boundary_whole(error: TallystickError) -> None:
    """With its facts, its code and its sentence."""
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (what was just written)

    assert (type(again), again.args, str(again)) == (type(error), error.args, str(error))


def test_every_error_of_a_store_is_here() -> None:
    """Each class, and each code once."""
    classes = {
        each
        for each in vars(errors).values()
        if isinstance(each, type) and each.__module__ == errors.__name__
    }

    assert {type(error) for error, _ in ERRORS} == classes
    assert len({error.code for error, _ in ERRORS}) == len(ERRORS)
