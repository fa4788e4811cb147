"""Records for tests, one function a kind, so that a test reads as what happened.

Times are clock readings of one day: ``01:30``, ``01:30:15`` or ``01:30:15.000001``. Unless a
test says otherwise, everything happens to the attempt ``a`` of the run ``run``, on the node
``n``. Equal calls give equal records, as a producer's do.
"""

import json
from collections.abc import Iterable
from typing import Any

from tallystick.core.instant import parse_instant
from tallystick.evidence.admission import Evidence, admit
from tallystick.evidence.draft import draft_record

Json = dict[str, Any]

DAY = "2026-03-01"
OBSERVED = "23:59"


def moment(clock: str) -> str:
    """Give a clock reading as the text form of a time; what is one already stays."""
    if "T" in clock:
        return clock
    whole, _, micro = clock.partition(".")
    hour, minute, second = (whole + ":00").split(":")[:3]
    return f"{DAY}T{hour}:{minute}:{second}.{micro.ljust(6, '0')}Z"


def moment_us(clock: str) -> int:
    """Give a clock reading as microseconds."""
    return parse_instant(moment(clock))


def clock(text: str) -> str:
    """Give a time of the day as the shortest clock reading."""
    reading = text.removeprefix(f"{DAY}T").removesuffix("Z").removesuffix(".000000")
    return reading.removesuffix(":00") if len(reading) == len("00:00:00") else reading


def record(kind: str, at: str | None, body: Json, *, producer: str = "p") -> Json:
    """Give a record of any kind."""
    return draft_record(
        kind,
        body,
        producer=producer,
        at_us=None if at is None else moment_us(at),
        observed_us=moment_us(OBSERVED),
    )


def numbered(one: Json, seq: int, boot: str | None = "b1") -> Json:
    """Give a record the number that its producer gave it."""
    numbers: Json = {"seq": seq} if boot is None else {"seq": seq, "boot": boot}
    return one | {"producer": one["producer"] | numbers}


def by(producer: str, one: Json) -> Json:
    """Have another producer say the same."""
    return one | {"producer": {"name": producer}}


def of(attempt: str, *records: Json) -> list[Json]:
    """Have records name another attempt."""
    return [
        record(each["kind"], each["at"], each["body"] | {"attempt": attempt}) for each in records
    ]


def as_line(one: Json) -> bytes:
    """Write a record as a line of evidence, without LF."""
    return json.dumps(one, separators=(",", ":")).encode()


def evidence(*records: Json | bytes) -> Evidence:
    """Admit records, or lines as they are, as one file."""
    return admit([[each if isinstance(each, bytes) else as_line(each) for each in records]])


def admitted(records: Iterable[Json | bytes]) -> Evidence:
    """Admit records of which none may be refused, so that no test passes for a typing error."""
    found = evidence(*records)
    assert found.findings == ()
    return found


# -- runs and allocations ------------------------------------------------------------------


def declared(run: str = "run", at: str = "00:00", **more: Any) -> Json:
    """Say that a run exists."""
    return record("run.declared", at, {"run": run, **more})


def linked(attempt: str, run: str, at: str | None = None) -> Json:
    """Say that an attempt belongs to a run."""
    return record("attempt.linked", at, {"run": run, "attempt": attempt})


def same(attempt: str, as_attempt: str) -> Json:
    """Say that two keys name one attempt."""
    return record("attempt.same", None, {"attempt": attempt, "same_as": as_attempt})


def started(
    at: str = "00:00",
    *,
    attempt: str = "a",
    run: str | None = "run",
    gpus: str | None = "g1",
    **more: Any,
) -> Json:
    """Start an attempt on some GPUs: ``g1 g2`` on node ``n``, ``g3@other`` elsewhere."""
    body: Json = {
        "attempt": attempt,
        "run": run,
        "scheduler": "slurm",
        "cluster": "c1",
        "job_id": "7",
        "nodes": ["n"],
        "gpu_type": "H100",
        "capacity": "spot",
    }
    if gpus is not None:
        named = (gpu.partition("@") for gpu in gpus.split())
        body["gpus"] = [{"uuid": uuid, "node": node or "n"} for uuid, _, node in named]
    return record("allocation.started", at, body | more)


def ended(
    at: str = "01:00", by_whom: str = "completed", *, attempt: str = "a", **more: Any
) -> Json:
    """End an attempt."""
    return record("allocation.ended", at, {"attempt": attempt, "ended_by": by_whom, **more})


def suspended(at: str, attempt: str = "a") -> Json:
    """Stop an attempt while it keeps its GPUs."""
    return record("allocation.suspended", at, {"attempt": attempt})


def resumed(at: str, attempt: str = "a") -> Json:
    """Let a suspended attempt go on."""
    return record("allocation.resumed", at, {"attempt": attempt})


def notice(at: str, attempt: str = "a", **more: Any) -> Json:
    """Say that the GPUs will be taken back."""
    body: Json = {"attempt": attempt, "by": "provider", "deadline": None}
    return record("allocation.notice", at, body | more)


# -- devices -------------------------------------------------------------------------------


def points(
    times: str = "", gpu: str = "g1", *, cadence_s: int = 60, metric: str = "sm_util"
) -> Json:
    """Sample a GPU: ``00:10 00:11=150 00:12=null``; a time without a value has a good one."""
    pairs = [each.partition("=") for each in times.split()]
    values = [[moment(at), None if value == "null" else value or "50"] for at, _, value in pairs]
    body: Json = {
        "gpu": gpu,
        "metric": metric,
        "cadence_us": cadence_s * 1_000_000,
        "points": values,
    }
    return record("telemetry.points", None, body)


