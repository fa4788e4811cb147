"""The kinds of version 1: which fields each has, and whether its ``at`` has a meaning.

A kind that is not in the table is admitted unchecked and has no effect (rule 6).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tallystick.core.vocabulary import CAPACITIES, ENDED_BY, WAITING_REASONS
from tallystick.evidence import bodies as b
from tallystick.evidence import fields as f
from tallystick.evidence.kept_windows import kept_windows


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a body: its name in the format and in the class, and its check."""

    name: str
    attribute: str
    check: f.Check
    required: bool = True


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record."""

    name: str
    body: type[b.Body]
    fields: tuple[Field, ...]
    timed: bool = True


class BadBodyError(Exception):
    """A body lacks a field or has a wrong one; says which and what was expected."""


def read_body(kind: Kind, body: Mapping[str, Any]) -> b.Body:
    """Check a body against its kind and convert it.

    Raises:
        fields.BadTimeError: a string that should be a time is none; outranks the other.
        BadBodyError: a field is missing, of the wrong type, or not an allowed word.
    """
    values: dict[str, Any] = {}
    wrong: str | None = None
    for field in kind.fields:
        if field.name not in body and field.required:
            wrong = wrong or f"{field.name}: expected a value, got nothing"
            continue
        value = body.get(field.name)
        if value is None and not field.required:
            continue
        try:
            values[field.attribute] = field.check(value)
        except f.BadFieldError as error:
            wrong = wrong or f"{field.name}: expected {error}, got {type(value).__name__}"
    if (
        wrong is None
        and kind.body is b.AllocationStarted
        and not values.keys() & {"gpus", "gpu_count"}
    ):
        wrong = "gpus: expected gpus or gpu_count, got neither"
    if wrong is not None:
        raise BadBodyError(wrong)
    return kind.body(**values)


def _fields(*required: tuple[str, f.Check], **optional: f.Check) -> tuple[Field, ...]:
    stated = tuple(Field(name, _attribute(name, check), check) for name, check in required)
    rest = tuple(
        Field(name, _attribute(name, check), check, required=False)
        for name, check in optional.items()
    )
    return stated + rest


def _attribute(name: str, check: f.Check) -> str:
    return f"{name}_us" if check in _INSTANTS else name


_MAYBE_INSTANT = f.nullable(f.instant)
_INSTANTS = (f.instant, _MAYBE_INSTANT)
_ATTEMPT = ("attempt", f.key)
_RUN = ("run", f.key)
_NODE = ("node", f.text)
_STEP = ("step", f.integer)
_CHECKPOINT = ("checkpoint", f.text)
_JUDGED = _fields(_RUN, ("by", f.text), ("criterion", f.text), step=f.integer, digest=f.text)
_SAVED = _fields(_ATTEMPT, _CHECKPOINT, _STEP, blocking=f.boolean, digest=f.text, bytes=f.integer)

_KINDS = (
    Kind(
        "run.declared",
        b.RunDeclared,
        _fields(
            _RUN,
            job_class=f.text,
            customer=f.text,
            provider=f.text,
            target_steps=f.integer,
            labels=f.mapping,
        ),
    ),
    Kind("attempt.linked", b.AttemptLinked, _fields(_RUN, _ATTEMPT), timed=False),
    Kind("attempt.same", b.AttemptSame, _fields(_ATTEMPT, ("same_as", f.key)), timed=False),
    Kind(
        "allocation.started",
        b.AllocationStarted,
        _fields(
            _ATTEMPT,
            ("scheduler", f.word("slurm", "kubernetes", "skypilot", "local")),
            ("cluster", f.text),
            ("job_id", f.text),
            ("nodes", f.texts),
            ("capacity", f.word(*CAPACITIES)),
            run=f.key,
            gpus=f.allocated_gpus,
            gpu_count=f.gpu_count,
            gpu_type=f.text,
            zone=f.text,
            tier=f.text,
        ),
    ),
    Kind("allocation.suspended", b.AllocationSuspended, _fields(_ATTEMPT)),
    Kind("allocation.resumed", b.AllocationResumed, _fields(_ATTEMPT)),
    Kind(
        "allocation.notice",
        b.AllocationNotice,
        _fields(_ATTEMPT, ("by", f.word("provider", "scheduler")), ("deadline", _MAYBE_INSTANT)),
    ),
    Kind(
        "allocation.ended",
        b.AllocationEnded,
        _fields(
            _ATTEMPT,
            (
                "ended_by",
                f.word(*ENDED_BY),
            ),
            state=f.text,
            exit_code=f.integer,
            signal=f.integer,
        ),
    ),
    Kind(
        "allocation.row",
        b.AllocationRow,
        _fields(
            ("scheduler", f.text),
            ("cluster", f.text),
            ("raw", f.mapping),
            ("resolution_us", f.integer),
        ),
        timed=False,
    ),
    Kind("device.inventory", b.DeviceInventory, _fields(_NODE, ("devices", f.devices))),
    Kind(
        "telemetry.watch",
        b.TelemetryWatch,
        _fields(
            _NODE,
            ("source", f.text),
            ("engine", f.text),
            ("cadence_us", f.nullable(f.integer)),
            ("keep_us", f.nullable(f.integer)),
            ("gpus", f.nullable(f.texts)),
        ),
    ),
    Kind("telemetry.engine_started", b.EngineStarted, _fields(_NODE, ("engine", f.text))),
    Kind(
        "telemetry.points",
        b.Points,
        _fields(
            ("gpu", f.text), ("metric", f.text), ("cadence_us", f.integer), ("points", f.points)
        ),
        timed=False,
    ),
    Kind(
        "telemetry.samples",
        b.Samples,
        _fields(
            ("segment", f.text),
            ("path", f.text),
            ("rows", f.integer),
            ("from", f.instant),
            ("to", f.instant),
            ("gpus", f.texts),
            ("cadence_us", f.integer),
            ("metric", f.text),
        ),
        timed=False,
    ),
    Kind(
        "telemetry.dropped",
        b.SegmentDropped,
        _fields(("segment", f.text), ("policy", f.text), ("windows", kept_windows)),
    ),
    Kind(
        "telemetry.job_stats",
        b.JobStats,
        _fields(
            _ATTEMPT,
            ("gpu", f.text),
            ("start", f.instant),
            ("end", f.instant),
            ("keep_us", f.nullable(f.integer)),
            ("energy_mj", f.statistic),
            ("power_w", f.statistic),
            ("sm_util", f.statistic),
            ("mem_util", f.statistic),
            ("processes", f.statistic),
        ),
    ),
    Kind(
        "telemetry.scrape_failed",
        b.ScrapeFailed,
        _fields(_NODE, ("from", f.instant), ("to", f.instant), ("reason", f.text)),
        timed=False,
    ),
    Kind("progress.started", b.ProgressStarted, _fields(_ATTEMPT, ("writer", f.text))),
    Kind("progress.step", b.ProgressStep, _fields(_ATTEMPT, _STEP, ("every", f.integer))),
    Kind(
        "progress.waiting",
        b.ProgressWaiting,
        _fields(
            _ATTEMPT,
            ("reason", f.word(*WAITING_REASONS)),
        ),
    ),
    Kind("progress.resumed", b.ProgressResumed, _fields(_ATTEMPT)),
    Kind("checkpoint.begun", b.CheckpointBegun, _SAVED),
    Kind("checkpoint.committed", b.CheckpointCommitted, _SAVED),
    Kind(
        "checkpoint.verified",
        b.CheckpointVerified,
        _fields(_ATTEMPT, _CHECKPOINT, ("ok", f.boolean)),
    ),
    Kind(
        "checkpoint.restored",
        b.CheckpointRestored,
        _fields(_ATTEMPT, ("checkpoint", f.nullable(f.text)), _STEP),
    ),
    Kind("output.accepted", b.OutputAccepted, _JUDGED),
    Kind("output.rejected", b.OutputRejected, _JUDGED),
    Kind(
        "decision.resolution",
        b.Resolution,
        _fields(
            _RUN,
            _ATTEMPT,
            ("from", f.instant),
            ("to", f.instant),
            ("gpus", f.nullable(f.texts)),
            ("clause", f.text),
            ("disposition", f.resolved_disposition),
            ("by", f.text),
            ("note", f.text),
        ),
    ),
    Kind(
        "decision.adjustment",
        b.Adjustment,
        _fields(
            _RUN,
            ("amount", f.amount),
            ("currency", f.text),
            ("clause", f.text),
            ("by", f.text),
            ("note", f.text),
        ),
    ),
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}
