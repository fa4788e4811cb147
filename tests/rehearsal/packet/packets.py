"""Packets for tests, from evidence through the kernel."""

from typing import Any

from tallystick.app.contracts import load_contracts
from tallystick.receipt.assemble import receipts_of
from tallystick.rehearsal.packet import recovery_packet
from tests.app.stores import contract_file
from tests.evidence.records import (
    Json,
    accepted,
    begun,
    committed,
    ended,
    evidence,
    of,
    record,
    restored,
    started,
    step,
)

TWIN = "run.uninterrupted"


def declared_as_rehearsal(promised: str | None = "120.000000") -> Json:
    """Declare what is rehearsed."""
    body = {
        "run": "run",
        "uninterrupted": TWIN,
        "route": "local",
        "plan": "sha256:00",
        "promised_notice_seconds": promised,
        "tolerance": "0",
    }
    return record("rehearsal.declared", "00:00", body)


def fault(at: str, *, attempt: str = "a", notice_seconds: str | None = None) -> Json:
    """Strike an attempt."""
    acts = [{"act": "SIGKILL", "id": "pid:7@5", "at": None}]
    body = {"run": "run", "attempt": attempt, "fault": 1, "route": "local", "when": "step"}
    more = {"target": "all", "step": 30, "notice_seconds": notice_seconds, "acts": acts}
    return record("rehearsal.fault", at, body | more)


def detected(at: str, attempt: str = "a") -> Json:
    """See that an attempt is gone."""
    return record("rehearsal.detected", at, {"run": "run", "attempt": attempt, "fault": 1})


def compared(*, equal: bool = True, difference: str | None = None) -> Json:
    """Compare the results."""
    body = {"run": "run", "digest": "sha256:11", "uninterrupted_digest": "sha256:11"}
    more = {"equal": equal, "difference": difference, "tolerance": "0"}
    return record("rehearsal.result", "04:00", body | more)


def twin() -> list[Json]:
    """Have the uninterrupted run take an hour."""
    return of(
        "t",
        started(run=TWIN),
        restored("00:01", 0, None),
        step("00:30", 30),
        step("00:59", 60),
        ended("01:00"),
    )


def interrupted(*notices: Json) -> list[Json]:
    """Have the run lose ten steps at 00:31, and finish after five minutes of waiting."""
    return [
        declared_as_rehearsal(),
        *of("a", started(), restored("00:01", 0, None), step("00:20", 20)),
        *of("a", begun("00:20", 20, "c20"), committed("00:21", 20, "c20")),
        *notices,
        *of("a", step("00:30", 30), fault("00:31"), ended("00:31", "provider")),
        detected("00:32"),
        *of("b", started("00:36"), restored("00:37", 20, "c20"), step("00:50", 30)),
        *of("b", step("01:20", 60), ended("01:21")),
        compared(),
        accepted("04:00"),
    ]


def packet_of(folder: Any, *records: Json, unknown: str = "charge") -> Json:
    """Make the packet of ``run`` from evidence under a contract of 3.60 an hour."""
    contracts = load_contracts([contract_file(folder, unknown=unknown)])
    lines = [*records]
    receipts = receipts_of(evidence(*lines), contracts).predicates
    return recovery_packet("run", {each["run"]["id"]: each for each in receipts}, lines)
