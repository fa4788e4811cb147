"""A training job for tests: a run that reports into a spool, and what came of it."""

import json
import os
from pathlib import Path
from typing import Any

from tallystick.emit.part import Part
from tallystick.emit.progress.attach import attach
from tallystick.emit.progress.run import Run

Json = dict[str, Any]
OWN = ("monotonic_us", "writer", "attempt")


def new_run(spool: Path, *, attempt: str = "a", **options: Any) -> Run:
    """Attach to a run under a name that nothing in the environment gives."""
    run = attach("r", attempt=attempt, spool=spool, **options)
    assert run.problem is None
    return run


def told(spool: Path) -> list[Json]:
    """Read what all journals of the caller say, as records, writer by writer."""
    with Part(spool, os.geteuid()) as part:
        names = part.journals.names()
        lines = [entry.line for name in names for entry in part.journals.entries(name)]
    return [json.loads(line) for line in lines if line is not None]


def events(spool: Path, *kinds: str) -> list[Json]:
    """Give the bodies of some kinds, of all but the first word if none is named."""
    records = [each for each in told(spool) if not kinds or each["kind"] in kinds]
    return [
        {name: value for name, value in each["body"].items() if name not in OWN}
        for each in records
        if kinds or each["kind"] not in {"attempt.linked", "progress.started"}
    ]


def kinds(spool: Path) -> list[str]:
    """Give the kinds of what was said, in order."""
    return [each["kind"] for each in told(spool)]


def steps(spool: Path) -> list[tuple[int, int]]:
    """Give the steps that were reported, with their strides."""
    return [(body["step"], body["every"]) for body in events(spool, "progress.step")]
