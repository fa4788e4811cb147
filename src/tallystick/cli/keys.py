"""``tallystick keys``: make the keys that sign receipts."""

from pathlib import Path

import click

from tallystick.app.keys import new_key
from tallystick.cli.options import json_option
from tallystick.core.canonical import canonical_bytes
from tallystick.core.keys import public_key_text


@click.group()
def keys() -> None:
    """Make keys that sign receipts."""


@keys.command("new")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Private key; the public one is FILE.vkey.",
)
@click.option("--name", metavar="NAME", help="Whose key it is [default: FILE without its suffix].")
@json_option()
def new_command(output: Path, name: str | None, *, as_json: bool) -> None:
    """Make an Ed25519 key pair; existing files are never overwritten.

    FILE is PKCS#8 PEM after a line with the name, and only its owner can read it. Give
    FILE.vkey to whoever should verify your receipts.

    \b
    Example:
      tallystick keys new -o provider.key --name provider.example/receipts
    """
    made = new_key(output, name)
    text = public_key_text(made.public_key)
    if as_json:
        fields = {
            "name": made.public_key.name,
            "keyid": made.public_key.keyid,
            "vkey": text,
            "private_key": str(made.private_path),
            "public_key": str(made.public_path),
        }
        click.echo(canonical_bytes(fields))
        return
    click.echo(text)
    click.echo(f"private key: {made.private_path}, public key: {made.public_path}", err=True)
