"""Typed bodies, one class for each kind of record that the kernel reads.

Field names are those of the format (``docs/spec/evidence.md``), with ``_us`` where a time or a
duration has become integer microseconds. An optional field that is absent is None.
"""

from typing import Any

import msgspec


class Body(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a record says; the base of all kinds."""


class RunDeclared(Body, frozen=True, kw_only=True, gc=False):
    """A run exists, and what kind of work it is."""

    run: str
    job_class: str | None = None
    customer: str | None = None
    provider: str | None = None
    target_steps: int | None = None
    labels: dict[str, Any] | None = None


class AttemptLinked(Body, frozen=True, kw_only=True, gc=False):
    """An attempt belongs to a run."""

    run: str
    attempt: str


class AttemptSame(Body, frozen=True, kw_only=True, gc=False):
    """Two sources know one attempt by different keys."""

    attempt: str
    same_as: str


class AllocatedGpu(msgspec.Struct, frozen=True, gc=False):
    """A GPU that an allocation names."""

    uuid: str
    node: str


class AllocationStarted(Body, frozen=True, kw_only=True, gc=False):
    """An attempt was given GPUs."""

    attempt: str
    scheduler: str
    cluster: str
    job_id: str
    nodes: tuple[str, ...]
    capacity: str
    run: str | None = None
    gpus: tuple[AllocatedGpu, ...] | None = None
    gpu_count: int | None = None
    gpu_type: str | None = None
    zone: str | None = None
    tier: str | None = None


class AllocationSuspended(Body, frozen=True, kw_only=True, gc=False):
    """The attempt was stopped while it kept its GPUs."""

    attempt: str


class AllocationResumed(Body, frozen=True, kw_only=True, gc=False):
    """A suspended attempt goes on."""

    attempt: str


class AllocationNotice(Body, frozen=True, kw_only=True, gc=False):
    """Somebody said that the GPUs will be taken back."""

    attempt: str
    by: str
    deadline_us: int | None


class AllocationEnded(Body, frozen=True, kw_only=True, gc=False):
    """The GPUs were given back or taken away."""

    attempt: str
    ended_by: str
    state: str | None = None
    exit_code: int | None = None
    signal: int | None = None


class AllocationRow(Body, frozen=True, kw_only=True, gc=False):
    """A scheduler's row as it was read."""

    scheduler: str
    cluster: str
    raw: dict[str, Any]
    resolution_us: int


class Device(msgspec.Struct, frozen=True, gc=False):
    """A device that a look at a node found."""

    uuid: str
    index: int
    mig: bool


class DeviceInventory(Body, frozen=True, kw_only=True, gc=False):
    """What devices a node had at a moment."""

    node: str
    devices: tuple[Device, ...]


class TelemetryWatch(Body, frozen=True, kw_only=True, gc=False):
    """Watching began; None in ``gpus`` is every GPU of the node."""

    node: str
    source: str
    engine: str
    cadence_us: int | None
    keep_us: int | None
    gpus: tuple[str, ...] | None


class EngineStarted(Body, frozen=True, kw_only=True, gc=False):
    """The engine that keeps samples started, with empty memory."""

    node: str
    engine: str


class Points(Body, frozen=True, kw_only=True, gc=False):
    """A small series: pairs of a time and the text of a value, None where it was blank."""

    gpu: str
    metric: str
    cadence_us: int
    points: tuple[tuple[int, str | None], ...]


class Samples(Body, frozen=True, kw_only=True, gc=False):
    """A series kept outside, in a segment named by its digest."""

    segment: str
    path: str
    rows: int
    from_us: int
    to_us: int
    gpus: tuple[str, ...]
    cadence_us: int
    metric: str


class KeptWindow(msgspec.Struct, frozen=True, gc=False):
    """What a segment said of a window of one series of a GPU: its episodes and blanks."""

    gpu: str
    metric: str
    cadence_us: int
    start_us: int
    end_us: int
    reach_us: int
    episodes: tuple[tuple[int, int], ...]
    blank_us: tuple[int, ...]
    has_impossible: bool


class SegmentDropped(Body, frozen=True, kw_only=True, gc=False):
    """A segment is no longer kept, and what it said of the windows it was asked about."""

    segment: str
    policy: str
    windows: tuple[KeptWindow, ...]


StatValue = int | str | None


class JobStats(Body, frozen=True, kw_only=True, gc=False):
    """An engine's summary of one GPU over one attempt, as it was read."""

    attempt: str
    gpu: str
    start_us: int
    end_us: int
    keep_us: int | None
    energy_mj: StatValue
    power_w: StatValue
    sm_util: StatValue
    mem_util: StatValue
    processes: StatValue


class ScrapeFailed(Body, frozen=True, kw_only=True, gc=False):
    """The collector could not reach a node over a stretch of time."""

    node: str
    from_us: int
    to_us: int
    reason: str


class ProgressStarted(Body, frozen=True, kw_only=True, gc=False):
    """First sign of life of the application."""

    attempt: str
    writer: str


class ProgressStep(Body, frozen=True, kw_only=True, gc=False):
    """``step`` optimiser steps of the lineage are complete, reported every ``every``."""

    attempt: str
    step: int
    every: int


class ProgressWaiting(Body, frozen=True, kw_only=True, gc=False):
    """The application waits for something."""

    attempt: str
    reason: str


class ProgressResumed(Body, frozen=True, kw_only=True, gc=False):
    """The application goes on."""

    attempt: str


class CheckpointSave(Body, frozen=True, kw_only=True, gc=False):
    """What the events of a save have in common."""

    attempt: str
    checkpoint: str
    step: int
    blocking: bool = True
    digest: str | None = None
    bytes: int | None = None


class CheckpointBegun(CheckpointSave, frozen=True, kw_only=True, gc=False):
    """Saving began; training stands still if it blocks."""


class CheckpointCommitted(CheckpointSave, frozen=True, kw_only=True, gc=False):
    """Every shard is there."""


class CheckpointVerified(Body, frozen=True, kw_only=True, gc=False):
    """Somebody read a checkpoint back."""

    attempt: str
    checkpoint: str
    ok: bool


class CheckpointRestored(Body, frozen=True, kw_only=True, gc=False):
    """The state that the attempt goes on from; step 0 and no checkpoint if it is fresh."""

    attempt: str
    checkpoint: str | None
    step: int


class OutputVerdict(Body, frozen=True, kw_only=True, gc=False):
    """What a verdict on a run's output says."""

    run: str
    by: str
    criterion: str
    step: int | None = None
    digest: str | None = None


class OutputAccepted(OutputVerdict, frozen=True, kw_only=True, gc=False):
    """Somebody accepted the run's output."""


class OutputRejected(OutputVerdict, frozen=True, kw_only=True, gc=False):
    """Somebody rejected the run's output."""


class Resolution(Body, frozen=True, kw_only=True, gc=False):
    """The parties decide held time; None in ``gpus`` is every GPU of the attempt."""

    run: str
    attempt: str
    from_us: int
    to_us: int
    gpus: tuple[str, ...] | None
    clause: str
    disposition: str
    by: str
    note: str


class Adjustment(Body, frozen=True, kw_only=True, gc=False):
    """The parties add or take away an amount, beside usage."""

    run: str
    amount: str
    currency: str
    clause: str
    by: str
    note: str
