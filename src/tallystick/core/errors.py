"""Errors: one class per reason, each with a stable code and its own wording.

Facts go to ``super().__init__`` and the sentence is made in ``__str__``, so that an error
crosses a process boundary whole. Messages are lower case, name the thing, say what was
expected and then what was found. Bad data is not an error but a ``Finding``.
"""

from typing import ClassVar

from tallystick.core.wording import quoted


class TallystickError(Exception):
    """Anything that ends a command with one line and a stable code."""

    code: ClassVar[str]
    exit_status: ClassVar[int] = 2


class EmptyIntervalError(TallystickError):
    """An interval ends at or before its start."""

    code = "interval_must_not_be_empty"

    def __init__(self, start_us: int, end_us: int) -> None:
        super().__init__(start_us, end_us)

    def __str__(self) -> str:
        start_us, end_us = self.args
        return f"interval must end after its start, got [{start_us}, {end_us})"


class BadInstantError(TallystickError):
    """A text is not an RFC 3339 UTC time with exactly six fractional digits."""

    code = "bad_time"

    def __init__(self, text: str) -> None:
        super().__init__(text)

    def __str__(self) -> str:
        return f"expected a time like 2026-01-01T00:00:00.000000Z, got {quoted(self.args[0])}"


class NotCanonicalError(TallystickError):
    """A value has no canonical form: a float, a large integer, a bad key or string."""

    code = "not_canonical"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"value has no canonical form: {self.args[0]}"


class UnknownCurrencyError(TallystickError):
    """A currency is not an ISO 4217 code with a minor unit."""

    code = "unknown_currency"

    def __init__(self, currency: str) -> None:
        super().__init__(currency)

    def __str__(self) -> str:
        return f"expected an ISO 4217 currency with a minor unit, got {quoted(self.args[0])}"


class BadKeyNameError(TallystickError):
    """A name cannot stand in a public key: empty, too long, with spaces or a plus sign."""

    code = "bad_key_name"

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __str__(self) -> str:
        return (
            "expected a key name of 1 to 200 bytes, printable, without spaces or '+', "
            f"got {self.args[0][:80]!a}"
        )


class BadPublicKeyError(TallystickError):
    """A text is not an Ed25519 verifier key (vkey)."""

    code = "bad_public_key"

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)

    def __str__(self) -> str:
        source, reason = self.args
        return f"{source} is not a public key like NAME+0123abcd+BASE64: {reason}"


class BadPrivateKeyError(TallystickError):
    """A text is not an Ed25519 private key with its name."""

    code = "bad_private_key"

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)

    def __str__(self) -> str:
        source, reason = self.args
        return f"{source} is not a private key of this program: {reason}"
