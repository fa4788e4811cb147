"""Evidence lines among the inputs: records that exist already and are handed on unchanged."""

import json
from collections.abc import Iterator
from typing import Any

from tallystick.collectors.slurm.row import Place
from tallystick.core.finding import InputFinding
from tallystick.evidence.codec import RefusedLineError, read_line


def read_evidence(text: str, place: Place) -> Iterator[dict[str, Any] | InputFinding]:
    """Give each record as it stands, or the reason why its line is none."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip(" \t\r"):
            continue
        data = line.encode(errors="surrogateescape")
        try:
            read_line(data)
        except RefusedLineError as error:
            yield Place(place.file, place.source, number).finding(error.code, error.message)
        else:
            yield json.loads(data)
