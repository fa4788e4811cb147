"""What a server is started with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tallystick.app.ingest import Limits


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Which store, where to listen, how much to take, and whom to tell."""

    store: Path
    host: str
    port: int
    tls_cert: Path | None
    tls_key: Path | None
    limits: Limits
    notice: Callable[[str], None]
