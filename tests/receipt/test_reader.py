"""Reading a receipt: every field has its type and form."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.receipt import predicate as writer
from tallystick.receipt.errors import MalformedPredicateError, UnknownReceiptVersionError
from tallystick.receipt.reader import KERNELS, SCHEMAS, LogPrefix, read_receipt
from tests.receipt.samples import change, make_predicate


def test_what_is_written_is_what_is_read() -> None:
    """The schema and kernel that receipts are written with are known to the reader."""
    assert writer.SCHEMA in SCHEMAS
    assert writer.KERNEL in KERNELS


def test_a_field_of_another_name_is_ignored() -> None:
    """A later version may add fields that carry no money."""
    receipt = read_receipt(change(make_predicate(), "attempts.0.zone", "eu-1"))

    assert receipt.attempts[0].gpus == 2


def make_log() -> dict[str, Any]:
    """Name the beginning of a log."""
    return {"origin": "log.example", "size": 7, "root": base64.b64encode(bytes(range(32))).decode()}


def test_a_receipt_may_name_the_log_that_it_was_computed_from() -> None:
    """The prefix of the log is given as it is stated; a receipt from files has none."""
    logged = read_receipt({**make_predicate(), "log": make_log()})

    assert logged.log == LogPrefix("log.example", 7, base64.b64encode(bytes(range(32))).decode())
    assert read_receipt(make_predicate()).log is None


@given(st.binary(min_size=32, max_size=32))
def test_every_root_has_a_spelling(root: bytes) -> None:
    """Any hash can be the root of a log."""
    spelled = base64.b64encode(root).decode()

    receipt = read_receipt({**make_predicate(), "log": make_log() | {"root": spelled}})

    assert receipt.log is not None
    assert receipt.log.root == spelled


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("run", None),
        ("run.id", ""),
        ("run.accepted", "yes"),
        ("revision", 0),
        ("supersedes", "sha256:"),
        ("contracts.0.digest", "sha256:" + "G" * 64),
        ("log", {"origin": "log.example", "size": 1}),
        ("log", {}),
        ("log", ...),
        ("log.origin", ""),
        ("log.origin", None),
        ("log.size", -1),
        ("log.size", "1"),
        ("log.size", True),
        ("log.root", base64.b64encode(bytes(31)).decode()),
        ("log.root", base64.b64encode(bytes(33)).decode()),
        ("log.root", "A" * 42 + "B="),
        ("log.root", "A" * 42 + "_="),
        ("log.root", "A" * 43 + "=\n"),
        ("log.root", "0" * 64),
        ("attempts.0.start", "2026-01-01T00:00:00Z"),
        ("attempts.0.start", "2026-02-30T00:00:00.000000Z"),
        ("attempts.0.start", 0),
        ("attempts.0.end", ...),
        ("attempts.0.gpus", True),
        ("attempts.0.gpus", -1),
        ("attempts.0.notice_seconds", "60"),
        ("attempts.0.notice_seconds", "60.0000000"),
        ("attempts.0.notice_seconds", "-0.000000"),
        ("attempts.0.notice_seconds", "060.000000"),
        ("attempts.0.notice_seconds", "60.000000\n"),
        ("attempts.0.notice_seconds", "\u0666.000000"),
        ("progress.gpu_seconds.mixed", ...),
        ("progress.replayed_steps", "10"),
        ("usage.unit", "gpu_hours"),
        ("lines.0.kind", "other"),
        ("lines.0.disposition", "gift"),
        ("lines.0.share", "1/0"),
        ("lines.0.amount", "1,08"),
        ("lines.0.amount", "-0.00"),
        ("lines.0.amount", "1e3"),
        ("lines.0.amount", "1" * 5000),
        ("lines.0.pieces.0.gpus", "all"),
        ("lines.0.evidence.0", "sha256:1"),
        ("totals.currency", "usd"),
        ("totals.net", None),
        ("findings.0.code", ""),
    ],
)
def test_a_field_of_another_form_is_refused(path: str, value: Any) -> None:
    """The message names the field."""
    receipt = {**make_predicate(), "log": make_log()}

    with pytest.raises(MalformedPredicateError) as refused:
        read_receipt(change(receipt, path, value))

    field = path.rpartition(".")[2]
    assert field.isdigit() or field in str(refused.value)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"schema": "tallystick.receipt/9"}])
def test_another_version_is_refused_before_its_fields(value: Any) -> None:
    """What is no receipt of a known version is not looked into."""
    with pytest.raises(UnknownReceiptVersionError):
        read_receipt(value)
