"""The in-toto Statement that a receipt is signed as.

The predicate is the receipt. The subject is what the statement is about: the receipt of one
run, named by the run's id, with the SHA-256 of the predicate's canonical bytes; so tools
that match subjects by digest find a receipt by its content, and two parties who computed
the same receipt hold the same subject. Payloads are canonical bytes: one receipt has one.
"""

from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Struct

from tallystick.core.canonical import canonical_bytes, check_canonical, sha256_digest
from tallystick.core.errors import NotCanonicalError
from tallystick.receipt.errors import (
    MalformedPayloadError,
    MalformedStatementError,
    SubjectMismatchError,
    WrongStatementTypeError,
)
from tallystick.receipt.reader import Receipt

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://tallystick.dev/receipt/v1"


@dataclass(frozen=True, slots=True)
class Statement:
    """A receipt as it was stated: the bytes, what they say, and which known keys signed them.

    ``signers`` is empty if no signature was checked.
    """

    payload: bytes
    predicate: dict[str, Any]
    receipt: Receipt
    signers: tuple[str, ...]

    @property
    def payload_digest(self) -> str:
        """The name of these bytes: two parties compare it to know that they agree."""
        return sha256_digest(self.payload)


class _Subject(Struct, frozen=True):
    name: str
    digest: dict[str, str]


class StatementFields(Struct, frozen=True):
    """The members of a statement as they were read; members of other names are ignored."""

    type: str = msgspec.field(name="_type")
    subject: tuple[_Subject, ...]
    predicate_type: str = msgspec.field(name="predicateType")
    predicate: dict[str, Any]


def statement_payload(predicate: dict[str, Any]) -> bytes:
    """Make the payload that states a receipt."""
    return canonical_bytes(
        {
            "_type": STATEMENT_TYPE,
            "subject": [
                {"name": predicate["run"]["id"], "digest": {"sha256": _sha256_hex(predicate)}}
            ],
            "predicateType": PREDICATE_TYPE,
            "predicate": predicate,
        }
    )


def parse_canonical(payload: bytes) -> Any:
    """Read JSON that must be canonical bytes.

    Raises:
        MalformedPayloadError: it is not JSON, lies outside the profile, or is spelled otherwise.
    """
    try:
        value = msgspec.json.decode(payload)
        check_canonical(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedPayloadError("expected JSON in UTF-8") from error
    except NotCanonicalError as error:
        raise MalformedPayloadError(str(error)) from error
    if canonical_bytes(value) != payload:
        raise MalformedPayloadError("expected canonical bytes, got another spelling of them")
    return value


def read_statement(value: Any) -> StatementFields:
    """Read the members of a statement about a receipt.

    Raises:
        MalformedStatementError: a member is missing or has another type.
        WrongStatementTypeError: it is another kind or version of statement.
    """
    try:
        fields = msgspec.convert(value, StatementFields)
    except msgspec.ValidationError as error:
        raise MalformedStatementError(str(error)) from error
    for name, expected, found in (
        ("_type", STATEMENT_TYPE, fields.type),
        ("predicateType", PREDICATE_TYPE, fields.predicate_type),
    ):
        if found != expected:
            raise WrongStatementTypeError(name, expected, found)
    return fields


def check_subject(fields: StatementFields) -> None:
    """Check that the one subject is the receipt that the statement carries.

    Raises:
        SubjectMismatchError: there are more or fewer, or it has another name or digest.
    """
    if len(fields.subject) != 1:
        raise SubjectMismatchError("count", "1", str(len(fields.subject)))
    subject, predicate = fields.subject[0], fields.predicate
    if subject.name != predicate["run"]["id"]:
        raise SubjectMismatchError("name", predicate["run"]["id"], subject.name)
    expected = _sha256_hex(predicate)
    if subject.digest != {"sha256": expected}:
        found = subject.digest.get("sha256", "no sha256")
        raise SubjectMismatchError("digest", expected, found)


def _sha256_hex(predicate: dict[str, Any]) -> str:
    return sha256_digest(canonical_bytes(predicate)).removeprefix("sha256:")
