"""``tallystick checkpoint``: the last valid checkpoint, and why newer ones are not."""

import sys
import textwrap
import threading
import time
from pathlib import Path

import click

from tallystick.app.checkpoints import survey_json, verify_checkpoints
from tallystick.cli.options import json_option
from tallystick.cli.status_line import StatusLine
from tallystick.core.canonical import canonical_bytes
from tallystick.core.wording import as_printed
from tallystick.emit.checkpoint.judge import Checkpoint
from tallystick.emit.checkpoint.survey import EVERYTHING, NEWEST, STRUCTURE, Survey, Watch

ROWS_MAX = 40
_SHOW_S = 0.1


@click.group()
def checkpoint() -> None:
    """Tell which checkpoints are whole."""


@checkpoint.command("verify")
@click.argument("path", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--quick", is_flag=True, help="Read no bytes but those that describe others.")
@click.option("--deep", is_flag=True, help="Read every byte of every checkpoint.")
@click.option("--threads", type=click.IntRange(1, 64), metavar="N", help="How much to do at once.")
@json_option()
def verify_command(
    *, path: Path, quick: bool, deep: bool, threads: int | None, as_json: bool
) -> None:
    """Find the last valid checkpoint in DIR; exit 0 if there is a valid one, 1 if not.

    DIR is a checkpoint or a folder of checkpoints. The structure of each is looked at, and
    bytes are read from the newest on until one is valid. Nothing is loaded or unpickled, and
    no pointer, link or tracker is believed: each is compared with what is there.

    \b
    verified    every byte is that of its manifest          valid
    complete    whole as far as its own format can tell     valid
    torn        something is missing or damaged
    unfinished  its own writer marks it so
    unknown     nothing decides: write a manifest when you save

    \b
    Examples:
      tallystick checkpoint verify runs/llama/checkpoints
      tallystick checkpoint verify runs/llama/checkpoints --deep --json
    """
    if quick and deep:
        raise click.UsageError("expected --quick or --deep, not both")
    read = STRUCTURE if quick else EVERYTHING if deep else NEWEST
    with StatusLine() as line:
        watch = _Progress(line).watch()
        found = verify_checkpoints(path, read=read, threads=threads, watch=watch)
    if as_json:
        click.echo(canonical_bytes(survey_json(path, found)))
    else:
        _print(path, found, shows_all=deep)
    sys.exit(0 if found.valid else 1)


class _Progress:
    """What the status line says: checkpoints looked at, then bytes read."""

    def __init__(self, line: StatusLine) -> None:
        self._line = line
        self._lock = threading.Lock()
        self._shown_s = 0.0
        self._looked_at = self._to_read = self._read = 0

    def watch(self) -> Watch:
        """Give what is told how far the work is."""
        return Watch(self._on_look, self._on_plan, self._on_bytes)

    def _on_look(self, count: int) -> None:
        with self._lock:
            self._looked_at += count
            self._show(f"looked at {self._looked_at} checkpoints")

    def _on_plan(self, count: int) -> None:
        with self._lock:
            self._to_read += count

    def _on_bytes(self, count: int) -> None:
        with self._lock:
            self._read += count
            self._show(f"read {_size(self._read)} of {_size(self._to_read)}")

    def _show(self, text: str) -> None:
        now_s = time.monotonic()
        if now_s - self._shown_s > _SHOW_S:
            self._shown_s = now_s
            self._line.show(text)


def _print(path: Path, found: Survey, *, shows_all: bool) -> None:
    if not found.checkpoints:
        click.echo(f"no checkpoint in {as_printed(str(path))}")
        return
    rows = found.checkpoints if shows_all else found.checkpoints[:ROWS_MAX]
    click.echo(f"{'STATE':<11}{'STEP':>10}  {'SIZE':>9}  {'KIND':<12}CHECKPOINT")
    for each in rows:
        _print_checkpoint(each)
    if len(rows) < len(found.checkpoints):
        click.echo(f"... and {len(found.checkpoints) - len(rows)} more; --json names them all")
    for pointer in found.pointers:
        claims = ", ".join(map(as_printed, pointer.claims[:3])) or "nothing"
        verdict = pointer.problem or "it holds"
        click.echo(_wrapped(f"pointer {as_printed(pointer.name)} says {claims}: {verdict}", 2))
    click.echo(_wrapped(_conclusion(found), 2))


def _print_checkpoint(each: Checkpoint) -> None:
    step = "-" if each.step is None else str(each.step.number)
    size = _size(each.total_bytes)
    name = as_printed(each.name)
    click.echo(f"{each.state:<11}{step:>10}  {size:>9}  {each.kind:<11.11} {name}")
    if not each.is_valid:
        fault = "" if each.file is None else f"{as_printed(each.file)} "
        click.echo(_wrapped(f"  {fault}{each.reason}", 4))
    for remark in each.remarks:
        click.echo(_wrapped(f"  remark: {remark}", 4))


def _conclusion(found: Survey) -> str:
    """Say in a sentence or two which one to start from, and what that rests on."""
    last = found.last
    if last is None:
        if found.valid:
            return f"{len(found.valid)} are valid, and nothing says which of them is the last"
        return "no checkpoint is valid"
    step = "unknown step" if last.step is None else f"step {last.step.number}"
    by = "" if last.step is None else f" by its {last.step.source}"
    text = f"the last valid one is {as_printed(last.name)} ({step}{by}): {last.reason}"
    if last.unchecked:
        text += f"; not checked: {', '.join(last.unchecked)}"
    if found.newer:
        count = len(found.newer)
        text += f"; {count} newer {'one is' if count == 1 else 'ones are'} not valid"
    return text


def _size(count: int) -> str:
    """Write an amount of bytes in whole units, rounded down."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 10240:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} TiB"


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(
        text, 80, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
