"""A run as its job sees it: the handle that a training loop reports through.

No method raises, whatever happens to the disk or the arguments: training goes on, the first
problem is said once on standard error and stays in ``problem``, and what was not kept leaves
a hole in the journal's numbers. Methods may be called from threads and signal handlers; a
process that forks goes on as a writer of its own.
"""

from __future__ import annotations

import atexit
import operator
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Callable

from tallystick.emit.progress.lines import event_line
from tallystick.emit.progress.save import Save
from tallystick.emit.progress.shield import is_ours, wording
from tallystick.emit.progress.whereabouts import is_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tallystick.emit.progress.journal import Journal
    from tallystick.emit.progress.verifier import Verifier

WAIT_REASONS = frozenset({"checkpoint_storage", "data", "collective", "compile", "other"})
OpenJournal = Callable[[], "Journal"]


class Run:
    """One writer's view of a run.

    Attributes:
        id: The run, None where nobody named it.
        attempt: The attempt that all reports are about.
        problem: Why something could not be kept; None while all is well.
    """

    def __init__(
        self,
        run_id: str | None,
        attempt: str | None,
        *,
        every: int = 1,
        open_journal: OpenJournal | None = None,
        verifier: Verifier | None = None,
    ) -> None:
        """Begin to report.

        Args:
            run_id: Name of the run.
            attempt: Key of the attempt.
            every: Steps from one report to the next, at most.
            open_journal: Opens the journal of this process, None where nothing is reported.
            verifier: Hashes checkpoints in the background.
        """
        self.id = run_id
        self.attempt = attempt
        self.problem: str | None = None
        self._every = self._stride = every
        self._open_journal = open_journal
        self._verifier = verifier
        self._journal: Journal | None = None
        self._seen: int | None = None  # The step of the last call,
        self._reported: int | None = None  # and that of the last report.
        self._reopen: OpenJournal | None = None
        if open_journal is not None:
            self._start()
            os.register_at_fork(after_in_child=self._after_fork)
            atexit.register(self.close)

    def step(self, step: int) -> None:
        """Report that so many optimiser steps of the run's lineage are complete.

        Called after every step, or after every so many: the stride is seen from the calls.
        """
        try:
            seen, self._seen = self._seen, step
            if seen == step:
                return
            if seen is not None and step - seen > 1:
                # So many are between two calls, and reports can be as much further apart.
                self._stride = max(self._stride, self._every + step - seen - 1)
            last = self._reported
            if last is None or not 0 < step - last < self._every:
                self._report(step)
        except Exception as error:  # noqa: BLE001 (never into training)
            self._note(error)

    def restored(self, checkpoint: str | None, step: int = 0) -> None:
        """Report what the job goes on from; None and 0 are a fresh start.

        It is what makes lost and replayed steps exact, so it is said at every start.
        """
        if checkpoint is not None and not is_name(checkpoint):
            self._note(ValueError(f"not the name of a checkpoint: {checkpoint!r:.99}"))
            return
        self._event("checkpoint.restored", {"checkpoint": checkpoint, "step": step}, sync=True)
        self._seen = self._reported = step

    def checkpoint(
        self,
        step: int,
        paths: Iterable[os.PathLike[str] | str] = (),
        *,
        name: str | None = None,
        blocking: bool = True,
        digest: bool = True,
    ) -> Save:
        """Report a save: as a ``with`` block around it, or by hand where it goes on alone.

        Args:
            step: Steps that are complete in it.
            paths: All files and folders of it, those of every rank; without any, the end of
                the block is taken for the commit.
            name: What it is called; ``step-N`` if nothing is stated.
            blocking: Whether training stands still meanwhile.
            digest: Whether to read it again in the background, for a manifest with digests.
        """
        if name is None or not is_name(name):
            name = f"step-{step}"
        verifier = self._verifier if digest else None
        return Save(self._event, name, step, paths, is_blocking=blocking, verifier=verifier)

    @contextmanager
    def waiting(self, reason: str = "other") -> Iterator[None]:
        """Report that training stands still for the length of a block, and why.

        Args:
            reason: checkpoint_storage, data, collective, compile or other.
        """
        self._event("progress.waiting", {"reason": reason if reason in WAIT_REASONS else "other"})
        try:
            yield
        finally:
            self._event("progress.resumed", {})

    def accept(
        self,
        digest: str | None = None,
        *,
        step: int | None = None,
        by: str = "job",
        criterion: str = "finished",
    ) -> None:
        """Report that the output meets what was asked of it.

        Args:
            digest: Of the output.
            step: At which it stands.
            by: Who says so.
            criterion: What was asked.
        """
        self._verdict("output.accepted", digest, step, by, criterion)

    def reject(
        self,
        digest: str | None = None,
        *,
        step: int | None = None,
        by: str = "job",
        criterion: str = "finished",
    ) -> None:
        """Report that the output does not meet what was asked; arguments as for ``accept``."""
        self._verdict("output.rejected", digest, step, by, criterion)

    def close(self) -> None:
        """Report the last step, wait for digests that are under way, and end the journal."""
        self._report_seen()
        if self._verifier is not None:
            self._verifier.close()
        journal, self._journal, self._open_journal = self._journal, None, None
        if journal is not None:
            with suppress(OSError):
                journal.sync()
            journal.close()

    def _verdict(
        self, kind: str, digest: str | None, step: int | None, by: str, criterion: str
    ) -> None:
        if self.id is None:
            self._note(ValueError("no run is named: set TALLYSTICK_RUN_ID"))
            return
        stated = {"run": self.id, "by": by, "criterion": criterion, "step": step, "digest": digest}
        body = {key: value for key, value in stated.items() if value is not None}
        self._event(kind, body, sync=True)

    def _start(self) -> None:
        try:
            self._begin()
        except Exception as error:  # noqa: BLE001 (never into training)
            self._note(error)

    def _begin(self) -> Journal | None:
        """Open the journal of this process and say who writes; None where nothing is reported."""
        opener, self._open_journal = self._open_journal, None
        if opener is None:
            return None
        self._journal = opener()
        self._reopen = opener
        if self.id is not None:
            _write(self._journal, "attempt.linked", {"run": self.id})
        _write(self._journal, "progress.started", {})
        self._journal.sync()
        return self._journal

    def _after_fork(self) -> None:
        """Leave the parent's journal to it; the child opens one when it has something to say."""
        if self._journal is not None:
            self._journal.close()
            self._journal, self._open_journal = None, self._reopen

    def _event(self, kind: str, body: dict[str, Any], *, sync: bool = False) -> None:
        try:
            journal = self._journal or self._begin()
            if journal is None:
                return
            self._report_seen()
            _write(journal, kind, {name: _plain(value) for name, value in body.items()})
            if sync:
                journal.sync()
        except Exception as error:  # noqa: BLE001 (never into training)
            self._note(error)

    def _report_seen(self) -> None:
        """Report the last step if its report was saved up."""
        try:
            if self._seen is not None and self._seen != self._reported:
                self._report(self._seen)
        except Exception as error:  # noqa: BLE001 (never into training)
            self._note(error)

    def _report(self, step: int) -> None:
        journal = self._journal or self._begin()
        if journal is None:
            return
        now_us, monotonic_us = time.time_ns() // 1000, time.monotonic_ns() // 1000
        journal.write(b"s %d %d %d %d\n" % (now_us, monotonic_us, step, self._stride))
        self._reported = step

    def note(self, error: Exception) -> None:
        """Keep the first problem, and say it once."""
        if self.problem is None:
            self.problem = wording(error)
            with suppress(Exception):
                sys.stderr.write(f"tallystick: progress is not kept: {self.problem}\n")

    def _note(self, error: Exception) -> None:
        """Note a problem.

        Raises:
            Exception: the error itself, if it is the job's own and only passed through.
        """
        if not is_ours(error):
            raise error
        self.note(error)


def _write(journal: Journal, kind: str, body: dict[str, Any]) -> None:
    now_us, monotonic_us = time.time_ns() // 1000, time.monotonic_ns() // 1000
    journal.write(event_line(now_us, monotonic_us, kind, body))


def _plain(value: Any) -> Any:
    """Take the whole number out of what an array library calls one.

    Raises:
        TypeError: it is a fraction, which no record may hold.
    """
    if isinstance(value, float):
        raise TypeError(f"expected a whole number, found {value!r}")
    is_number = hasattr(value, "__index__") and not isinstance(value, bool)
    return operator.index(value) if is_number else value
