"""Findings: what is wrong with data, as values that travel beside the result.

A finding has a stable ``code`` (listed in ``docs/errors.md``) and a message for people. On
a receipt it names the attempt it concerns; at a door it names the file, line or input.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the data does not settle, contradicts, or could not say."""

    code: str
    message: str
    attempt: str | None = None


@dataclass(frozen=True, slots=True)
class InputFinding:
    """A finding about an input rather than about a run.

    ``file`` is the 1-based place of the file on the command line, ``source`` its name,
    ``line`` the 1-based line within it, ``digest`` that of the refused record;
    ``attempt`` or ``run`` what is named and not known.
    """

    code: str
    message: str
    line: int | None = None
    file: int | None = None
    source: str | None = None
    digest: str | None = None
    attempt: str | None = None
    run: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the stated fields only."""
        fields = (
            ("code", self.code),
            ("message", self.message),
            ("file", self.file),
            ("source", self.source),
            ("line", self.line),
            ("digest", self.digest),
            ("attempt", self.attempt),
            ("run", self.run),
        )
        return {name: value for name, value in fields if value is not None}
