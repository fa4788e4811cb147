"""Our own failures, which training must not see, apart from those that only pass through.

A signal handler of the job may raise while one of our calls runs: that is the job's own way to
stop, and has to reach it.
"""

from __future__ import annotations

import os

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
_STANDARD = os.path.dirname(os.path.abspath(os.__file__))  # noqa: PTH100, PTH120
_INSTALLED = ("site-packages", "dist-packages")


def wording(error: Exception) -> str:
    """Say what went wrong: in the system's words where it was the system."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror.lower()}"
    return f"{type(error).__name__}: {error}"


def is_ours(error: BaseException) -> bool:
    """Tell whether an error arose in this package, or in the standard library under it."""
    trace = error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        is_standard = path.startswith((_STANDARD, "<frozen ")) and not any(
            folder in path[len(_STANDARD) :] for folder in _INSTALLED
        )
        if not is_standard and not path.startswith(_OURS):
            return False
        trace = trace.tb_next
    return True
