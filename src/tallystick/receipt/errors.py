"""Why a receipt, a key or a question about them is refused.

Each ``VerificationError`` names the step of ``verify_receipt`` that failed.
"""

from typing import ClassVar

from tallystick.core.errors import TallystickError


class VerificationError(TallystickError):
    """A receipt fails a step of verification; nothing in it may be relied on."""

    exit_status = 1
    step: ClassVar[int]


class NoKeysError(VerificationError):
    """No key is given, so there is nothing to check a signature against."""

    code = "no_keys"
    step = 0

    def __str__(self) -> str:
        return "expected at least one public key to check signatures against, got none"


class AmbiguousKeyError(VerificationError):
    """Two different keys have one name and one short id, so a signature names neither."""

    code = "ambiguous_key"
    step = 0

    def __init__(self, keyid: str) -> None:
        super().__init__(keyid)

    def __str__(self) -> str:
        return f"two different public keys are both named {self.args[0]}"


class OversizedReceiptError(VerificationError):
    """An input is larger than any receipt is allowed to be."""

    code = "receipt_too_large"
    step = 1

    def __init__(self, bytes_max: int) -> None:
        super().__init__(bytes_max)

    def __str__(self) -> str:
        return f"expected a receipt of at most {self.args[0]} bytes, got more"


class MalformedEnvelopeError(VerificationError):
    """An input is not a DSSE envelope."""

    code = "bad_envelope"
    step = 1

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed envelope: {self.args[0]}"


class WrongPayloadTypeError(VerificationError):
    """An envelope holds something else than an in-toto Statement."""

    code = "wrong_payload_type"
    step = 2

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(expected, found)

    def __str__(self) -> str:
        expected, found = self.args
        return f"payload type: expected {expected}, got {_quoted(found)}"


class NoKnownSignerError(VerificationError):
    """No signature names a key that was given."""

    code = "no_known_signer"
    step = 3

    def __init__(self, known: tuple[str, ...], found: tuple[str, ...]) -> None:
        super().__init__(known, found)

    def __str__(self) -> str:
        known, found = self.args
        return (
            f"no signature of a known key: expected one of {_listed(known)}, got {_listed(found)}"
        )


class BadSignatureError(VerificationError):
    """A signature of a known key does not hold for the payload."""

    code = "bad_signature"
    step = 3

    def __init__(self, keyid: str) -> None:
        super().__init__(keyid)

    def __str__(self) -> str:
        return f"signature of {_quoted(self.args[0])} does not hold for this payload"


class MalformedPayloadError(VerificationError):
    """A payload is not JSON in canonical bytes."""

    code = "bad_payload"
    step = 4

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed payload: {self.args[0]}"


class MalformedStatementError(VerificationError):
    """A payload is not an in-toto Statement with one subject."""

    code = "bad_statement"
    step = 5

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed statement: {_one_line(self.args[0])}"


class WrongStatementTypeError(VerificationError):
    """A statement is of another version than Statement v1, or states something else."""

    code = "wrong_statement_type"
    step = 5

    def __init__(self, field: str, expected: str, found: str) -> None:
        super().__init__(field, expected, found)

    def __str__(self) -> str:
        field, expected, found = self.args
        return f"{field}: expected {expected}, got {_quoted(found)}"


class UnknownReceiptVersionError(VerificationError):
    """A receipt follows a schema or a kernel that this version does not know."""

    code = "unknown_receipt_version"
    step = 6

    def __init__(self, field: str, known: tuple[str, ...], found: str) -> None:
        super().__init__(field, known, found)

    def __str__(self) -> str:
        field, known, found = self.args
        return f"{field}: expected {_listed(known)}, got {_quoted(found)}"


class MalformedPredicateError(VerificationError):
    """A receipt lacks a field, or a field has the wrong type or form."""

    code = "bad_predicate"
    step = 7

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed receipt: {_one_line(self.args[0])}"


class SubjectMismatchError(VerificationError):
    """A statement is about something else than the receipt that it carries."""

    code = "subject_mismatch"
    step = 8

    def __init__(self, field: str, expected: str, found: str) -> None:
        super().__init__(field, expected, found)

    def __str__(self) -> str:
        field, expected, found = self.args
        return f"subject {field}: expected {_quoted(expected)}, got {_quoted(found)}"


class WrongFigureError(VerificationError):
    """A figure of a receipt does not follow from the other figures."""

    code = "wrong_figure"
    step = 9

    def __init__(self, path: str, expected: str, found: str) -> None:
        super().__init__(path, expected, found)

    def __str__(self) -> str:
        path, expected, found = self.args
        return f"{path}: expected {_quoted(expected)}, got {_quoted(found)}"


class UnknownLineError(TallystickError):
    """A receipt has no line of that number."""

    code = "line_not_found"

    def __init__(self, number: int, lines: int) -> None:
        super().__init__(number, lines)

    def __str__(self) -> str:
        number, lines = self.args
        found = "the receipt has none" if lines == 0 else f"the receipt has lines 1 to {lines}"
        return f"no line {number}: {found}"


def _one_line(text: str, limit: int = 200) -> str:
    """Escape what a decoder quoted from the input, and cut it."""
    return ascii(text)[1:-1][:limit]


def _quoted(text: str, limit: int = 80) -> str:
    return ascii(text if len(text) <= limit else text[: limit - 3] + "...")


def _listed(texts: tuple[str, ...], limit: int = 8) -> str:
    shown = ", ".join(_quoted(text) for text in texts[:limit]) or "none"
    return f"{shown} and {len(texts) - limit} more" if len(texts) > limit else shown
