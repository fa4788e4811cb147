"""``tallystick keys``: make keys, and give a store's log a new one."""

from pathlib import Path

import click

from tallystick.app.keys import new_key
from tallystick.app.rotation import rotate_log_key
from tallystick.app.store import open_store
from tallystick.cli.options import json_option, say, store_option
from tallystick.core.canonical import canonical_bytes
from tallystick.core.keys import public_key_text


@click.group()
def keys() -> None:
    """Make keys that sign, and give a store's log a new one."""


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


@keys.command("rotate")
@store_option()
@json_option()
def rotate_command(*, store: Path, as_json: bool) -> None:
    """Give the log of a store a new key, which a record of the log signed by the old one names.

    Who has the old public key finds the new one in the log and in every bundle; heads of the
    old key stay valid. The old private key is gone after this.

    \b
    Example:
      tallystick keys rotate --store DIR
    """
    with open_store(store, notice=say) as opened:
        old, new, leaf = rotate_log_key(opened)
    if as_json:
        fields = {"old": public_key_text(old), "new": public_key_text(new), "leaf": leaf}
        click.echo(canonical_bytes(fields))
        return
    click.echo(public_key_text(new))
    click.echo(f"named by {old.keyid} in record {leaf}", err=True)
