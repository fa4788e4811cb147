"""``tallystick doctor``: whether a store is whole."""

import sys
from pathlib import Path

import click

from tallystick.app.doctor import check_store
from tallystick.app.store import open_store
from tallystick.cli.options import json_option, say, store_option
from tallystick.core.canonical import canonical_bytes


@click.command("doctor")
@store_option()
@json_option()
def doctor_command(*, store: Path, as_json: bool) -> None:
    """Read everything in a store and check it; exit 0 if it is whole, 1 if it is damaged.

    Every leaf is hashed again, every head compared with the tree, every receipt verified,
    the ledger added up and every segment hashed. Remarks are no damage.

    \b
    Example:
      tallystick doctor --store DIR
    """
    shows = sys.stderr.isatty()

    def on_check(name: str) -> None:
        if shows:
            click.echo(f"\r\033[Kchecking {name}", nl=False, err=True)

    with open_store(store, notice=say) as opened:
        found = check_store(opened, on_check)
    if shows:
        click.echo("\r\033[K", nl=False, err=True)
    if as_json:
        click.echo(canonical_bytes(found.to_json()))
        sys.exit(1 if found.damages else 0)
    damaged = {check for check, _ in found.damages}
    for check in found.checks:
        click.echo(f"{'DAMAGED' if check in damaged else 'ok':<8} {check}")
    for check, said in found.damages:
        click.echo(f"damage: {check}: {said}")
    for check, said in found.remarks:
        click.echo(f"remark: {check}: {said}")
    click.echo(f"{found.size} records, {len(found.damages)} damages")
    sys.exit(1 if found.damages else 0)
