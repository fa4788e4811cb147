"""``tallystick run``: the runs that a store knows."""

from pathlib import Path
from typing import Any

import click

from tallystick.app.runs import StoredRun, find_run, list_runs
from tallystick.app.store import open_store
from tallystick.cli.options import json_option, say, store_option
from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import format_instant
from tallystick.receipt.columns import visible
from tallystick.timeline.attempt import Attempt

_NAME_WIDTH = 34


@click.group()
def run() -> None:
    """List the runs in a store, and show what is known of one."""


@run.command("list")
@store_option()
@json_option()
def list_command(*, store: Path, as_json: bool) -> None:
    """List the runs that the log has evidence of.

    \b
    Example:
      tallystick run list --store DIR
    """
    with open_store(store, notice=say) as opened:
        runs = list_runs(opened)
    if as_json:
        click.echo(canonical_bytes({"runs": [_json(each) for each in runs]}))
        return
    click.echo(f"{'run':<{_NAME_WIDTH}} {'attempts':>8}  {'first start':<19} {'receipts':>8}")
    for each in runs:
        start = _minute(each.attempts[0].start_us) if each.attempts else "not started"
        name = _fit(each.run)
        click.echo(f"{name} {len(each.attempts):>8}  {start:<19} {len(each.issues):>8}")


@run.command("show")
@click.argument("name", metavar="RUN")
@store_option()
@json_option()
def show_command(name: str, *, store: Path, as_json: bool) -> None:
    """Show the attempts of RUN, the records about it, and the receipts that were issued.

    \b
    Example:
      tallystick run show pretrain-7 --store DIR
    """
    with open_store(store, notice=say) as opened:
        found = find_run(opened, name)
    if as_json:
        click.echo(canonical_bytes(_json(found)))
        return
    click.echo(f"run {visible(found.run, ascii_only=False)}")
    click.echo(f"\n{'attempt':<{_NAME_WIDTH}} {'GPUs':>4}  {'start':<19} {'end':<19}")
    for attempt in found.attempts:
        click.echo(_attempt_row(attempt))
    click.echo("\nrecords")
    for kind, count in found.records.items():
        click.echo(f"  {count:>8}  {visible(kind, ascii_only=False)}")
    click.echo("\nreceipts" if found.issues else "\nno receipt was issued")
    for issue in found.issues:
        click.echo(f"  revision {issue.revision}  {issue.contract}  {issue.payload[:19]}")


def _attempt_row(attempt: Attempt) -> str:
    end = "open" if attempt.end_us is None else _minute(attempt.end_us)
    start = _minute(attempt.start_us)
    return f"{_fit(attempt.key)} {len(attempt.gpus):>4}  {start} {end:<19}"


def _json(found: StoredRun) -> dict[str, Any]:
    return {
        "run": found.run,
        "attempts": [
            {
                "attempt": each.key,
                "gpus": len(each.gpus),
                "start": format_instant(each.start_us),
                "end": None if each.end_us is None else format_instant(each.end_us),
                "ended_by": each.ended_by,
            }
            for each in found.attempts
        ],
        "records": found.records,
        "receipts": [
            {
                "revision": each.revision,
                "payload": each.payload,
                "contract": each.contract,
                "leaf": each.leaf,
            }
            for each in found.issues
        ],
    }


def _minute(at_us: int) -> str:
    return format_instant(at_us)[:19].replace("T", " ")


def _fit(text: str) -> str:
    shown = visible(text, ascii_only=False)
    cut = shown if len(shown) <= _NAME_WIDTH else f"{shown[: _NAME_WIDTH - 3]}..."
    return f"{cut:<{_NAME_WIDTH}}"
