"""The words that evidence and timeline use, as far as contracts name them.

A word outside these is no mistake, since later versions may add some, but today it never
matches anything.
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
    "suspended",
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

CONDITION_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "ended_by": ENDED_BY,
    "telemetry": ("observed", "unknown", *(f"unknown:{reason}" for reason in GAP_REASONS)),
    "progress": (*PROGRESS_CLASSES, *(f"waiting:{reason}" for reason in WAITING_REASONS)),
    "allocation": ALLOCATION_CLASSES,
    "capacity": CAPACITIES,
}
"""What each condition of a rule can match, where the words are known in advance."""
