"""What an operator sets for a node: ``NAME=VALUE`` lines, which systemd reads as well.

A hook has next to no environment, so the file is named when the hook is installed. A line that
cannot be read is passed over and named by ``problems``: a hook goes on with the defaults.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from tallystick.emit.command import PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = Path("/etc/tallystick/node.env")
_FILE_BYTES_MAX = 1 << 20

SECOND_US = 10**6


class Settings(NamedTuple):
    """How hooks and the shipper work on this node.

    ``capacity`` and ``gpu_type`` are pairs of partition and word; the empty partition is any.
    """

    spool: Path = Path("/var/spool/tallystick")
    spool_bytes_max: int = 1 << 30
    cluster: str | None = None
    capacity: tuple[tuple[str, str], ...] = ()
    gpu_type: tuple[tuple[str, str], ...] = ()
    index_is: str = "minor"
    dcgm: str = "auto"
    dcgm_interval_us: int = 30 * SECOND_US
    dcgm_keep_us: int = 86_400 * SECOND_US
    wall_us: int = 5 * SECOND_US
    cpu_us: int = 300_000
    trust_users: tuple[str, ...] = ("slurm",)
    path: str = PATH
    problems: tuple[str, ...] = ()

    def capacity_of(self, partition: str) -> str:
        """Give the capacity of a partition, ``unknown`` where none was declared."""
        return _of(self.capacity, partition) or "unknown"

    def gpu_type_of(self, partition: str) -> str | None:
        """Give the GPU type that was declared for a partition, or for all."""
        return _of(self.gpu_type, partition)

    def trusted_uids(self) -> tuple[int, ...]:
        """Give the users, besides root, that may write for any producer: Slurm's own."""
        import pwd  # noqa: PLC0415 (hooks do not need it)

        known = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
        return tuple(known[name] for name in self.trust_users if name in known)


_CAPACITIES = ("spot", "on_demand", "reserved", "unknown")


def _of(pairs: tuple[tuple[str, str], ...], partition: str) -> str | None:
    words = dict(pairs)
    return words.get(partition, words.get(""))


def read_settings(path: Path = FILE, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of a file; what the environment says comes before it."""
    stated: dict[str, str] = {}
    problems = []
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_BYTES_MAX).decode("utf-8", errors="replace")
    except OSError as error:
        text = ""
        problems.append(f"{path}: {(error.strerror or str(error)).lower()}")
    for number, line in enumerate(text.split("\n"), start=1):
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            stated[name.strip()] = _unquoted(value.strip())
        elif name and not name.startswith("#"):
            problems.append(f"{path} line {number}: expected NAME=VALUE")
    stated.update({k: v for k, v in (environment or {}).items() if k in _READERS})
    found: dict[str, Any] = {}
    for name, value in stated.items():
        if name not in _READERS:
            continue
        key, read = _READERS[name]
        try:
            found[key] = read(value)
        except ValueError as error:
            problems.append(f"{name}: {error}")
    return Settings()._replace(**found, problems=tuple(problems))


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _path(text: str) -> Path:
    if not text.startswith("/"):
        raise ValueError("expected an absolute path")
    return Path(text)


def _bytes(text: str) -> int:
    number = int(text)
    if number < 1 << 16:
        raise ValueError("expected at least 65536 bytes")
    return number


def _microseconds(text: str) -> int:
    whole, _, part = text.partition(".")
    if not (whole + part).isdigit() or len(part) > 6 or len(whole) > 9:
        raise ValueError("expected seconds, such as 30 or 0.5")
    us = int(whole or "0") * SECOND_US + int(part.ljust(6, "0"))
    if us == 0:
        raise ValueError("expected more than 0 seconds")
    return us


def _word(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"expected {' or '.join(words)}, got {text!a}")
        return text

    return read


def _name(text: str) -> str:
    if not text or not text.isprintable() or set(text) & set(" :") or len(text.encode()) > 64:
        raise ValueError("expected a name without spaces and colons")
    return text


def _folders(text: str) -> str:
    if not all(folder.startswith("/") for folder in text.split(":")):
        raise ValueError("expected absolute paths with colons between them")
    return text


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for token in text.split():
        partition, equals, word = token.rpartition("=")
        if not word or (equals and not partition):
            raise ValueError(f"expected PARTITION=WORD, got {token!a}")
        pairs.append((partition, word))
    return tuple(pairs)


def _capacities(text: str) -> tuple[tuple[str, str], ...]:
    pairs = _pairs(text)
    for _, word in pairs:
        if word not in _CAPACITIES:
            raise ValueError(f"expected {', '.join(_CAPACITIES)}, got {word!a}")
    return pairs


_READERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "TALLYSTICK_SPOOL": ("spool", _path),
    "TALLYSTICK_SPOOL_BYTES": ("spool_bytes_max", _bytes),
    "TALLYSTICK_CLUSTER": ("cluster", _name),
    "TALLYSTICK_CAPACITY": ("capacity", _capacities),
    "TALLYSTICK_GPU_TYPE": ("gpu_type", _pairs),
    "TALLYSTICK_SLURM_INDEX": ("index_is", _word("minor", "nvml")),
    "TALLYSTICK_DCGM": ("dcgm", _word("auto", "command", "bindings", "off")),
    "TALLYSTICK_DCGM_INTERVAL": ("dcgm_interval_us", _microseconds),
    "TALLYSTICK_DCGM_KEEP": ("dcgm_keep_us", _microseconds),
    "TALLYSTICK_HOOK_WALL": ("wall_us", _microseconds),
    "TALLYSTICK_HOOK_CPU": ("cpu_us", _microseconds),
    "TALLYSTICK_TRUST_USERS": ("trust_users", _words),
    "TALLYSTICK_PATH": ("path", _folders),
}
