"""``tallystick witness``: the customer's half of a provider's log."""

import time
from pathlib import Path

import click

from tallystick.app.witness import compare_heads, cosign_update, witness_key_line
from tallystick.cli.options import SeveralValues, json_option
from tallystick.core.canonical import canonical_bytes
from tallystick.tree.head import TreeHead
from tallystick.tree.spelling import base64_text

_LOG_KEYS = click.option(
    "--log-key",
    "log_keys",
    cls=SeveralValues,
    required=True,
    metavar="FILE.vkey...",
    help="Public keys of the log.",
)


@click.group()
def witness() -> None:
    """Cosign the heads of somebody's log, and compare what it told to two of you."""


@witness.command("key")
@click.argument("path", metavar="FILE")
def key_command(path: str) -> None:
    """Print the public key of the witness whose private key is FILE, for `receipt verify`.

    \b
    Example:
      tallystick witness key our.key > our.witness.vkey
    """
    click.echo(witness_key_line(path))


@witness.command("cosign")
@click.argument("update", metavar="UPDATE")
@_LOG_KEYS
@click.option("--key", required=True, metavar="FILE", help="Private key of this witness.")
@click.option(
    "--state",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where this witness keeps the last head that it cosigned.",
)
@click.option("--first", "is_first", is_flag=True, help="There is no state yet: begin with this.")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The cosigned head, for the log and for others.",
)
@json_option()
def cosign_command(
    update: str,
    *,
    log_keys: tuple[str, ...],
    key: str,
    state: Path,
    is_first: bool,
    output: Path,
    as_json: bool,
) -> None:
    """Check that the head in UPDATE goes on from the last one, and cosign it.

    UPDATE is what `tallystick log head --since SIZE` writes. Exit 1 if that is not
    shown; if the log contradicts itself, keep both heads, which prove it.

    \b
    Example:
      tallystick witness cosign update.txt --log-key log.key.vkey --key our.key \\
        --state provider.head -o cosigned.txt
    """
    witnessed = cosign_update(
        update,
        output,
        log_keys=log_keys,
        key=key,
        state=state,
        now_s=int(time.time()),
        is_first=is_first,
    )
    known = witnessed.known
    if as_json:
        fields = {"head": _json(witnessed.head), "known": None if known is None else _json(known)}
        click.echo(canonical_bytes({**fields, "note": witnessed.note.decode()}))
        return
    before = "the first head" if known is None else f"goes on from {known.size} records"
    click.echo(f"cosigned {witnessed.head.origin}, {witnessed.head.size} records: {before}")


@witness.command("compare")
@click.argument("one", metavar="HEAD")
@click.argument("other", metavar="OTHER")
@_LOG_KEYS
@json_option()
def compare_command(one: str, other: str, *, log_keys: tuple[str, ...], as_json: bool) -> None:
    """Check that HEAD and OTHER, shown to two parties, are of one history; exit 1 if not.

    Two of different size need the proof that `tallystick log head --since SIZE` writes.

    \b
    Example:
      tallystick witness compare ours.txt theirs.txt --log-key log.key.vkey
    """
    smaller, larger = compare_heads(one, other, log_keys=log_keys)
    if as_json:
        click.echo(canonical_bytes({"same": True, "heads": [_json(smaller), _json(larger)]}))
        return
    click.echo(f"OK: {larger.origin} told one story, {smaller.size} and {larger.size} records")


def _json(head: TreeHead) -> dict[str, object]:
    return {"origin": head.origin, "size": head.size, "root": base64_text(head.root)}
