"""Words of messages."""

import pytest

from tallystick.contract.wording import Path, key_text, one_of, suggestion


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("id",), "id"),
        (("rate", 0, "per_hour"), "rate[1].per_hour"),
        (("a b", "\x1b[1m"), "'a b'.'\\x1b[1m'"),
    ],
)
def test_paths_count_from_one_and_quote_odd_keys(path: Path, text: str) -> None:
    """A path reads like TOML and holds nothing that a terminal would obey."""
    assert key_text(path) == text


def test_alternatives_are_listed_in_words() -> None:
    """The last of several stands after an or."""
    assert [one_of(["a"]), one_of(["a", "b", "c"])] == ["a", "a, b or c"]


def test_a_misspelt_word_suggests_the_nearest_known_one() -> None:
    """Only a word that is near enough is suggested."""
    known = ("ended_by", "first_s")

    assert [suggestion("endedby", known), suggestion("colour", known)] == [
        ", did you mean 'ended_by'?",
        "",
    ]
