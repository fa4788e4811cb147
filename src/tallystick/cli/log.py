"""``tallystick log``: what is in the evidence log, its heads, and proofs for others."""

import sys
from pathlib import Path

import click

from tallystick.app.files import write_file
from tallystick.app.heads import (
    head_update,
    keep_cosigned,
    leaf_proof,
    signed_head,
    verify_leaf_proof,
)
from tallystick.app.store import open_store
from tallystick.cli.options import json_option, say, store_option, verify_keys_option
from tallystick.core.canonical import canonical_bytes
from tallystick.tree.spelling import base64_text


@click.group()
def log() -> None:
    """Show the records of a store's log, sign its head, and prove what is in it."""


@log.command("head")
@click.option(
    "--since",
    type=int,
    metavar="SIZE",
    help="Prove that it goes on from the head of SIZE records, for a witness.",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path))
@store_option()
@json_option()
def head_command(*, since: int | None, output: Path | None, store: Path, as_json: bool) -> None:
    """Sign the head of the log as it is now: a C2SP checkpoint, which Go's sumdb reads too.

    \b
    Examples:
      tallystick log head --store DIR -o head.txt
      tallystick log head --since 0 --store DIR -o update.txt
    """
    with open_store(store, notice=say) as opened:
        head, note = signed_head(opened)
        data = note if since is None else head_update(opened, since)
    if output is not None:
        write_file(output, data)
    if as_json:
        fields = {"origin": head.origin, "size": head.size, "root": base64_text(head.root)}
        click.echo(canonical_bytes({**fields, "note": data.decode()}))
    elif output is None:
        sys.stdout.buffer.write(data)
    else:
        click.echo(f"{head.origin}, {head.size} records, root {base64_text(head.root)}")


@log.command("cosigned")
@click.argument("path", metavar="HEAD")
@store_option()
@json_option()
def cosigned_command(path: str, *, store: Path, as_json: bool) -> None:
    """Keep HEAD, which a witness cosigned: bundles made of this size then carry it.

    \b
    Example:
      tallystick log cosigned cosigned.txt --store DIR
    """
    with open_store(store, notice=say) as opened:
        head, others = keep_cosigned(opened, path)
    if as_json:
        fields = {"origin": head.origin, "size": head.size, "cosigned_by": list(others)}
        click.echo(canonical_bytes(fields))
        return
    click.echo(f"{head.origin}, {head.size} records, cosigned by {', '.join(others) or 'nobody'}")


@log.command("show")
@click.argument("start", type=click.IntRange(0), required=False, default=0)
@click.argument("stop", type=click.IntRange(0), required=False)
@store_option()
def show_command(start: int, stop: int | None, *, store: Path) -> None:
    """Print the leaves from START to before STOP, one a line, as they are hashed.

    \b
    Example:
      tallystick log show 100 110 --store DIR
    """
    with open_store(store, notice=say) as opened, opened.log.reading() as reading:
        end = reading.size if stop is None else min(stop, reading.size)
        for leaf in reading.leaves(min(start, end), end):
            sys.stdout.buffer.write(leaf + b"\n")


@log.command("prove")
@click.argument("index", type=click.IntRange(0))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE.tlog-proof",
    type=click.Path(path_type=Path),
    help="The proof; the leaf is written beside it, as FILE.tlog-proof.leaf.",
)
@store_option()
@json_option()
def prove_command(index: int, *, output: Path, store: Path, as_json: bool) -> None:
    """Prove that record INDEX is in the log: a C2SP tlog-proof that needs no store to check.

    \b
    Example:
      tallystick log prove 17 --store DIR -o 17.tlog-proof
    """
    with open_store(store, notice=say) as opened:
        leaf, proof = leaf_proof(opened, index)
    leaf_path = output.with_name(f"{output.name}.leaf")
    write_file(leaf_path, leaf)
    write_file(output, proof)
    if as_json:
        fields = {"index": index, "proof": str(output), "leaf": str(leaf_path)}
        click.echo(canonical_bytes(fields))
        return
    click.echo(f"record {index}: proof {output}, leaf {leaf_path}")


@log.command("verify")
@click.argument("proof", metavar="FILE.tlog-proof")
@click.option("--leaf", metavar="FILE", help="The leaf [default: FILE.tlog-proof.leaf].")
@verify_keys_option()
@json_option()
def verify_command(proof: str, *, leaf: str | None, keys: tuple[str, ...], as_json: bool) -> None:
    """Verify a proof file offline: exit 0 if the leaf is in the log at its place, 1 if not.

    \b
    Example:
      tallystick log verify 17.tlog-proof --key log.key.vkey
    """
    index, head = verify_leaf_proof(proof, leaf or f"{proof}.leaf", keys)
    if as_json:
        fields = {"verified": True, "index": index, "origin": head.origin, "size": head.size}
        click.echo(canonical_bytes({**fields, "root": base64_text(head.root)}))
        return
    click.echo(f"OK: record {index} of {head.origin}, in the tree of {head.size} records")
