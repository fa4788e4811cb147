"""Evidence of made-up runs, for benchmarks: any number of them, each with its own keys.

A run has 8 GPUs and 3 attempts: a reclaim with short notice, a preemption, a completion. Each
attempt restores, steps, saves and waits for storage; every GPU has job statistics, and the
watch of one GPU began late, so that its first seconds are unknown.
"""

from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import SECOND_US, format_instant, parse_instant
from tallystick.evidence.draft import draft_record

GPUS = 8
ATTEMPT_S = 1800
STEP_S = 120
STEPS_REPORTED = 10
SAVE_EVERY = 40
START_US = parse_instant("2026-03-01T00:00:00.000000Z")

CONTRACT = b"""
schema = "tallystick.contract/1"
id = "bench"
version = 1
currency = "USD"
effective_from = 2026-01-01T00:00:00Z

[parties]
provider = "Example Cloud"
customer = "Acme"

[[rate]]
clause = "2.1"
gpu_type = "H100"
capacity = "spot"
per_hour = "2.25"

[[rule]]
clause = "5.1"
says = "A reclaim by the provider within fifteen minutes is free."
when = { ended_by = "provider", attempt_shorter_than_s = 900 }
then = "exclude"

[[rule]]
clause = "4.2"
says = "Time without telemetry is held until the parties resolve it."
when = { telemetry = "unknown" }
then = "hold"

[[rule]]
clause = "6.1"
says = "Less than 420 s of notice gives a quarter back."
when = { notice_shorter_than_s = 420 }
then = "credit:1/4"

[[rule]]
clause = "3.1"
says = "Waiting for the provider's checkpoint storage costs one half."
when = { progress = "waiting:checkpoint_storage" }
then = "share:1/2"
"""


class Run(NamedTuple):
    """One made-up run; everything about it follows from its number."""

    number: int

    @property
    def start_us(self) -> int:
        """When its first attempt starts."""
        return START_US + self.number * 7 * SECOND_US

    @property
    def node(self) -> str:
        """Where it runs."""
        return f"node-{self.number:06}"

    @property
    def gpus(self) -> list[str]:
        """What it runs on."""
        return [f"GPU-{self.number:08x}-0000-4000-8000-{index:012x}" for index in range(GPUS)]

    def moment(self, at_s: int) -> str:
        """Write a moment of the run."""
        return format_instant(self.start_us + at_s * SECOND_US)

    def line(self, kind: str, at_s: int, producer: str, **body: Any) -> bytes:
        """Write a record as a line."""
        at_us = self.start_us + at_s * SECOND_US
        record = draft_record(
            kind,
            body,
            producer=f"{producer}/{self.node}",
            at_us=at_us,
            observed_us=at_us + SECOND_US,
        )
        return canonical_bytes(record)


def evidence_of(number: int) -> Iterator[bytes]:
    """Tell the story of one run as lines of evidence."""
    run = Run(number)
    name = f"run-{number:06}"
    yield run.line("run.declared", 0, "job", run=name, job_class="bench")
    step = 0
    for begin_s, ended_by in ((0, "provider"), (2400, "scheduler"), (4800, "completed")):
        attempt = f"slurm:c1:{number}:{run.start_us // SECOND_US + begin_s}"
        yield from _allocation(run, name, attempt, begin_s, ended_by)
        yield from _telemetry(run, attempt, begin_s)
        step = yield from _progress(run, attempt, begin_s, step)
    yield run.line("output.accepted", 7200, "job", run=name, by="evaluator", criterion="loss")


def _allocation(run: Run, name: str, attempt: str, begin_s: int, ended_by: str) -> Iterator[bytes]:
    end_s = begin_s + ATTEMPT_S
    yield run.line(
        "allocation.started",
        begin_s,
        "slurm",
        attempt=attempt,
        run=name,
        scheduler="slurm",
        cluster="c1",
        job_id=str(run.number),
        nodes=[run.node],
        gpus=[{"uuid": uuid, "node": run.node} for uuid in run.gpus],
        gpu_type="H100",
        capacity="spot",
    )
    if ended_by != "completed":
        notice = {"attempt": attempt, "by": ended_by, "deadline": run.moment(end_s)}
        yield run.line("allocation.notice", end_s - 60, "slurm", **notice)
    yield run.line("allocation.ended", end_s, "slurm", attempt=attempt, ended_by=ended_by)


def _telemetry(run: Run, attempt: str, begin_s: int) -> Iterator[bytes]:
    end_s = begin_s + ATTEMPT_S
    for at_s, watched in ((begin_s, run.gpus[1:]), (begin_s + 40, run.gpus[:1])):
        yield run.line(
            "telemetry.watch",
            at_s,
            "dcgm",
            node=run.node,
            source="dcgm",
            engine="hostengine",
            cadence_us=30 * SECOND_US,
            keep_us=3600 * SECOND_US,
            gpus=watched,
        )
    for place, uuid in enumerate(run.gpus):
        yield run.line(
            "telemetry.job_stats",
            end_s,
            "dcgm",
            attempt=attempt,
            gpu=uuid,
            start=run.moment(begin_s),
            end=run.moment(end_s),
            keep_us=None,
            energy_mj=900_000_000 + place,
            power_w="512.5",
            sm_util=97,
            mem_util=61,
            processes=1,
        )


def _progress(run: Run, attempt: str, begin_s: int, step: int) -> Generator[bytes, None, int]:
    """Work from a step on; return the step of the last checkpoint."""
    kept, end_s = step, begin_s + ATTEMPT_S
    yield run.line("progress.started", begin_s + 20, "job", attempt=attempt, writer="rank0")
    checkpoint = f"step-{step}" if step else None
    restored = {"attempt": attempt, "checkpoint": checkpoint, "step": step}
    yield run.line("checkpoint.restored", begin_s + 60, "job", **restored)
    for at_s in range(begin_s + 60 + STEP_S, end_s - STEP_S, STEP_S):
        step += STEPS_REPORTED
        reported = {"attempt": attempt, "step": step, "every": STEPS_REPORTED}
        yield run.line("progress.step", at_s, "job", **reported)
        if step % SAVE_EVERY == 0:
            kept = step
            saved = {"attempt": attempt, "checkpoint": f"step-{step}", "step": step}
            yield run.line("checkpoint.begun", at_s, "job", **saved)
            yield run.line("checkpoint.committed", at_s + 30, "job", **saved)
    waiting = {"attempt": attempt, "reason": "checkpoint_storage"}
    yield run.line("progress.waiting", end_s - STEP_S, "job", **waiting)
    yield run.line("progress.resumed", end_s - STEP_S + 45, "job", attempt=attempt)
    return kept
