"""Tokens: drawn once, kept as a keyed hash, bounded by producer and time, ended for good."""

import json
import re
import stat
import threading
from pathlib import Path

import pytest

from tallystick.app.errors import UnwritableFileError
from tallystick.app.token_errors import (
    BadTokenError,
    TokenNotFoundError,
    TokenRejectedError,
    TokensUnusableError,
)
from tallystick.app.tokens import (
    KEY_FILE,
    TOKENS_FILE,
    Token,
    TokenBook,
    list_tokens,
    new_token,
    revoke_token,
)

NOW_US = 1_767_225_600_000_000


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Give a folder for keys."""
    return tmp_path


def scoped(*producers: str) -> Token:
    """Make a token for some producers, without a file."""
    return Token(id="0" * 12, name="n", hmac="0" * 64, producers=producers, made="")


# -- making --------------------------------------------------------------------------------


def test_a_token_opens_what_it_was_made_for(keys: Path) -> None:
    """The text leads to what is known of it."""
    token, text = new_token(keys, "n1", ["slurm-hook/n1"], NOW_US)

    assert TokenBook(keys).check(text, NOW_US) == token
    assert token.producers == ("slurm-hook/n1",)


def test_a_token_has_a_secret_of_32_bytes(keys: Path) -> None:
    """Two tokens share nothing of it."""
    texts = [new_token(keys, "n", None, NOW_US)[1] for _ in range(2)]

    matches = [re.fullmatch(r"tally_([0-9a-f]{12})_([0-9a-f]{64})", text) for text in texts]
    assert len({match[2] for match in matches if match}) == 2


def test_the_secret_is_kept_nowhere(keys: Path) -> None:
    """Neither it nor its plain hash is in any file."""
    _, text = new_token(keys, "n1", None, NOW_US)

    kept = b"".join(path.read_bytes() for path in keys.iterdir())
    assert text.split("_")[2].encode() not in kept


def test_only_the_owner_reads_the_files(keys: Path) -> None:
    """Both have mode 0600."""
    new_token(keys, "n1", None, NOW_US)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in keys.iterdir()}
    assert modes == {TOKENS_FILE: 0o600, KEY_FILE: 0o600}


def test_tokens_are_listed_as_they_were_made(keys: Path) -> None:
    """A name may have several, so that one can take the place of another."""
    made = [new_token(keys, "n1", None, NOW_US + number)[0] for number in range(3)]

    assert list_tokens(keys) == tuple(made)


def test_no_token_is_lost_when_many_are_made_at_once(keys: Path) -> None:
    """Who changes the list has it alone."""
    threads = [
        threading.Thread(target=new_token, args=(keys, f"n{number}", None, NOW_US))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {token.name for token in list_tokens(keys)} == {f"n{number}" for number in range(8)}


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb", "ä" * 33])
def test_a_name_is_short_and_printable(keys: Path, name: str) -> None:
    """It is shown in lists."""
    with pytest.raises(BadTokenError, match="expected a name"):
        new_token(keys, name, None, NOW_US)


@pytest.mark.parametrize("producers", [[], [""], ["*"], ["a\0"], ["x" * 201]])
def test_producers_are_said(keys: Path, producers: list[str]) -> None:
    """A token for everything is asked for by None alone."""
    with pytest.raises(BadTokenError, match="expected"):
        new_token(keys, "n", producers, NOW_US)


def test_a_token_that_is_over_is_not_made(keys: Path) -> None:
    """It would be a mistake."""
    with pytest.raises(BadTokenError, match="2026-01-01"):
        new_token(keys, "n", None, NOW_US, NOW_US)

    assert list(keys.iterdir()) == []


def test_a_folder_that_is_not_there_takes_no_token(keys: Path) -> None:
    """It is told as of any file."""
    with pytest.raises(UnwritableFileError):
        new_token(keys / "none", "n", None, NOW_US)


# -- scope ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "producer", "allowed"),
    [
        ("slurm-hook/n1", "slurm-hook/n1", True),
        ("slurm-hook/n1", "slurm-hook/n1/prolog", True),
        ("slurm-hook/n1", "slurm-hook/n10", False),
        ("slurm-hook/n1", "slurm-hook/n1@x", False),
        ("slurm-hook/n1", "slurm-hook/n", False),
        ("slurm-hook/n1", "x/slurm-hook/n1", False),
        ("slurm-hook/n1", "slurm-hook/n1\n", False),
        ("slurm-hook", "slurm-hook/n1", True),
        ("slurm-hook/", "slurm-hook/n1", True),
        ("slurm-hook/", "slurm-hook", False),
        ("slurm-task/*@n1", "slurm-task/1000@n1", True),
        ("slurm-task/*@n1", "slurm-task/1000@n2", False),
        ("slurm-task/*@n1", "slurm-task/@n1", False),
        ("slurm-task/*@n1", "slurm-task/1/2@n1", False),
        ("slurm-task/*@n1", "slurm-task/1000@n1/x", True),
        ("n.1", "nx1", False),
    ],
)
def test_a_scope_is_whole_parts_of_a_name(scope: str, producer: str, allowed: bool) -> None:  # noqa: FBT001 (a column of a table)
    """A producer and those below it; a star is some part between slashes and at signs."""
    assert scoped("other", scope).allows(producer) is allowed


def test_without_a_scope_everything_is_allowed(keys: Path) -> None:
    """A token for all producers is made on purpose."""
    token, _ = new_token(keys, "n", None, NOW_US)

    assert token.allows("whatever")


# -- ending --------------------------------------------------------------------------------


def test_a_token_expires(keys: Path) -> None:
    """From the moment that was said on."""
    _, text = new_token(keys, "n", None, NOW_US, NOW_US + 1)
    book = TokenBook(keys)
    book.check(text, NOW_US)

    with pytest.raises(TokenRejectedError, match="has expired"):
        book.check(text, NOW_US + 1)


def test_a_revoked_token_is_seen_by_who_has_read_the_list(keys: Path) -> None:
    """The list is read again when it has changed."""
    token, text = new_token(keys, "n", None, NOW_US)
    book = TokenBook(keys)
    book.check(text, NOW_US)

    revoke_token(keys, token.id, NOW_US)

    with pytest.raises(TokenRejectedError, match="was revoked"):
        book.check(text, NOW_US)


def test_a_token_that_is_made_later_is_seen_too(keys: Path) -> None:
    """Also if there was no list at first."""
    book = TokenBook(keys)
    with pytest.raises(TokenRejectedError):
        book.check("tally_x", NOW_US)

    token, text = new_token(keys, "n", None, NOW_US)

    assert book.check(text, NOW_US) == token


def test_a_token_is_revoked_once(keys: Path) -> None:
    """The first time stays."""
    token, _ = new_token(keys, "n", None, NOW_US)
    first = revoke_token(keys, token.id, NOW_US)

    again = revoke_token(keys, token.id, NOW_US + 1)

    assert again == first
    assert list_tokens(keys) == (first,)


def test_an_unknown_token_is_not_revoked(keys: Path) -> None:
    """Nothing is written."""
    with pytest.raises(TokenNotFoundError):
        revoke_token(keys, "0" * 12, NOW_US)


# -- checking ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "tally_", "tally_000000000000_" + "0" * 64, "ä", "\udcff", "x" * 10_000]
)
def test_what_is_no_token_is_rejected(keys: Path, text: str) -> None:
    """Whatever it is made of."""
    new_token(keys, "n", None, NOW_US)

    with pytest.raises(TokenRejectedError, match="is not known here"):
        TokenBook(keys).check(text, NOW_US)


def test_the_secret_of_another_token_is_rejected(keys: Path) -> None:
    """Name and secret belong together."""
    one, other = (new_token(keys, "n", None, NOW_US)[1].split("_") for _ in range(2))

    with pytest.raises(TokenRejectedError):
        TokenBook(keys).check("_".join([*one[:2], other[2]]), NOW_US)


def test_a_list_under_another_secret_opens_nothing(keys: Path) -> None:
    """A hash that was made elsewhere is worth nothing here."""
    _, text = new_token(keys, "n", None, NOW_US)
    (keys / KEY_FILE).write_text("00" * 32, encoding="ascii")

    with pytest.raises(TokenRejectedError):
        TokenBook(keys).check(text, NOW_US)


def test_a_list_that_went_away_opens_nothing(keys: Path) -> None:
    """Who took the file away took the tokens away."""
    _, text = new_token(keys, "n", None, NOW_US)
    book = TokenBook(keys)
    book.check(text, NOW_US)

    (keys / TOKENS_FILE).unlink()

    with pytest.raises(TokenRejectedError):
        book.check(text, NOW_US)


# -- damage --------------------------------------------------------------------------------

GOOD = {
    "id": "0" * 12,
    "name": "n",
    "hmac": "0" * 64,
    "producers": None,
    "made": "2026-01-01T00:00:00.000000Z",
}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        json.dumps({"schema": "other", "tokens": []}).encode(),
        json.dumps({"schema": "tallystick.tokens/1", "tokens": [GOOD | {"id": "x"}]}).encode(),
        json.dumps({"schema": "tallystick.tokens/1", "tokens": [GOOD | {"new": 1}]}).encode(),
        json.dumps({"schema": "tallystick.tokens/1", "tokens": [GOOD | {"made": ""}]}).encode(),
    ],
)
def test_a_list_that_is_something_else_is_not_used(keys: Path, content: bytes) -> None:
    """It is neither read in part nor written over."""
    (keys / TOKENS_FILE).write_bytes(content)

    with pytest.raises(TokensUnusableError):
        list_tokens(keys)
    with pytest.raises(TokensUnusableError):
        new_token(keys, "n", None, NOW_US)
    with pytest.raises(TokensUnusableError):
        TokenBook(keys).check("x", NOW_US)
    assert (keys / TOKENS_FILE).read_bytes() == content


def test_a_list_that_is_a_folder_is_not_used(keys: Path) -> None:
    """It cannot be read."""
    (keys / TOKENS_FILE).mkdir()

    with pytest.raises(TokensUnusableError):
        list_tokens(keys)


@pytest.mark.parametrize("content", ["", "00" * 31, "xy" * 32])
def test_a_secret_that_is_none_is_not_used(keys: Path, content: str) -> None:
    """Nobody is let in by a short one."""
    _, text = new_token(keys, "n", None, NOW_US)
    (keys / KEY_FILE).write_text(content, encoding="ascii")

    with pytest.raises(TokensUnusableError):
        TokenBook(keys).check(text, NOW_US)


def test_a_lost_secret_is_not_made_anew(keys: Path) -> None:
    """All tokens that there are would be worth nothing, and nobody would know why."""
    _, text = new_token(keys, "n", None, NOW_US)
    (keys / KEY_FILE).unlink()

    with pytest.raises(TokensUnusableError, match="is gone"):
        new_token(keys, "n", None, NOW_US)
    with pytest.raises(TokensUnusableError):
        TokenBook(keys).check(text, NOW_US)


def test_a_list_that_may_not_be_looked_at_lets_nobody_in(tmp_path: Path) -> None:
    """A name that cannot be looked up is not an empty list."""
    keys = tmp_path / "file"
    keys.write_bytes(b"")

    with pytest.raises(TokensUnusableError):
        TokenBook(keys).check("x", NOW_US)
