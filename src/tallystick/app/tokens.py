"""Tokens: who may send which producers' records to a server of a store.

A token is ``tally_ID_SECRET``, drawn at random and shown once. What is kept, in the store's
keys folder, is its HMAC-SHA256 under ``tokens.secret``, so that a stolen ``tokens.json`` opens
nothing and a guess cannot be tried without the secret. The list only grows: what is revoked
stays in it with the time of that.
"""

import fcntl
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from tallystick.app.errors import UnreadableFileError, UnwritableFileError
from tallystick.app.files import create_file, read_file, write_file
from tallystick.app.token_errors import (
    BadTokenError,
    TokenNotFoundError,
    TokenRejectedError,
    TokensUnusableError,
)
from tallystick.core.errors import BadInstantError
from tallystick.core.instant import format_instant, parse_instant

SCHEMA: Final = "tallystick.tokens/1"
TOKENS_FILE: Final = "tokens.json"
KEY_FILE: Final = "tokens.secret"
SECRET_BYTES: Final = 32
_ID_BYTES = 6
_NAME_BYTES_MAX = 64
_PRODUCER_BYTES_MAX = 200
_TOKEN = re.compile(r"tally_([0-9a-f]{12})_[0-9a-f]{64}")


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a token; ``producers`` is None for one that may speak for all."""

    id: Annotated[str, Meta(pattern="^[0-9a-f]{12}$")]
    name: str
    hmac: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    producers: tuple[str, ...] | None
    made: str
    expires: str | None = None
    revoked: str | None = None

    def allows(self, producer: str) -> bool:
        """Tell whether records of a producer may be sent with this token."""
        if self.producers is None:
            return True
        return any(_pattern(scope).match(producer) is not None for scope in self.producers)

    def state(self, now_us: int) -> str:
        """Say in one word what it is worth: ``valid``, ``expired`` or ``revoked``."""
        if self.revoked is not None:
            return "revoked"
        is_over = self.expires is not None and parse_instant(self.expires) <= now_us
        return "expired" if is_over else "valid"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["tallystick.tokens/1"]
    tokens: tuple[Token, ...]


def new_token(
    keys: Path,
    name: str,
    producers: Sequence[str] | None,
    now_us: int,
    expires_us: int | None = None,
) -> tuple[Token, str]:
    """Make a token, and give it with the text that opens the door, which is kept nowhere.

    Args:
        keys: The store's keys folder.
        name: Who gets it.
        producers: Beginnings of the producers' names that it may send, None for all.
        now_us: The time.
        expires_us: When it ends, None for never.

    Raises:
        BadTokenError: the name, the producers or the expiry cannot be.
        TokensUnusableError: the tokens that there are cannot be read.
        UnwritableFileError: it cannot be kept.
    """
    _check(name, producers, now_us, expires_us)
    with _changing(keys):
        secret = _load_secret(keys, make=True)
        token_id = secrets.token_hex(_ID_BYTES)
        text = f"tally_{token_id}_{secrets.token_hex(SECRET_BYTES)}"
        token = Token(
            id=token_id,
            name=name,
            hmac=_hash(secret, text),
            producers=None if producers is None else tuple(dict.fromkeys(producers)),
            made=format_instant(now_us),
            expires=None if expires_us is None else format_instant(expires_us),
        )
        _save(keys, (*list_tokens(keys), token))
    return token, text


def list_tokens(keys: Path) -> tuple[Token, ...]:
    """Give all tokens, in the order in which they were made.

    Raises:
        TokensUnusableError: the list cannot be read.
    """
    path = keys / TOKENS_FILE
    try:
        data = read_file(str(path))
    except UnreadableFileError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return ()
        raise TokensUnusableError(str(path), error.args[1]) from error
    try:
        tokens = msgspec.json.decode(data, type=_File).tokens
        for token in tokens:
            for text in (token.made, token.expires, token.revoked):
                if text is not None:
                    parse_instant(text)
    except (msgspec.DecodeError, BadInstantError, UnicodeDecodeError) as error:
        raise TokensUnusableError(str(path), str(error).lower()) from error
    return tokens


def revoke_token(keys: Path, token_id: str, now_us: int) -> Token:
    """End a token; one that was revoked before stays as it is.

    Raises:
        TokenNotFoundError: there is none of that id.
        TokensUnusableError: the tokens cannot be read.
        UnwritableFileError: it cannot be written down.
    """
    with _changing(keys):
        tokens = list_tokens(keys)
        found = next((token for token in tokens if token.id == token_id), None)
        if found is None:
            raise TokenNotFoundError(token_id)
        if found.revoked is not None:
            return found
        revoked = msgspec.structs.replace(found, revoked=format_instant(now_us))
        _save(keys, tuple(revoked if token is found else token for token in tokens))
    return revoked


class TokenBook:
    """The tokens as a running server knows them: read again whenever their file has changed."""

    def __init__(self, keys: Path) -> None:
        """Know nothing yet.

        Args:
            keys: The store's keys folder.
        """
        self._keys = keys
        self._seen: tuple[int, ...] | None = None
        self._tokens: dict[str, Token] = {}
        self._secret = b""

    def check(self, text: str, now_us: int) -> Token:
        """Give the token that a text opens.

        Raises:
            TokenRejectedError: there is none, or it is over.
            TokensUnusableError: the tokens cannot be read.
        """
        self._refresh()
        match = _TOKEN.fullmatch(text)
        token = None if match is None else self._tokens.get(match[1])
        # Compared even where there is nothing to compare with: an id is not told by the time.
        expected = "0" * 64 if token is None else token.hmac
        is_right = hmac.compare_digest(_hash(self._secret, text), expected)
        if token is None or not is_right:
            raise TokenRejectedError("is not known here")
        state = token.state(now_us)
        if state != "valid":
            raise TokenRejectedError("has expired" if state == "expired" else "was revoked")
        return token

    def _refresh(self) -> None:
        path = self._keys / TOKENS_FILE
        try:
            found = path.stat()
        except FileNotFoundError:
            self._seen, self._tokens = None, {}
            return
        except OSError as error:
            raise TokensUnusableError(str(path), _reason(error)) from error
        # Every change makes the file longer, so none is missed however fast they follow.
        seen = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if seen != self._seen:
            tokens = list_tokens(self._keys)
            self._secret = _load_secret(self._keys, make=False)
            self._tokens = {token.id: token for token in tokens}
            self._seen = seen


def _check(name: str, producers: Sequence[str] | None, now_us: int, expires_us: int | None) -> None:
    if not _is_text(name, _NAME_BYTES_MAX):
        raise BadTokenError(f"expected a name of 1 to {_NAME_BYTES_MAX} bytes, printable")
    if producers is not None and not producers:
        raise BadTokenError("expected a producer that it may send")
    for producer in producers or ():
        if not _is_text(producer, _PRODUCER_BYTES_MAX) or producer == "*":
            raise BadTokenError(
                f"expected producers of 1 to {_PRODUCER_BYTES_MAX} bytes, printable,"
                f" got {producer[:80]!a}"
            )
    if expires_us is not None and expires_us <= now_us:
        raise BadTokenError(f"it would have expired at {format_instant(expires_us)} already")


def _is_text(text: str, bytes_max: int) -> bool:
    return text.isprintable() and 0 < len(text.encode()) <= bytes_max


@lru_cache(maxsize=4096)
def _pattern(scope: str) -> re.Pattern[str]:
    """Make of a scope what its producers' names begin with: whole parts, ``*`` for some part."""
    parts = "[^/@]+".join(map(re.escape, scope.split("*")))
    end = "" if scope.endswith("/") else r"(?:/|\Z)"
    return re.compile(parts + end)


