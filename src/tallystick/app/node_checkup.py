"""What works on a node: asked for real, one thing after the other, none of which is changed.

``ok`` is what works, ``warn`` what costs evidence, ``fail`` what loses it. What is not there,
such as DCGM, is no failure: the receipt then says less, and says so.
"""

import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from tallystick.app.node_files import LINES, NODE_FILE, UNIT
from tallystick.emit.command import run_command
from tallystick.emit.devices import look
from tallystick.emit.notes import read_notes
from tallystick.emit.settings import SECOND_US, Settings, read_settings

Word = Literal["ok", "warn", "fail"]
LIMIT_S: Final = 10.0
_OLD_S: Final = 3600
_SCONTROL_LINE = re.compile(r"([A-Za-z]+)\s*=\s*(.*?)\s*")


class Said(NamedTuple):
    """What one look at the node found, and what to do about it."""

    check: str
    word: Word
    message: str


@dataclass(frozen=True, slots=True)
class NodeCheckup:
    """Everything that was found."""

    said: tuple[Said, ...]

    @property
    def works(self) -> bool:
        """Whether nothing loses evidence."""
        return all(each.word != "fail" for each in self.said)

    def to_json(self) -> dict[str, Any]:
        """Give it with stable keys."""
        return {"works": self.works, "checks": [each._asdict() for each in self.said]}


def check_node(config: Path, on_check: Callable[[str], None] = lambda _: None) -> NodeCheckup:
    """Look at everything that a node needs.

    Args:
        config: Settings of the node.
        on_check: Told the name of each check as it begins.
    """
    config = config.absolute()  # As it is named in slurm.conf.
    settings = read_settings(config, os.environ)
    checks: dict[str, Callable[[], Iterator[Said]]] = {
        "settings": lambda: _settings(settings),
        "python": lambda: _python(config.parent),
        "spool": lambda: _spool(settings),
        "waiting": lambda: _waiting(settings.spool),
        "devices": lambda: _devices(settings),
        "dcgm": lambda: _dcgm(settings),
        "slurm": lambda: _slurm(settings, config.parent),
        "shipper": _shipper,
    }
    said: list[Said] = []
    for name, check in checks.items():
        on_check(name)
        said += check()
    return NodeCheckup(tuple(said))


def _settings(settings: Settings) -> Iterator[Said]:
    for problem in settings.problems:
        yield Said("settings", "warn", f"{problem}; the default counts")
    if not settings.problems:
        yield Said("settings", "ok", "every line can be read")


def _python(folder: Path) -> Iterator[Said]:
    file = folder / NODE_FILE
    if not file.exists():
        yield Said("python", "fail", f"no {file}: run `tallystick hook install`")
        return
    script = folder / "slurm-prolog"
    match = re.search(r" (\S+) -IS ", script.read_text()) if script.exists() else None
    python = match[1] if match else sys.executable
    ran = run_command([python, "-IS", str(file), "--help"], limit_s=LIMIT_S)
    if ran.status == 0:
        yield Said("python", "ok", f"{python} runs the hooks")
    else:
        reason = ran.problem or f"ended with {ran.status}"
        yield Said("python", "fail", f"{python} does not run the hooks: {reason}")


def _spool(settings: Settings) -> Iterator[Said]:
    spool = settings.spool
    try:
        mode = stat.S_IMODE(spool.stat().st_mode)
        with tempfile.TemporaryFile(dir=spool) as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
        free = os.statvfs(spool)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        yield Said("spool", "fail", f"{spool}: {reason}: run `tallystick hook install`")
        return
    if mode & 0o1777 != 0o1777:
        yield Said("spool", "warn", f"{spool} has mode {mode:o}: chmod 1777 it, for jobs' records")
    if free.f_bavail * free.f_frsize < settings.spool_bytes_max:
        yield Said("spool", "warn", f"{spool}: less is free than may wait")
    yield Said("spool", "ok", f"{spool} can be written and synced")


