"""A small receipt, consistent in every figure, that tests change one thing of."""

from typing import Any

from tallystick.core.keys import SigningKey
from tallystick.receipt.envelope import envelope_bytes, sign_payload
from tallystick.receipt.statement import Statement, statement_payload
from tallystick.receipt.verify import verify_receipt

FIRST = "slurm:c1:7:1767225590"
SECOND = "slurm:c1:7:1767226000"
GPU_A = "GPU-0000000a-1111-4222-8333-00000000000a"
GPU_B = "GPU-0000000b-1111-4222-8333-00000000000b"
PROVIDER = SigningKey("provider.example", bytes(range(32)))
CUSTOMER = SigningKey("customer.example", bytes(range(32, 64)))


def moment(minute: int) -> str:
    """Write a time so many minutes into 2026."""
    return f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00.000000Z"


def between(start: int, end: int, **members: Any) -> dict[str, Any]:
    """Write an interval between two minutes."""
    return {"start": moment(start), "end": moment(end), **members}


def _digest(digit: str) -> str:
    return "sha256:" + digit * 64


def _attempt(key: str, start: int, end: int, **members: Any) -> dict[str, Any]:
    return {
        "attempt": key,
        **between(start, end),
        "gpus": 2,
        "gpu_uuids": [GPU_A, GPU_B],
        "gpu_type": "H100",
        "capacity": "spot",
        **members,
    }


def _line(number: int, attempt: str | None, **members: Any) -> dict[str, Any]:
    return {
        "line": number,
        "kind": "usage",
        "attempt": attempt,
        "contract": "acme-spot@3",
        "rate_clause": "2.1",
        "rule_clause": None,
        "per_hour": "3.60",
        "amount": None,
        "pieces": [],
        "evidence": [_digest("1")],
        **members,
    }


def make_predicate() -> dict[str, Any]:
    """Make the receipt of a run that was reclaimed after 10 minutes and finished in 20."""
    return {
        "schema": "tallystick.receipt/1",
        "kernel": "1",
        "run": {"id": "run-7", "job_class": "pretrain", "accepted": True},
        "revision": 1,
        "supersedes": None,
        "contracts": [{"id": "acme-spot", "version": 3, "digest": _digest("c")}],
        "log": None,
        "attempts": [
            _attempt(
                FIRST,
                0,
                10,
                ended_by="provider",
                notice_seconds="60.000000",
                replacement_wait_seconds="300.000000",
            ),
            _attempt(
                SECOND,
                15,
                35,
                ended_by="completed",
                notice_seconds=None,
                replacement_wait_seconds=None,
            ),
        ],
        "coverage": [
            {"attempt": FIRST, "gpu": GPU_A, "observed_seconds": "600.000000", "gaps": []},
            {"attempt": FIRST, "gpu": GPU_B, "observed_seconds": "600.000000", "gaps": []},
            {"attempt": SECOND, "gpu": GPU_A, "observed_seconds": "1200.000000", "gaps": []},
            {
                "attempt": SECOND,
                "gpu": GPU_B,
                "observed_seconds": "900.000000",
                "gaps": [between(30, 35, reason="lost_tail")],
            },
        ],
        "progress": {
            "steps_completed": 60,
            "last_valid_checkpoint": {"checkpoint": "ckpt-60", "step": 60, "attempt": SECOND},
            "interruptions": [
                {
                    "attempt": FIRST,
                    "last_step": 20,
                    "restored_step": 10,
                    "lost_steps": {"at_least": 10, "at_most": 19},
                    "avoidable_lost_steps": 0,
                }
            ],
            "replayed_steps": 10,
            "gpu_seconds": {
                "starting": "240.000000",
                "advancing": "2280.000000",
                "replaying": "480.000000",
                "discarded": "480.000000",
                "saving": "0.000000",
                "waiting": "0.000000",
                "mixed": "0.000000",
                "unknown": "120.000000",
            },
            "lost_gpu_seconds": {"at_least": "480.000000", "at_most": "600.000000"},
        },
        "usage": {
            "metered": "3600.000000",
            "net_billed": "2100.000000",
            "excluded": "120.000000",
            "credited": "1080.000000",
            "held": "300.000000",
            "unit": "gpu_seconds",
        },
        "lines": [
            _line(
                1,
                FIRST,
                disposition="credit",
                share="1/4",
                rule_clause="6.1",
                quantity="1080.000000",
                amount="1.08",
                credit="0.27",
                pieces=[between(1, 10, gpus=None)],
            ),
            _line(
                2,
                FIRST,
                disposition="exclude",
                rule_clause="5.1",
                quantity="120.000000",
                amount="0.00",
                pieces=[between(0, 1, gpus=None)],
            ),
            _line(
                3,
                SECOND,
                disposition="charge",
                quantity="2100.000000",
                amount="2.10",
                pieces=[between(15, 30, gpus=None), between(30, 35, gpus=[GPU_A])],
            ),
            _line(
                4,
                SECOND,
                disposition="hold",
                rule_clause="4.2",
                quantity="300.000000",
                at_least="0.00",
                at_most="0.30",
                pieces=[between(30, 35, gpus=[GPU_B])],
                evidence=[_digest("1"), _digest("2")],
            ),
            _line(
                5,
                None,
                kind="adjustment",
                contract=None,
                rate_clause=None,
                rule_clause="9.9",
                disposition=None,
                quantity=None,
                per_hour=None,
                amount="-0.50",
                evidence=[_digest("3")],
            ),
        ],
        "timeline": [
            {
                "attempt": FIRST,
                "allocation": [
                    between(0, 9, **{"class": "held"}),
                    between(9, 10, **{"class": "notice"}),
                ],
                "progress": [
                    between(0, 1, **{"class": "starting"}),
                    between(1, 5, **{"class": "advancing"}),
                    between(5, 9, **{"class": "discarded"}),
                    between(9, 10, **{"class": "unknown"}),
                ],
            },
            {
                "attempt": SECOND,
                "allocation": [between(15, 35, **{"class": "held"})],
                "progress": [
                    between(15, 16, **{"class": "starting"}),
                    between(16, 20, **{"class": "replaying"}),
                    between(20, 35, **{"class": "advancing"}),
                ],
            },
        ],
        "totals": {
            "currency": "USD",
            "charged": "3.18",
            "credits": "0.27",
            "adjustments": "-0.50",
            "held_at_most": "0.30",
            "net": {"at_least": "2.41", "at_most": "2.71"},
        },
        "findings": [
            {
                "code": "sequence_gap",
                "message": "2 records of dcgm/node-a are missing",
                "attempt": None,
            }
        ],
    }


def sign(predicate: dict[str, Any], *keys: SigningKey) -> bytes:
    """Write the envelope of a receipt, signed by the provider if nobody else is named."""
    return envelope_bytes(sign_payload(statement_payload(predicate), keys or (PROVIDER,)))


def state(predicate: dict[str, Any]) -> Statement:
    """Give a receipt as the provider states it."""
    return verify_receipt(sign(predicate), [PROVIDER.verify_key])


def change(predicate: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Set one field, named like ``lines.0.amount``; ``...`` takes it away."""
    *above, last = path.split(".")
    place: Any = predicate
    for name in above:
        place = place[int(name)] if isinstance(place, list) else place[name]
    if value is ...:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return predicate
