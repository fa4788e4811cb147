"""A Lightning fit for tests: a line is fitted on the CPU, in three batches an epoch.

Its text is also the beginning of scripts that fit in processes of their own. A fit may be told to
stand still in the middle of a save, so that it can be killed there.
"""

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)


class Line(pl.LightningModule):  # type: ignore[misc]  # It has no types where it is absent.
    """A line through points, which counts how often it was really changed."""

    def __init__(self, lr: float = 0.01) -> None:
        super().__init__()
        self.lr = lr
        self.line = torch.nn.Linear(4, 1)
        self.updates = 0

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """Give how far off it is."""
        del batch_idx
        return self.line(batch).pow(2).sum()

    def optimizer_step(self, *arguments: Any, **options: Any) -> None:
        """Change it."""
        super().optimizer_step(*arguments, **options)
        self.updates += 1

    def configure_optimizers(self) -> Any:
        """Give what changes it."""
        return torch.optim.SGD(self.parameters(), lr=self.lr)


class Halting(TorchCheckpointIO):  # type: ignore[misc]  # As above.
    """Says a word in the middle of the save at one step, and goes no further."""

    def __init__(self, halt_at: int) -> None:
        super().__init__()
        self._halt_at = halt_at

    def save_checkpoint(self, checkpoint: Any, path: Any, storage_options: Any = None) -> None:
        """Write half of it, or all."""
        if checkpoint["global_step"] == self._halt_at:
            Path(f"{path}.half").write_bytes(b"half")
            say("saving")
            signal.pause()
        super().save_checkpoint(checkpoint, path, storage_options)


class Acting(pl.Callback):  # type: ignore[misc]  # As above.
    """Does something once, at the end of the batch with which a step is complete."""

    def __init__(self, step: int, act: Any) -> None:
        self._step = step
        self._act = act

    def on_train_batch_end(self, trainer: Any, *rest: Any) -> None:
        """Do it."""
        del rest
        if trainer.global_step == self._step:
            self._act()


def every(count: int, folder: Path, **options: Any) -> Any:
    """Keep a checkpoint of every so many steps, each under a name of its own."""
    settings = {"filename": "{step}", "save_top_k": -1, **options}
    return ModelCheckpoint(dirpath=folder, every_n_train_steps=count, **settings)


def points(count: int = 3) -> Any:
    """Give so many batches."""
    return torch.utils.data.DataLoader(torch.ones(count, 4), batch_size=1)


def new_trainer(*callbacks: Any, make: Any = pl.Trainer, **options: Any) -> Any:
    """Make a trainer that says little, on one processor."""
    settings = {
        "accelerator": "cpu",
        "devices": 1,
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": any(isinstance(each, ModelCheckpoint) for each in callbacks),
        **options,
    }
    return make(callbacks=list(callbacks), **settings)


def notify(number: int) -> None:
    """Send a signal to this process."""
    os.kill(os.getpid(), number)


def say(word: str) -> None:
    """Tell whoever started this process where it is."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
