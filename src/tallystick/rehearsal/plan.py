"""A plan: what is rehearsed, where it is interrupted, and when it is given up.

``read_plan`` makes one from TOML. Fault ``k`` interrupts attempt ``k`` of the run, so faults in
a row are faults in a list.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tallystick.rehearsal.places import KubernetesPlace, SlurmPlace

SCHEMA = "tallystick.plan/1"
TWIN_SUFFIX = ".uninterrupted"

RouteName = Literal["local", "slurm", "kubernetes"]
When = Literal["step", "saving", "before_first_save", "restoring", "time"]
EndedBy = Literal["provider", "scheduler", "hardware", "maintenance"]
OnNotice = Literal["save", "end"]
Capacity = Literal["spot", "on_demand", "reserved", "unknown"]


@dataclass(frozen=True, slots=True)
class Trainer:
    """Our own small trainer as the job."""

    workers: int
    steps: int
    save_every: int
    seed: int
    step_ms: int
    """How long a step takes at least."""
    on_notice: OnNotice
    """On SIGTERM: ``save`` and end, or ``end`` at once as a program does that knows no better."""


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """The job: our trainer, or a command of the user's own."""

    trainer: Trainer | None
    command: tuple[str, ...]
    """Empty if it is our trainer. ``{plan}`` and ``{work}`` in it stand for the folder of the
    plan and for that of the run."""
    environment: tuple[tuple[str, str], ...]
    result: str
    """Path of the file with the final result, below the folder of the run."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The GPUs that the job holds, or would hold if the machine had some."""

    gpu_count: int
    gpu_type: str
    capacity: Capacity
    zone: str | None
    tier: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """One interruption."""

    when: When
    step: int | None
    """``step``: after it; ``saving``: the save of it, None is the next one;
    ``before_first_save``: after it."""
    after_us: int | None
    """``time``: so long after the attempt began."""
    target: str
    """``all`` or ``rank:N``."""
    notice_us: int | None
    """How long before it the job is told; None is not at all."""
    wait_us: int
    """How long the replacement takes to come, at least."""
    ended_by: EndedBy


@dataclass(frozen=True, slots=True)
class Limits:
    """When something is given up."""

    attempts_max: int
    restarts_without_progress_max: int
    attempt_us: int
    """An attempt that takes longer is ended."""
    detection_us: int
    """What is left of an attempt so long after a fault is ended."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A rehearsal, as its file states it."""

    run: str
    route: RouteName
    job: PlannedJob
    allocation: Allocation
    faults: tuple[Fault, ...]
    limits: Limits
    tolerance: Fraction
    """Largest difference of any number in the result; 0 is bit for bit."""
    tolerance_text: str
    promised_notice_us: int | None
    contract: str
    """Path of the contract, from the folder of the plan."""
    provider: str | None
    slurm: SlurmPlace | None
    """There if the route is Slurm."""
    kubernetes: KubernetesPlace | None
    """There if the route is Kubernetes."""
    digest: str

    @property
    def twin(self) -> str:
        """Name of the run that is not interrupted."""
        return f"{self.run}{TWIN_SUFFIX}"
