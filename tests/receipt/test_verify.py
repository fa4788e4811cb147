"""Verification: what holds is returned, and anything else fails at its step."""

import base64
import hashlib
import json
import pickle
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tallystick.core.canonical import canonical_bytes
from tallystick.core.keys import VerifyKey
from tallystick.receipt import errors
from tallystick.receipt.envelope import Envelope, Signature, envelope_bytes, sign_payload
from tallystick.receipt.errors import VerificationError
from tallystick.receipt.reader import LogPrefix
from tallystick.receipt.statement import statement_payload
from tallystick.receipt.verify import STEPS, open_receipt, verify_receipt
from tests.receipt.samples import CUSTOMER, PROVIDER, make_predicate, sign

RECEIPT = sign(make_predicate())
PAYLOAD = statement_payload(make_predicate())
KEYS = (PROVIDER.verify_key,)
SAME_BYTES = ({ord("+"), ord("-")}, {ord("/"), ord("_")})
"""Two spellings of one base64 digit: a change from one to the other changes no byte inside."""


def refuse(data: bytes, *keys: VerifyKey) -> VerificationError:
    """Give the error with which an input is refused."""
    with pytest.raises(VerificationError) as refused:
        verify_receipt(data, keys)
    return refused.value


def sign_value(value: Any) -> bytes:
    """Sign any JSON value, in canonical bytes, as if it were a receipt."""
    return envelope_bytes(sign_payload(canonical_bytes(value), [PROVIDER]))


def statement(**changed: Any) -> dict[str, Any]:
    """Give the statement of the small receipt with some members changed."""
    value: dict[str, Any] = json.loads(PAYLOAD)
    return {**value, **changed}


def test_a_good_receipt_is_returned_as_it_was_signed() -> None:
    """Verification gives the verified payload, its content and who signed it."""
    verified = verify_receipt(RECEIPT, KEYS)

    assert verified.payload == PAYLOAD
    assert verified.predicate == make_predicate()
    assert verified.receipt.run.id == "run-7"
    assert verified.signers == ("provider.example+17ee1df4",)
    assert verified.payload_digest == "sha256:" + hashlib.sha256(PAYLOAD).hexdigest()


def test_one_receipt_has_one_payload() -> None:
    """The payload does not depend on the order in which members were written."""
    backwards = dict(reversed(make_predicate().items()))

    assert statement_payload(backwards) == PAYLOAD


def test_both_parties_may_sign() -> None:
    """Each known signer of a receipt is named, in the order of the signatures."""
    both = sign(make_predicate(), CUSTOMER, PROVIDER)

    verified = verify_receipt(both, [PROVIDER.verify_key, CUSTOMER.verify_key])

    assert verified.signers == (CUSTOMER.verify_key.keyid, PROVIDER.verify_key.keyid)


def test_a_signature_of_an_unknown_key_counts_for_nothing() -> None:
    """A receipt holds by its known signer, whoever else signed, well or badly."""
    envelope = sign_payload(PAYLOAD, [PROVIDER])
    stranger = Signature("stranger+00000000", b"no signature")
    data = envelope_bytes(
        Envelope(envelope.payload_type, PAYLOAD, (stranger, *envelope.signatures))
    )

    assert verify_receipt(data, KEYS).signers == (PROVIDER.verify_key.keyid,)


def test_one_bad_signature_of_a_known_key_rejects_all() -> None:
    """The good signature of one party does not cover up the bad one of the other."""
    good = sign_payload(PAYLOAD, [PROVIDER])
    bad = Signature(CUSTOMER.verify_key.keyid, CUSTOMER.sign(PAYLOAD))
    data = envelope_bytes(Envelope(good.payload_type, PAYLOAD, (*good.signatures, bad)))

    refused = refuse(data, PROVIDER.verify_key, CUSTOMER.verify_key)

    assert str(refused) == (
        f"signature of '{CUSTOMER.verify_key.keyid}' does not hold for this payload"
    )


