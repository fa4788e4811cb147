"""Evidence lines among the inputs: records that exist already and are handed on unchanged."""

import json
from collections.abc import Iterator
from typing import Any

from tallystick.collectors.collected import Source
from tallystick.core.finding import InputFinding
from tallystick.evidence.codec import RefusedLineError, read_line


def read_evidence(source: Source) -> Iterator[dict[str, Any] | InputFinding]:
    """Give each record as it stands, or the reason why its line is none."""
    for place, line in source.lines():
        try:
            read_line(line)
        except RefusedLineError as error:
            yield place.finding(error.code, error.message)
        else:
            yield json.loads(line)
