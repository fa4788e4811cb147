"""``tallystick doctor``: whether a store is whole, or what works on a node."""

import sys
import textwrap
from pathlib import Path

import click

from tallystick.cli.options import json_option, node_settings_option, say, store_option
from tallystick.cli.status_line import StatusLine
from tallystick.core.canonical import canonical_bytes

_MARKS = {"ok": "ok", "warn": "warn", "fail": "FAIL"}


@click.command("doctor")
@store_option(required=False)
@click.option("--node", "on_node", is_flag=True, help="Look at this node instead of a store.")
@node_settings_option()
@json_option()
def doctor_command(*, store: Path | None, on_node: bool, config: Path, as_json: bool) -> None:
    """Check a store, or with --node what a node needs; exit 0 if it is well, 1 if not.

    Of a store every leaf is hashed again, every head compared with the tree, every receipt
    verified, the ledger added up and every segment hashed. Remarks are no damage: they name
    what contradicts itself, such as one GPU in two allocations at once.

    Of a node the hooks' interpreter, the spool, the GPUs, DCGM and slurm.conf are asked.

    \b
    Examples:
      tallystick doctor --store DIR
      tallystick doctor --node
    """
    if on_node:
        _check_node(config, as_json=as_json)
    elif store is None:
        raise click.UsageError("expected --store DIR, or --node")
    else:
        _check_store(store, as_json=as_json)


def _check_store(store: Path, *, as_json: bool) -> None:
    from tallystick.app.doctor import check_store  # noqa: PLC0415 (a node needs no SQLite)
    from tallystick.app.store import open_store  # noqa: PLC0415 (as above)

    with open_store(store, notice=say) as opened, StatusLine() as line:
        found = check_store(opened, lambda check: line.show(f"checking {check}"))
    if as_json:
        click.echo(canonical_bytes(found.to_json()))
        sys.exit(1 if found.damages else 0)
    damaged = {check for check, _ in found.damages}
    for check in found.checks:
        click.echo(f"{'DAMAGED' if check in damaged else 'ok':<8} {check}")
    for check, said in found.damages:
        click.echo(_wrapped(f"damage: {check}: {said}", 2))
    for check, said in found.remarks:
        click.echo(_wrapped(f"remark: {check}: {said}", 2))
    click.echo(f"{found.size} records, {len(found.damages)} damages")
    sys.exit(1 if found.damages else 0)


def _check_node(config: Path, *, as_json: bool) -> None:
    from tallystick.app.node_checkup import check_node  # noqa: PLC0415 (a store needs no node)

    with StatusLine() as line:
        found = check_node(config, lambda check: line.show(f"checking {check}"))
    if as_json:
        click.echo(canonical_bytes(found.to_json()))
    else:
        for each in found.said:
            click.echo(_wrapped(f"{_MARKS[each.word]:<4}  {each.check:<8}  {each.message}", 16))
    sys.exit(0 if found.works else 1)


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(
        text,
        80,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
