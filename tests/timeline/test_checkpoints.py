"""Which checkpoint is the last valid one (rule 40)."""

import pytest

from tests.evidence.records import Json, committed, ended, of, started, verified
from tests.timeline.timelines import draw

HOUR = (started(), ended())


def last_valid(*records: Json) -> tuple[str, int, str] | None:
    """Give the attempt, step and name of the last valid checkpoint."""
    commit = draw(*HOUR, *records).achievement.last_valid_checkpoint
    return None if commit is None else (commit.attempt, commit.step, commit.checkpoint)


def test_without_a_commit_there_is_none() -> None:
    """Nothing was saved."""
    assert last_valid() is None


def test_the_highest_step_counts_not_the_latest_commit() -> None:
    """A background writer may finish an older step later."""
    assert last_valid(committed("00:10", 20, "x"), committed("00:20", 10, "y")) == ("a", 20, "x")


def test_of_one_step_the_latest_commit_counts() -> None:
    """Two names for one step: the last that was written."""
    assert last_valid(committed("00:10", 20, "x"), committed("00:20", 20, "y")) == ("a", 20, "y")


@pytest.mark.parametrize(
    ("verifications", "valid"),
    [
        ([verified("00:20", ok=True)], True),
        ([verified("00:20", ok=False)], False),
        ([verified("00:10", ok=False)], False),
        ([verified("00:09", ok=False)], True),
        ([verified("00:20", ok=False), verified("00:30", ok=True)], True),
        ([verified("00:30", ok=False), verified("00:20", ok=True)], False),
        ([verified("00:20", ok=False), verified("00:20", ok=True)], False),
        ([verified("00:20", ok=False, name="other")], True),
        (of("b", verified("00:20", ok=False)), True),
        ([verified("09:00", ok=False)], False),
    ],
)
def test_the_latest_verification_says_whether_it_is_sound(
    verifications: list[Json],
    valid: bool,  # noqa: FBT001
) -> None:
    """Of this attempt and name, at or after the commit; at one moment false wins."""
    others = of("b", started("02:00"), ended("03:00"))

    assert last_valid(committed("00:10", 10), *verifications, *others) == (
        ("a", 10, "ckpt") if valid else None
    )


def test_a_verification_is_of_the_commit_before_it() -> None:
    """From the next commit of that name on it is about that one."""
    again = (committed("00:10", 10), committed("00:30", 10))

    assert last_valid(*again, verified("00:20", ok=False)) == ("a", 10, "ckpt")
    assert last_valid(*again, verified("00:30", ok=False)) == ("a", 10, "ckpt")


def test_another_step_under_the_same_name_replaces_a_checkpoint() -> None:
    """The files are no longer those of the first step, even if it was higher."""
    assert last_valid(committed("00:10", 20), committed("00:20", 10)) == ("a", 10, "ckpt")


def test_the_same_step_under_the_same_name_replaces_nothing() -> None:
    """It was written again."""
    records = (committed("00:10", 20), committed("00:20", 20), verified("00:25", ok=False))

    assert last_valid(*records) == ("a", 20, "ckpt")


def test_a_replaced_checkpoint_stays_replaced_if_the_new_one_is_bad() -> None:
    """Nothing brings the old files back."""
    records = (committed("00:10", 10), committed("00:20", 20), verified("00:30", ok=False))

    assert last_valid(*records) is None


def test_another_attempt_has_names_of_its_own() -> None:
    """The same name in another attempt is another checkpoint."""
    others = of("b", started("02:00"), committed("02:10", 10), ended("03:00"))

    assert last_valid(committed("00:10", 20), *others) == ("a", 20, "ckpt")


def test_a_late_commit_counts_as_a_fact() -> None:
    """A background writer finished after the end (rule 16)."""
    assert last_valid(committed("01:10", 20)) == ("a", 20, "ckpt")