def test_a_signature_without_its_payload_type_does_not_hold() -> None:
    """What is signed is the type and the payload, not the payload alone."""
    bare = Signature(PROVIDER.verify_key.keyid, PROVIDER.sign(PAYLOAD))
    good = sign_payload(PAYLOAD, [PROVIDER])

    refused = refuse(envelope_bytes(Envelope(good.payload_type, PAYLOAD, (bare,))), *KEYS)

    assert refused.code == "bad_signature"


def test_no_byte_of_a_receipt_can_be_damaged() -> None:
    """A flipped bit, in whichever byte of the file, makes verification fail."""
    accepted = []
    for position in range(len(RECEIPT)):
        tampered = bytearray(RECEIPT)
        tampered[position] ^= 1 << position % 8
        try:
            verify_receipt(bytes(tampered), KEYS)
        except VerificationError:
            continue
        accepted.append(position)

    assert accepted == []


@given(st.integers(0, len(RECEIPT) - 1), st.integers(0, 255))
def test_no_byte_of_a_receipt_can_be_replaced(position: int, byte: int) -> None:
    """Any other byte in any place fails, unless it spells the same base64 digit."""
    assume(byte != RECEIPT[position] and {byte, RECEIPT[position]} not in SAME_BYTES)
    tampered = RECEIPT[:position] + bytes([byte]) + RECEIPT[position + 1 :]

    refused = refuse(tampered, *KEYS)

    assert refused.exit_status == 1


@given(st.integers(0, len(RECEIPT) - 1))
def test_no_beginning_of_a_receipt_is_one(length: int) -> None:
    """A receipt that was cut short is refused."""
    refused = refuse(RECEIPT[:length], *KEYS)

    assert refused.code == "bad_envelope"


@given(st.binary(max_size=200))
def test_signed_garbage_is_refused_in_our_words(payload: bytes) -> None:
    """Whatever a known key signed, the outcome is a statement or one of our errors."""
    refused = refuse(envelope_bytes(sign_payload(payload, [PROVIDER])), *KEYS)

    assert refused.step >= 4


def _same_id(number: int) -> VerifyKey:
    """Make one of two keys that were searched for: their short ids are equal."""
    return VerifyKey("x", hashlib.sha256(b"k%d" % number).digest())


REFUSALS: dict[str, tuple[int, bytes, tuple[VerifyKey, ...]]] = {
    "no_keys": (0, RECEIPT, ()),
    "ambiguous_key": (0, RECEIPT, (_same_id(135445), _same_id(144322))),
    "bad_envelope": (1, b"{}", KEYS),
    "wrong_payload_type": (
        2,
        envelope_bytes(Envelope("text/plain", b"", (Signature("", b""),))),
        KEYS,
    ),
    "no_known_signer": (3, RECEIPT, (CUSTOMER.verify_key,)),
    "bad_signature": (
        3,
        envelope_bytes(
            Envelope(
                "application/vnd.in-toto+json",
                b"",
                (Signature(PROVIDER.verify_key.keyid, b""),),
            )
        ),
        KEYS,
    ),
    "bad_payload": (4, envelope_bytes(sign_payload(b"", [PROVIDER])), KEYS),
    "bad_statement": (5, sign_value({}), KEYS),
    "wrong_statement_type": (5, sign_value(statement(predicateType="https://x.example")), KEYS),
    "unknown_receipt_version": (6, sign_value(statement(predicate={})), KEYS),
    "bad_predicate": (
        7,
        sign_value(statement(predicate={"schema": "tallystick.receipt/1", "kernel": "1"})),
        KEYS,
    ),
    "subject_mismatch": (8, sign_value(statement(subject=[])), KEYS),
    "wrong_figure": (
        9,
        sign({**make_predicate(), "usage": {**make_predicate()["usage"], "held": "0.000000"}}),
        KEYS,
    ),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_each_step_refuses_its_smallest_input(code: str) -> None:
    """Every code of verification has an input that provokes it, at its step, with exit 1."""
    step, data, keys = REFUSALS[code]

    refused = refuse(data, *keys)

    assert (refused.code, refused.step, refused.exit_status) == (code, step, 1)
    assert "\n" not in str(refused)
    assert str(pickle.loads(pickle.dumps(refused))) == str(refused)  # noqa: S301 (our own)


def test_every_error_of_verification_is_provoked() -> None:
    """No class is left out above, but for the size limit, which test_envelope provokes."""
    classes = [
        each for each in VerificationError.__subclasses__() if each.__module__ == errors.__name__
    ]

    assert {each.code for each in classes} == {*REFUSALS, "receipt_too_large"}
    assert {each.step for each in classes} == set(range(len(STEPS)))


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\xff", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b"NaN", "JSON"),
        (b'{"a":1}{}', "JSON"),
        (b"1e400", "JSON"),
        (b'{"a":1.5}', "float"),
        (b'{"a":9007199254740993}', "2^53-1"),
        (b'{"a":' + b"9" * 5000 + b"}", "JSON"),
        ('{"\u00e9":1}'.encode(), "printable ASCII"),
        (b'{"a": 1}', "another spelling"),
        (b'{"b":1,"a":1}', "another spelling"),
        (b'{"a":1,"a":1}', "another spelling"),
        (b'{"a":"\\u0041"}', "another spelling"),
        (PAYLOAD + b"\n", "another spelling"),
    ],
)
def test_a_payload_has_one_spelling(payload: bytes, reason: str) -> None:
    """JSON that is not in canonical bytes is refused even if it means the same."""
    refused = refuse(envelope_bytes(sign_payload(payload, [PROVIDER])), *KEYS)

    assert refused.code == "bad_payload"
    assert reason in str(refused)


