"""Verifying a receipt: one list of steps, in one order, that fails closed."""

from collections.abc import Sequence
from typing import Final

from tallystick.core.keys import VerifyKey
from tallystick.receipt.envelope import PAYLOAD_TYPE, Envelope, parse_envelope
from tallystick.receipt.errors import (
    AmbiguousKeyError,
    BadSignatureError,
    NoKeysError,
    NoKnownSignerError,
    WrongPayloadTypeError,
)
from tallystick.receipt.figures import check_figures
from tallystick.receipt.reader import read_receipt
from tallystick.receipt.statement import (
    Statement,
    check_subject,
    parse_canonical,
    read_statement,
)

STEPS: Final = (
    "there is a key to check against, and each key has a name of its own",
    "the envelope is DSSE, within the size limit",
    f"the payload type is {PAYLOAD_TYPE}",
    "a known key signed, and every signature of a known key holds",
    "the payload is canonical JSON, byte for byte",
    "the statement is in-toto v1 about a receipt v1",
    "the schema and the kernel of the receipt are known",
    "every field of the receipt is there in its form",
    "the subject is this receipt, by run and digest",
    "time is conserved, and lines, usage and totals add up",
)


def verify_receipt(data: bytes, keys: Sequence[VerifyKey]) -> Statement:
    """Verify a receipt and give what it states, read from the bytes that were verified.

    The steps, each with the error that its failure raises:

    0. At least one key is given (``no_keys``), and no two different keys share a name and an
       id (``ambiguous_key``).
    1. The input is at most 64 MiB (``receipt_too_large``) and a DSSE envelope with at least
       one signature (``bad_envelope``).
    2. Its payload type is that of an in-toto Statement (``wrong_payload_type``).
    3. At least one signature names a known key (``no_known_signer``), and every signature
       that names a known key holds (``bad_signature``). Others count for nothing.
    4. The payload is JSON in canonical bytes (``bad_payload``).
    5. It is a statement (``bad_statement``) of version 1 about a receipt of version 1
       (``wrong_statement_type``).
    6. The receipt's schema and kernel are known (``unknown_receipt_version``).
    7. Every field is there, with its type and form (``bad_predicate``).
    8. The subject is the run and the digest of this receipt (``subject_mismatch``).
    9. The figures follow from each other (``wrong_figure``).

    The caller MUST still decide whether the signers are the right ones for this run, and
    use nothing but the returned value. That the figures follow from the evidence is shown
    by computing the receipt again, not by its signature; that the evidence is the log's, as
    ``log`` says, by a bundle (``receipt.bundle``).

    Raises:
        VerificationError: a step fails; the class says which and why.
    """
    # (0) keys
    known = keys_by_id(keys)
    # (1) envelope
    envelope = parse_envelope(data)
    # (2), (3) payload type, signatures
    signers = _check_signatures(envelope, known)
    # (4) to (9) what the payload says
    return _read_payload(envelope.payload, signers)


def open_receipt(data: bytes) -> Statement:
    """Read a receipt by the same steps but for 0 and 3: who signed it is not checked.

    Raises:
        VerificationError: a step fails.
    """
    envelope = parse_envelope(data)
    _check_payload_type(envelope)
    return _read_payload(envelope.payload, signers=())


def keys_by_id(keys: Sequence[VerifyKey]) -> dict[str, VerifyKey]:
    """Give the keys of a reader by the id that signatures name them with.

    Raises:
        NoKeysError: there is none.
        AmbiguousKeyError: two different keys have one id.
    """
    if not keys:
        raise NoKeysError
    known: dict[str, VerifyKey] = {}
    for key in keys:
        if known.setdefault(key.keyid, key) != key:
            raise AmbiguousKeyError(key.keyid)
    return known


def _check_signatures(envelope: Envelope, known: dict[str, VerifyKey]) -> tuple[str, ...]:
    # (2) payload type: first, so that a signature over something else is never looked at.
    _check_payload_type(envelope)
    # (3) signatures
    stated = tuple(signature.keyid for signature in envelope.signatures)
    signers = tuple(dict.fromkeys(keyid for keyid in stated if keyid in known))
    if not signers:
        raise NoKnownSignerError(tuple(known), stated)
    message = envelope.signed_bytes
    for signature in envelope.signatures:
        key = known.get(signature.keyid)
        if key is not None and not key.signed(message, signature.value):
            raise BadSignatureError(signature.keyid)
    return signers


def _check_payload_type(envelope: Envelope) -> None:
    if envelope.payload_type != PAYLOAD_TYPE:
        raise WrongPayloadTypeError(PAYLOAD_TYPE, envelope.payload_type)


def _read_payload(payload: bytes, signers: tuple[str, ...]) -> Statement:
    # (4) canonical bytes
    value = parse_canonical(payload)
    # (5) statement
    fields = read_statement(value)
    # (6), (7) schema and kernel, fields
    receipt = read_receipt(fields.predicate)
    # (8) subject
    check_subject(fields)
    # (9) figures
    check_figures(receipt)
    return Statement(payload, fields.predicate, receipt, signers)