def _hash(secret: bytes, text: str) -> str:
    return hmac.new(secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _load_secret(keys: Path, *, make: bool) -> bytes:
    path = keys / KEY_FILE
    if make and not path.exists():
        if list_tokens(keys):
            raise TokensUnusableError(str(path), "the secret that they are hashed under is gone")
        create_file(path, secrets.token_hex(SECRET_BYTES).encode() + b"\n", mode=0o600)
    try:
        secret = bytes.fromhex(read_file(str(path), bytes_max=4096).decode("ascii"))
    except UnreadableFileError as error:
        raise TokensUnusableError(str(path), error.args[1]) from error
    except ValueError as error:
        raise TokensUnusableError(str(path), "expected hexadecimal digits") from error
    if len(secret) < SECRET_BYTES:
        raise TokensUnusableError(str(path), f"expected {SECRET_BYTES} bytes or more")
    return secret


@contextmanager
def _changing(keys: Path) -> Iterator[None]:
    """Keep other processes from changing the list at the same time."""
    try:
        handle = os.open(keys, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UnwritableFileError(str(keys), _reason(error)) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _save(keys: Path, tokens: tuple[Token, ...]) -> None:
    data = msgspec.json.encode(_File(schema=SCHEMA, tokens=tokens))
    write_file(keys / TOKENS_FILE, msgspec.json.format(data, indent=1) + b"\n", mode=0o600)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
