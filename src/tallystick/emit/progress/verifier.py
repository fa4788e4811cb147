"""Hashing checkpoints beside training: a manifest with digests, one checkpoint after another.

A commit says that the files are there; the manifest says what they hold, so that anybody can
tell later whether they still do. Training never waits for it.
"""

from __future__ import annotations

import os
import queue
import threading
from typing import TYPE_CHECKING, Any, Callable

from tallystick.emit.checkpoint.errors import BadCheckpointError
from tallystick.emit.checkpoint.manifest import make_manifest, write_manifest

if TYPE_CHECKING:
    from tallystick.emit.checkpoint.listing import Listing

CLOSE_S = 600.0


class Verifier:
    """Hashes what was committed, in one thread of its own."""

    def __init__(self, *, run: str | None, attempt: str) -> None:
        """Wait for something to hash.

        Args:
            run: The run that manifests name.
            attempt: The attempt that they name.
        """
        self._run, self._attempt = run, attempt
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def verify(self, files: Listing, facts: dict[str, Any], report: Callable[..., None]) -> None:
        """Hash the files of a checkpoint soon, and report what came of it."""
        if self._process != os.getpid():  # A fork has no threads of its parent.
            self._queue, self._thread, self._process = queue.SimpleQueue(), None, os.getpid()
        self._queue.put((files, facts, report))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="tallystick", daemon=True)
            self._thread.start()

    def close(self, limit_s: float = CLOSE_S) -> None:
        """Wait for what is under way; what takes longer is not verified."""
        if self._thread is not None and self._process == os.getpid():
            self._queue.put(None)
            self._thread.join(limit_s)
            self._thread = None

    def _work(self) -> None:
        for files, facts, report in iter(self._queue.get, None):
            try:
                manifest = make_manifest(files, run=self._run, attempt=self._attempt, **facts)
                write_manifest(manifest)
            except (BadCheckpointError, OSError) as error:
                # It is gone already, or grows again: that is no proof that it was bad.
                report("checkpoint.unverified", {**facts, "reason": str(error)[:999]})
                continue
            report("checkpoint.verified", {**facts, "ok": True, "digest": manifest.digest})
