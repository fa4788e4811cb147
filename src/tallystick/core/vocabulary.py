"""The words that evidence, timeline, contracts and collectors share, one meaning each.

They are part of the format: none is renamed, and a new one is a new version.
"""

from typing import Final

ENDED_BY: Final = (
    "completed",
    "user",
    "scheduler",
    "provider",
    "hardware",
    "time_limit",
    "maintenance",
    "unknown",
)
CAPACITIES: Final = ("spot", "on_demand", "reserved", "unknown")
ALLOCATION_CLASSES: Final = ("held", "suspended", "notice")
GAP_REASONS: Final = (
    "mig",
    "engine_restart",
    "device_lost",
    "collector_down",
    "retention",
    "blank",
    "clock",
    "late_watch",
    "lost_tail",
    "no_samples",
    "unexplained",
    "unsupported",
)
WAITING_REASONS: Final = (
    "checkpoint_storage",
    "data",
    "collective",
    "compile",
    "other",
)
PROGRESS_CLASSES: Final = (
    "starting",
    "advancing",
    "replaying",
    "discarded",
    "mixed",
    "saving",
    "waiting",
    "unknown",
)

PROGRESS_KINDS: Final = (
    "progress.started",
    "progress.step",
    "progress.waiting",
    "progress.resumed",
    "checkpoint.begun",
    "checkpoint.committed",
    "checkpoint.restored",
)
"""Kinds of records that show an application at work; a verification comes from outside."""
