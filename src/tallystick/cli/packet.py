"""``tallystick packet``: read and verify what a rehearsal left."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from tallystick.app.packets import read_packet, verify_packet
from tallystick.cli.bundle import keys_folder_option, trusted_keys
from tallystick.cli.options import json_option, verify_keys_option
from tallystick.core.canonical import canonical_bytes
from tallystick.receipt.columns import PAGE_COLUMNS, labelled, visible, wrap
from tallystick.rehearsal.packet.rows import Row, sections, summary

_LABEL_COLUMNS = 24


@click.group()
def packet() -> None:
    """Read and verify recovery packets."""


@packet.command("show")
@click.argument("place", metavar="DIR", type=click.Path(path_type=Path))
@json_option()
def show_command(place: Path, *, as_json: bool) -> None:
    """Print the recovery packet that a rehearsal left in DIR. Nothing is verified.

    \b
    Example:
      tallystick packet show plan.rehearsal
    """
    found = read_packet(place)
    if as_json:
        click.echo(canonical_bytes(found))
        return
    for row in _page(found):
        click.echo(row)


@packet.command("verify")
@click.argument("place", metavar="DIR", type=click.Path(path_type=Path))
@verify_keys_option()
@keys_folder_option()
@json_option()
def verify_command(place: Path, keys: Sequence[str], folder: Path | None, *, as_json: bool) -> None:
    """Verify both bundles in DIR and compute receipts and packet again; compare every byte.

    Take the keys from somebody you trust, not from DIR.

    \b
    Example:
      tallystick packet verify plan.rehearsal --keys plan.rehearsal/keys
    """
    checked = verify_packet(place, trusted_keys(keys, folder))
    if as_json:
        run = checked.packet["run"]
        click.echo(canonical_bytes({"verified": True, "run": run, "files": list(checked.files)}))
        return
    click.echo(f"OK: recovery packet of run {visible(checked.packet['run'], ascii_only=False)}")
    for name in checked.files:
        click.echo(f"  {name}")


def _page(found: dict[str, Any]) -> Iterator[str]:
    yield f"Recovery packet of run {visible(found['run'], ascii_only=False)}"
    yield from wrap(summary(found).split(), PAGE_COLUMNS)
    for section in sections(found):
        yield ""
        yield section.title
        for row in section.rows:
            yield from _row(row)


def _row(row: Row) -> Iterator[str]:
    text = visible(row.text, ascii_only=False)
    label = visible(row.label, ascii_only=False)
    yield from labelled(label, text, label_columns=_LABEL_COLUMNS)
