"""What a job says while it runs, read from its journals in a spool.

The shipper sends the same lines later; reading them here takes nothing away from it.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.emit.progress.journal import FOLDER, SUFFIX
from tallystick.emit.progress.lines import LINE_BYTES_MAX, Header, read_header, read_line

READ_BYTES_MAX = 4 << 20


class _Place(NamedTuple):
    """How far a journal was read, and who writes it; None if it is none or of somebody else."""

    header: Header | None
    end: int


class JournalTail:
    """The records of one attempt, as they come."""

    def __init__(self, spool: Path, attempt: str) -> None:
        self._spool = spool
        self._attempt = attempt
        self._places: dict[Path, _Place] = {}

    def read(self) -> tuple[dict[str, Any], ...]:
        """Give the records that are new since the last call; half a line waits for its end."""
        records: list[dict[str, Any]] = []
        for path in sorted(self._spool.glob(f"*/{FOLDER}/*{SUFFIX}")):
            with suppress(OSError):  # It was removed, or is closed to us.
                records += self._read(path)
        return tuple(records)

    def _read(self, path: Path) -> list[dict[str, Any]]:
        place = self._places.get(path)
        if place is None:
            place = self._places[path] = self._first_line(path)
        if place.header is None:
            return []
        with path.open("rb") as file:
            file.seek(place.end)
            data = file.read(READ_BYTES_MAX)
        whole = data[: data.rfind(b"\n") + 1]
        self._places[path] = _Place(place.header, place.end + len(whole))
        # Their numbers are the shipper's business; here they all have the same.
        records = (read_line(place.header, 0, line) for line in whole.split(b"\n"))
        return [record for record in records if record is not None]

    def _first_line(self, path: Path) -> _Place:
        """Read who writes a journal, which appears with its first line."""
        with path.open("rb") as file:
            line = file.readline(LINE_BYTES_MAX)
        header = read_header(line)
        is_ours = header is not None and header.attempt == self._attempt
        return _Place(header if is_ours else None, len(line))
