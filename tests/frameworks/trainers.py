"""A Hugging Face Trainer for tests: a line is fitted on the CPU, and nothing is fetched.

Its text is also the beginning of scripts that train in processes of their own. A trainer may be
told to stand still in the middle of a save, so that it can be killed there.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments


class Line(torch.nn.Module):  # type: ignore[misc]  # It has no types where it is absent.
    """A line through points."""

    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(1, 1)

    def forward(self, x: Any, labels: Any) -> dict[str, Any]:
        """Give how far off it is."""
        return {"loss": torch.nn.functional.mse_loss(self.line(x), labels)}


class Halting(Trainer):  # type: ignore[misc]  # It has no types where it is absent.
    """Says a word in the middle of the save at one step, and goes no further."""

    halt_at = -1

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        if self.state.global_step == self.halt_at:
            say("saving")
            signal.pause()
        super()._save_optimizer_and_scheduler(output_dir)


class Noticed(TrainerCallback):  # type: ignore[misc]  # As above.
    """Sends its own process SIGTERM, once, and waits until the library has taken note of it."""

    def __init__(self, trainer: Any, hook: str, step: int) -> None:
        handler = trainer.callback_handler
        (self._library,) = (
            each.jit_manager for each in handler.callbacks if hasattr(each, "jit_manager")
        )
        self._library.kill_wait = 0
        self._step = step
        self._is_sent = False
        setattr(self, hook, self._notice)
        handler.callbacks.insert(0, self)  # Before the library's own, which saves.

    def _notice(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        del args, control, rest
        if state.global_step != self._step or self._is_sent:
            return
        self._is_sent = True
        os.kill(os.getpid(), signal.SIGTERM)
        while not self._library.is_checkpoint_requested:
            time.sleep(0.001)


class Saved(TrainerCallback):  # type: ignore[misc]  # As above.
    """Says a word when a save has come back."""

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Say it."""
        del args, control, rest
        say(f"saved {state.global_step}")


def new_trainer(folder: Path, *callbacks: Any, make: Any = Halting, **options: Any) -> Any:
    """Make a trainer that saves into a folder, every ten steps if nothing else is said."""
    settings = {
        "max_steps": 30,
        "save_steps": 10,
        "per_device_train_batch_size": 1,
        "use_cpu": True,
        "report_to": [],
        "disable_tqdm": True,
        "logging_strategy": "no",
        **options,
    }
    points = [{"x": torch.tensor([float(n)]), "labels": torch.tensor([2.0 * n])} for n in range(64)]
    arguments = TrainingArguments(output_dir=str(folder), **settings)
    return make(Line(), arguments, train_dataset=points, callbacks=list(callbacks))


def say(word: str) -> None:
    """Tell whoever started this process where it is."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
