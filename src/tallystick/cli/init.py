"""``tallystick init``: a new store."""

from pathlib import Path

import click

from tallystick.app.store import init_store
from tallystick.cli.options import json_option
from tallystick.core.canonical import canonical_bytes


@click.command("init")
@click.argument("path", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--origin",
    required=True,
    metavar="NAME",
    help="Name of the log and of the key that signs for it.",
)
@click.option(
    "--issued-head",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where the last issued head is kept, best on another disk; else beside DIR.",
)
@json_option()
def init_command(path: Path, origin: str, issued_head: Path | None, *, as_json: bool) -> None:
    """Make a store in DIR: an empty evidence log, its keys, and the head that starts it.

    \b
    Example:
      tallystick init /var/lib/tallystick --origin example.com/gpu-log
    """
    folder = init_store(path, origin, issued_head)
    keys = {name: str(folder.keys / f"{name}.key.vkey") for name in ("log", "receipt")}
    if as_json:
        made = {"store": str(path), "origin": origin, "issued_head": str(folder.issued.path)}
        click.echo(canonical_bytes({**made, "keys": keys}))
        return
    click.echo(f"store        {path}")
    click.echo(f"origin       {origin}")
    click.echo(f"issued head  {folder.issued.path}")
    click.echo("keys to give to the other party:")
    for key in keys.values():
        click.echo(f"  {key}")
    click.echo("Keep the issued head out of the store's backups, on another disk if you can.")
