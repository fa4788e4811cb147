"""What one worker of the small trainer does: steps, saves and restores, in lockstep."""

import hashlib
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tallystick import emit
from tallystick.rehearsal.holds import holds_of
from tallystick.rehearsal.trained import ENDED_ON_NOTICE, RESULT, Settings

if TYPE_CHECKING:
    from tallystick.emit.progress.run import Run

CHECKPOINTS: Final = Path("checkpoints")
HOLD_S: Final = 60.0

_FEATURES: Final = 32
_HIDDEN: Final = 64
_BATCH: Final = 32
_RATE: Final = 0.05
_MOMENTUM: Final = 0.9
_NUMBERS: Final = _FEATURES * _HIDDEN + _HIDDEN
_POLL_S: Final = 0.01

_Floats = NDArray[np.float64]


def work(settings: Settings, rank: int, channels: list[socket.socket]) -> int:
    """Train as the worker of a rank, from the newest whole checkpoint; give the exit status.

    Raises:
        EOFError: another worker is gone.
    """
    return _Worker(settings, rank, channels).train()


class _Worker:
    """One worker: all have all weights, and each saves its own slice of them."""

    def __init__(self, settings: Settings, rank: int, channels: list[socket.socket]) -> None:
        self._settings = settings
        self._rank = rank
        self._channels = channels
        self._holds = holds_of(os.environ, settings.start)
        self._is_noticed = False
        self._step = 0
        self._state: _Floats = _first_state(settings.seed)
        """Weights, and their momentum below."""
        if settings.saves_on_notice:
            # Some schedulers tell every process; one of them is enough to save together.
            signal.signal(signal.SIGTERM, self._notice if rank == 0 else signal.SIG_IGN)
        self._run: Run = emit.attach()  # Of the other ranks it takes no word.

    def train(self) -> int:
        """Go through all steps, or up to a notice."""
        self._restore()
        while self._step < self._settings.steps:
            is_last = self._take_step()
            if is_last or self._step % self._settings.save_every == 0:
                self._save()
            if is_last:
                return ENDED_ON_NOTICE
        self._finish()
        return 0

    def _take_step(self) -> bool:
        """Take one step together with all others; tell whether it is the last for now."""
        gradient = _gradient(self._state[0], self._settings.seed, self._step, self._rank)
        told = self._sum(np.append(gradient, float(self._is_noticed)))
        weights, momentum = self._state
        momentum = _MOMENTUM * momentum + told[:-1] / self._settings.workers
        self._state = np.stack([weights - _RATE * momentum, momentum])
        time.sleep(self._settings.step_ms / 1000)
        self._step += 1
        self._run.step(self._step)
        self._hold("step", self._step)
        # A notice that came during the hold is one to all others only in the next step.
        return bool(told[-1])

    def _sum(self, part: _Floats) -> _Floats:
        """Add up what all workers have, in the order of their ranks."""
        if self._rank != 0:
            self._channels[0].sendall(part.tobytes())
            return np.frombuffer(_receive(self._channels[0], part.nbytes))
        total = part
        for channel in self._channels:
            total = total + np.frombuffer(_receive(channel, part.nbytes))
        for channel in self._channels:
            channel.sendall(total.tobytes())
        return total

    def _restore(self) -> None:
        """Go on from the newest checkpoint that is whole, if there is one."""
        self._hold("restoring", None)
        whole = sorted(CHECKPOINTS.glob("step-*"), key=lambda path: int(path.name[5:]))
        if not whole:
            self._run.restored(None, 0)
            return
        shards = sorted(whole[-1].glob("rank-*.npy"))
        self._state = np.concatenate([np.load(shard) for shard in shards], axis=1)
        self._step = int(whole[-1].name[5:])
        self._run.restored(whole[-1].name, self._step)

    def _save(self) -> None:
        """Save together: every worker writes its slice, then rank 0 gives the folder its name."""
        final = CHECKPOINTS / f"step-{self._step}"
        if final.exists():
            return
        draft = CHECKPOINTS / f".step-{self._step}"
        save = self._run.checkpoint(self._step, [final], name=final.name)
        save.begin()
        draft.mkdir(parents=True, exist_ok=True)
        part = np.array_split(self._state, self._settings.workers, axis=1)[self._rank]
        _write(draft / f"rank-{self._rank:05d}.npy", lambda file: np.save(file, part))
        self._hold("saving", self._step)
        self._sum(np.zeros(1))  # All shards are written.
        if self._rank == 0:
            draft.rename(final)
            _sync_folder(CHECKPOINTS)
            save.commit()
        self._sum(np.zeros(1))  # It has its name.

    def _finish(self) -> None:
        """Keep the result, and say that it is one."""
        if self._rank != 0:
            return
        result = Path(RESULT)
        _write(result, lambda file: np.save(file, self._state[0]))
        digest = f"sha256:{hashlib.sha256(result.read_bytes()).hexdigest()}"
        self._run.accept(digest, step=self._step)
        self._run.close()

    def _hold(self, place: str, step: int | None) -> None:
        """Stand still where a fault is to come, until it comes or a minute is over."""
        if self._rank != 0 or not self._holds & {(place, step), (place, None)}:
            return
        until_s = time.monotonic() + HOLD_S
        while time.monotonic() < until_s and not self._is_noticed:
            time.sleep(_POLL_S)

    def _notice(self, *_: object) -> None:
        self._is_noticed = True


def _first_state(seed: int) -> _Floats:
    weights = np.random.default_rng([seed, 0]).normal(scale=0.1, size=_NUMBERS)
    return np.stack([weights, np.zeros(_NUMBERS)])


def _gradient(weights: _Floats, seed: int, step: int, rank: int) -> _Floats:
    """Give the gradient of one worker's part of a batch: a network of one hidden layer.

    The batch follows from seed, step and rank alone, so a step that is taken again is the same.
    """
    random = np.random.default_rng([seed, 1, step, rank])
    inputs = random.normal(size=(_BATCH, _FEATURES))
    wanted = np.sin(inputs.sum(axis=1))
    first = weights[: _FEATURES * _HIDDEN].reshape(_FEATURES, _HIDDEN)
    second = weights[_FEATURES * _HIDDEN :]
    hidden = np.tanh(inputs @ first)
    error = (hidden @ second - wanted) / _BATCH
    back = np.outer(error, second) * (1 - hidden**2)
    return np.concatenate([(inputs.T @ back).ravel(), hidden.T @ error])


def _receive(channel: socket.socket, size: int) -> bytes:
    """Receive so many bytes.

    Raises:
        EOFError: the other end is gone.
    """
    data = bytearray()
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            raise EOFError("another worker is gone")
        data += part
    return bytes(data)


def _write(path: Path, fill: Callable[[Any], None]) -> None:
    """Write a file that is there as a whole or not at all."""
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("wb") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
