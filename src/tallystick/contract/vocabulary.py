"""The words that a rule's conditions can match.

A word outside these is no mistake, since later versions may add some, but today it never
matches anything.
"""

from typing import Final

from tallystick.core.vocabulary import (
    ALLOCATION_CLASSES,
    CAPACITIES,
    ENDED_BY,
    GAP_REASONS,
    PROGRESS_CLASSES,
    WAITING_REASONS,
)

CONDITION_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "ended_by": ENDED_BY,
    "telemetry": ("observed", "unknown", *(f"unknown:{reason}" for reason in GAP_REASONS)),
    "progress": (
        *PROGRESS_CLASSES,
        *(f"waiting:{reason}" for reason in (*WAITING_REASONS, "suspended")),
    ),
    "allocation": ALLOCATION_CLASSES,
    "capacity": CAPACITIES,
}
"""What each condition of a rule can match, where the words are known in advance."""