@pytest.mark.parametrize(
    ("changed", "code", "reason"),
    [
        ({"_type": "https://in-toto.io/Statement/v0.1"}, "wrong_statement_type", "_type"),
        ({"predicateType": "https://tallystick.dev/receipt/v2"}, "wrong_statement_type", "v2"),
        ({"predicate": []}, "bad_statement", "predicate"),
        ({"subject": {}}, "bad_statement", "subject"),
        ({"subject": [{"name": "run-7", "digest": {}}]}, "subject_mismatch", "no sha256"),
        ({"subject": statement()["subject"] * 2}, "subject_mismatch", "count"),
        (
            {"subject": [{**statement()["subject"][0], "name": "run-8"}]},
            "subject_mismatch",
            "expected 'run-7', got 'run-8'",
        ),
        ({"predicate": {"schema": "tallystick.receipt/2"}}, "unknown_receipt_version", "schema"),
        ({"predicate": {**make_predicate(), "kernel": "2"}}, "unknown_receipt_version", "kernel"),
        ({"predicate": {**make_predicate(), "revision": 2}}, "subject_mismatch", "digest"),
    ],
)
def test_a_statement_about_something_else_is_refused(
    changed: dict[str, Any], code: str, reason: str
) -> None:
    """The statement, its subject and its receipt belong together."""
    refused = refuse(sign_value(statement(**changed)), *KEYS)

    assert refused.code == code
    assert reason in str(refused)


def test_a_receipt_from_a_log_is_verified_as_any_other() -> None:
    """Whether the log is as it says is not for these steps to tell."""
    root = base64.b64encode(bytes(32)).decode()
    log: dict[str, Any] = {"origin": "log.example", "size": 1, "root": root}

    verified = verify_receipt(sign({**make_predicate(), "log": log}), KEYS)

    assert verified.receipt.log == LogPrefix(**log)


def test_a_receipt_can_be_read_unchecked() -> None:
    """Opening does all steps but the signatures, and names no signer."""
    forged = json.loads(RECEIPT)
    forged["signatures"][0]["sig"] = base64.b64encode(bytes(64)).decode()

    opened = open_receipt(json.dumps(forged).encode())

    assert opened.signers == ()
    assert opened.payload == PAYLOAD


@pytest.mark.parametrize("code", ["wrong_payload_type", "bad_payload", "wrong_figure"])
def test_opening_refuses_what_is_no_receipt(code: str) -> None:
    """What cannot be shown truthfully is not opened either."""
    with pytest.raises(VerificationError) as refused:
        open_receipt(REFUSALS[code][1])

    assert refused.value.code == code


def test_long_lists_of_names_are_cut_in_messages() -> None:
    """A message stays one short line, however many signers an envelope names."""
    error = errors.NoKnownSignerError(("a",), tuple("bcdefghijkl"))

    assert str(error).endswith("and 3 more")
