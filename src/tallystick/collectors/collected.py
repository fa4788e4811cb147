"""What every collector takes and gives."""

from dataclasses import dataclass, field
from typing import Any

from tallystick.core.finding import InputFinding


@dataclass(frozen=True, slots=True)
class Source:
    """One input of a call: its bytes and the name that findings use for it."""

    name: str
    data: bytes


@dataclass(slots=True)
class Collected:
    """Records in order of appearance, each once, and findings."""

    records: list[dict[str, Any]] = field(default_factory=list)
    findings: list[InputFinding] = field(default_factory=list)
