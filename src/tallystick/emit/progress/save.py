"""One save of a checkpoint: begun, and committed once every file of it is there."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Callable

from tallystick.emit.checkpoint.errors import BadCheckpointError
from tallystick.emit.checkpoint.listing import listing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from tallystick.emit.progress.verifier import Verifier

Report = Callable[..., None]


class Save:
    """A save that is under way. It ends once: committed, or abandoned with a reason."""

    def __init__(
        self,
        report: Report,
        name: str,
        step: int,
        paths: Iterable[os.PathLike[str] | str],
        *,
        is_blocking: bool,
        verifier: Verifier | None,
    ) -> None:
        """Describe a save that has not begun.

        Args:
            report: Keeps an event: its kind, its body, and whether to sync it.
            name: Of the checkpoint.
            step: Steps that are complete in it.
            paths: All its files and folders.
            is_blocking: Whether training stands still meanwhile.
            verifier: Hashes the files after the commit, None for not at all.
        """
        self._report = report
        self._facts: dict[str, Any] = {"checkpoint": name, "step": step}
        self._paths = (paths,) if isinstance(paths, (str, os.PathLike)) else paths
        self._is_blocking = is_blocking
        self._verifier = verifier
        self._lock = threading.Lock()
        self._is_begun = self._is_over = False

    def begin(self) -> None:
        """Report that writing begins."""
        if not self._is_begun:
            self._is_begun = True
            self._tell("checkpoint.begun", blocking=self._is_blocking)

    def commit(self) -> None:
        """Report that every file is written; abandoned if one is not there."""
        if not self._end():
            return
        try:
            paths = [os.fspath(path) for path in self._paths]
            files = listing(paths) if paths else None
        except (BadCheckpointError, OSError, TypeError, ValueError) as error:
            self._tell("checkpoint.abandoned", reason=str(error)[:999])
            return
        if files is None:
            self._tell("checkpoint.committed", blocking=self._is_blocking)
            return
        self._tell("checkpoint.committed", blocking=self._is_blocking, bytes=files.total_bytes)
        if self._verifier is not None:
            self._verifier.verify(files, self._facts, self._report)

    def fail(self, reason: object) -> None:
        """Report that the save came to nothing."""
        if self._end():
            self._tell("checkpoint.abandoned", reason=str(reason)[:999])

    def __enter__(self) -> Save:  # noqa: PYI034 (Self came with Python 3.11)
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.fail(f"{kind.__name__}: {error}")

    def _end(self) -> bool:
        """Tell whether this is the one end."""
        with self._lock:
            is_over, self._is_over = self._is_over, True
        return not is_over

    def _tell(self, kind: str, **facts: Any) -> None:
        self._report(kind, {**self._facts, **facts}, sync=True)