def _waiting(spool: Path) -> Iterator[Said]:
    """Tell what lies in the parts that the caller may read."""
    waiting = aside = dumps = dropped = 0
    oldest_s = time.time()
    for part in _parts(spool):
        for path in _files(part / "new"):
            waiting += 1
            oldest_s = min(oldest_s, path.lstat().st_mtime)
        aside += sum(1 for path in _files(part / "quarantine") if path.suffix == ".why")
        dumps += len(_files(part / "dumps"))
        dropped += read_notes(part / "notes").dropped
    age_s = int(time.time() - oldest_s)
    word: Word = "warn" if age_s > _OLD_S else "ok"
    since = f", the oldest for {age_s} s: is the shipper running?" if waiting else ""
    yield Said("waiting", word, f"{waiting} records wait{since}")
    if aside:
        yield Said("waiting", "warn", f"{aside} files were set aside: see quarantine/*.why")
    if dumps:
        yield Said(
            "waiting",
            "warn",
            f"{dumps} hooks ran without Python: `tallystick collect slurm {spool}/*/dumps/*`",
        )
    if dropped:
        yield Said("waiting", "fail", f"{dropped} records were dropped; the shipper will tell")


def _parts(spool: Path) -> list[Path]:
    try:
        return [
            path for path in spool.iterdir() if path.name.isdigit() and os.access(path, os.R_OK)
        ]
    except OSError:
        return []


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _devices(settings: Settings) -> Iterator[Said]:
    devices = look(LIMIT_S, path=settings.path)
    if devices.problem is not None:
        message = f"{devices.problem}: GPUs will be counted, not named"
        yield Said("devices", "warn", message)
    else:
        yield Said("devices", "ok", f"{len(devices.gpus)} GPUs answer with their UUID")


def _dcgm(settings: Settings) -> Iterator[Said]:
    if settings.dcgm == "off":
        yield Said("dcgm", "ok", "switched off in the settings")
        return
    ran = run_command(["dcgmi", "discovery", "-l"], limit_s=LIMIT_S, env={"PATH": settings.path})
    if ran.status == 0:
        yield Said("dcgm", "ok", "the host engine answers")
    else:
        reason = ran.problem or (ran.text.strip().splitlines() or [f"ended with {ran.status}"])[0]
        yield Said("dcgm", "warn", f"{reason}: no job statistics")


def _slurm(settings: Settings, folder: Path) -> Iterator[Said]:
    ran = run_command(["scontrol", "show", "config"], limit_s=LIMIT_S, env=_slurm_env())
    if ran.status != 0:
        reason = ran.problem or f"scontrol ended with {ran.status}"
        yield Said("slurm", "warn", f"{reason}: slurm.conf was not looked at")
        return
    matches = (_SCONTROL_LINE.fullmatch(line.strip()) for line in ran.text.splitlines())
    stated = {match[1]: match[2] for match in matches if match}
    yield from check_slurm_config(stated, settings, folder)


def check_slurm_config(
    stated: Mapping[str, str], settings: Settings, folder: Path
) -> Iterator[Said]:
    """Check what Slurm says of its own configuration.

    Args:
        stated: Names and values of ``scontrol show config``.
        settings: Settings of the node.
        folder: Where the hooks are installed.
    """
    for hook, key in LINES.items():
        if stated.get(key) == str(folder / hook):
            yield Said("slurm", "ok", f"{key} is ours")
        else:
            yield Said("slurm", "fail", f"{key}: expected {folder / hook}, got {stated.get(key)}")
    if "alloc" not in stated.get("PrologFlags", "").lower():
        message = "PrologFlags without Alloc: a node without a step has no prolog"
        yield Said("slurm", "warn", message)
    limit = re.match(r"[0-9]+", stated.get("PrologEpilogTimeout", ""))
    if limit and int(limit[0]) * SECOND_US <= settings.wall_us:
        yield Said("slurm", "fail", f"PrologEpilogTimeout {limit[0]} s is within the hooks' budget")


def _shipper() -> Iterator[Said]:
    """Ask systemd for the unit; a node may also be emptied by other means."""
    name = Path(UNIT).stem
    ran = run_command(["systemctl", "is-active", name], limit_s=LIMIT_S)
    word = ran.text.strip()
    if ran.status == 0:
        yield Said("shipper", "ok", f"{name} is {word}")
    else:
        reason = ran.problem or word or f"systemctl ended with {ran.status}"
        yield Said("shipper", "warn", f"{name} does not run ({reason}): records wait on the node")


def _slurm_env() -> dict[str, str]:
    conf = os.environ.get("SLURM_CONF")
    return {} if conf is None else {"SLURM_CONF": conf}