def minutes(first: str, last: str) -> str:
    """Give every minute of the day from one to another, both included."""
    start, end = (int(each[:2]) * 60 + int(each[3:5]) for each in (first, last))
    return " ".join(f"{at // 60:02}:{at % 60:02}" for at in range(start, end + 1))


def samples(gpus: str, since: str, until: str) -> Json:
    """Name a segment of samples that is kept elsewhere."""
    body: Json = {
        "segment": "sha256:00",
        "path": "s.parquet",
        "rows": 1,
        "from": moment(since),
        "to": moment(until),
        "gpus": gpus.split(),
        "cadence_us": 60_000_000,
        "metric": "sm_util",
    }
    return record("telemetry.samples", None, body)


def watch(at: str, node: str = "n", *, engine: str = "dcgm", **more: Any) -> Json:
    """Begin to watch the GPUs of a node."""
    body: Json = {
        "node": node,
        "source": "dcgm",
        "engine": engine,
        "cadence_us": None,
        "keep_us": None,
        "gpus": None,
    }
    return record("telemetry.watch", at, body | more)


def engine_started(at: str, node: str = "n", engine: str = "dcgm") -> Json:
    """Start the engine of a node, with empty memory."""
    return record("telemetry.engine_started", at, {"node": node, "engine": engine})


def inventory(at: str, gpus: str, node: str = "n", *, mig: bool | None = None) -> Json:
    """Look at a node and find some devices."""
    devices: list[Json] = [
        {"uuid": uuid, "index": index} for index, uuid in enumerate(gpus.split())
    ]
    if mig is not None:
        devices = [device | {"mig": mig} for device in devices]
    return record("device.inventory", at, {"node": node, "devices": devices})


def scrape_failed(since: str, until: str, node: str = "n") -> Json:
    """Fail to reach a node."""
    body: Json = {"node": node, "from": moment(since), "to": moment(until), "reason": "down"}
    return record("telemetry.scrape_failed", None, body)


BLANK_STATS: Json = {
    "energy_mj": None,
    "power_w": None,
    "sm_util": None,
    "mem_util": None,
    "processes": None,
}


def job_stats(
    read: str, since: str, until: str, gpu: str = "g1", *, keep_s: int | None = None, **more: Any
) -> Json:
    """Read an engine's summary of one GPU over an attempt."""
    body: Json = {
        "attempt": "a",
        "gpu": gpu,
        "start": moment(since),
        "end": moment(until),
        "keep_us": None if keep_s is None else keep_s * 1_000_000,
        **(BLANK_STATS | {"energy_mj": 1000, "processes": 1}),
    }
    return record("telemetry.job_stats", read, body | more)


# -- the application -----------------------------------------------------------------------


def alive(at: str, attempt: str = "a") -> Json:
    """Give the application's first sign of life."""
    return record("progress.started", at, {"attempt": attempt, "writer": "rank0"})


def step(at: str, number: int, every: int = 1, *, attempt: str = "a") -> Json:
    """Complete a step."""
    return record("progress.step", at, {"attempt": attempt, "step": number, "every": every})


def waits(at: str, reason: str = "data", attempt: str = "a") -> Json:
    """Begin to wait."""
    return record("progress.waiting", at, {"attempt": attempt, "reason": reason})


def goes_on(at: str, attempt: str = "a") -> Json:
    """Wait no longer."""
    return record("progress.resumed", at, {"attempt": attempt})


def begun(at: str, number: int, name: str = "ckpt", *, attempt: str = "a", **more: Any) -> Json:
    """Begin to save a step."""
    body: Json = {"attempt": attempt, "checkpoint": name, "step": number}
    return record("checkpoint.begun", at, body | more)


def committed(at: str, number: int, name: str = "ckpt", *, attempt: str = "a", **more: Any) -> Json:
    """Have a step saved, every shard of it."""
    body: Json = {"attempt": attempt, "checkpoint": name, "step": number}
    return record("checkpoint.committed", at, body | more)


def verified(at: str, ok: bool, name: str = "ckpt", attempt: str = "a") -> Json:  # noqa: FBT001
    """Read a checkpoint back."""
    return record("checkpoint.verified", at, {"attempt": attempt, "checkpoint": name, "ok": ok})


def restored(at: str, number: int, name: str | None = "ckpt", *, attempt: str = "a") -> Json:
    """Go on from a saved step."""
    body: Json = {"attempt": attempt, "checkpoint": name, "step": number}
    return record("checkpoint.restored", at, body)


# -- people --------------------------------------------------------------------------------


def accepted(at: str, run: str = "run") -> Json:
    """Accept a run's output."""
    return record("output.accepted", at, {"run": run, "by": "judge", "criterion": "loss"})


def rejected(at: str, run: str = "run") -> Json:
    """Reject a run's output."""
    return record("output.rejected", at, {"run": run, "by": "judge", "criterion": "loss"})


def resolution(
    disposition: str, since: str = "00:00", until: str = "23:00", at: str = "23:30", **more: Any
) -> Json:
    """Decide held time."""
    body: Json = {
        "run": "run",
        "attempt": "a",
        "from": moment(since),
        "to": moment(until),
        "gpus": None,
        "clause": "9.1",
        "disposition": disposition,
        "by": "both",
        "note": "agreed",
    }
    return record("decision.resolution", at, body | more)


def adjustment(amount: str, at: str = "23:30", **more: Any) -> Json:
    """Add or take away an amount."""
    body: Json = {
        "run": "run",
        "amount": amount,
        "currency": "USD",
        "clause": "9.2",
        "by": "both",
        "note": "agreed",
    }
    return record("decision.adjustment", at, body | more)
