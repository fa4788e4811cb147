"""What the small trainer is asked to train, as its launcher hands it to the workers."""

from dataclasses import dataclass
from typing import Final

ENDED_ON_NOTICE: Final = 75
"""Exit status of a job that saved because it was told that it would be interrupted."""
RESULT: Final = "result.npy"
"""Where the result is, below the folder of the run."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is trained."""

    workers: int
    steps: int
    save_every: int
    seed: int
    step_ms: int
    """How long a step takes at least."""
    saves_on_notice: bool
    start: int
    """Which start of the run this is, from 1."""

    def argv(self) -> list[str]:
        """Give the arguments that say the same."""
        return [
            *("--workers", str(self.workers), "--steps", str(self.steps)),
            *("--save-every", str(self.save_every), "--seed", str(self.seed)),
            *("--step-ms", str(self.step_ms)),
            *("--on-notice", "save" if self.saves_on_notice else "end"),
            *("--start", str(self.start)),
        ]
