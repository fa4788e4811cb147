"""How bundles are told, and the folder of keys that somebody trusts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tallystick.app.bundles import verify_bundle_file
from tallystick.app.keys import keys_in
from tallystick.app.receipts import statement_json
from tallystick.app.witness import check_cosigned
from tallystick.cli.options import SeveralValues
from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import SECOND_US, format_instant
from tallystick.receipt.bundle.verify import STEPS, VerifiedBundle
from tallystick.receipt.columns import PAGE_COLUMNS, visible, wrap

_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)


def keys_folder_option() -> Callable[[_Command], _Command]:
    """Make the ``--keys`` option."""
    return click.option(
        "--keys",
        "folder",
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False),
        help="A folder of public keys (*.vkey) to check signatures against.",
    )


def trusted_keys(keys: Sequence[str], folder: Path | None) -> tuple[str, ...]:
    """Name the files of all public keys that were given."""
    return (*keys, *(() if folder is None else keys_in(folder)))


def witnesses_option() -> Callable[[_Command], _Command]:
    """Make the ``--witness`` option."""
    return click.option(
        "--witness",
        "witnesses",
        cls=SeveralValues,
        metavar="FILE.vkey...",
        help="Public keys of witnesses that must have cosigned the head of a bundle.",
    )


def verify_bundle_command(
    path: str, keys: Sequence[str], witnesses: Sequence[str], *, as_json: bool
) -> None:
    """Verify a bundle and print each step, and who cosigned its head."""
    verified = verify_bundle_file(path, keys)
    seen = check_cosigned(verified.head.note, witnesses)
    if as_json:
        steps = [{"step": number, "holds": text} for number, text in enumerate(STEPS)]
        cosigned = [{"witness": each.witness, "time_s": each.time_s} for each in seen]
        fields = {**_bundle_json(verified), "cosigned": cosigned, "steps": steps}
        click.echo(canonical_bytes({"verified": True, **fields}))
        return
    _print_bundle(verified)
    for each in seen:
        at = format_instant(each.time_s * SECOND_US)[:19].replace("T", " ")
        click.echo(f"cosigned by {visible(each.witness, ascii_only=False)}, {at} UTC")
    for number, text in enumerate(STEPS):
        first, *others = wrap(text.split(), PAGE_COLUMNS - 7)
        click.echo(f"  {f'({number})':<4} {first}")
        for row in others:
            click.echo(f"       {row}")


def print_made_bundle(
    data: bytes, verified: VerifiedBundle, output: Path, *, as_json: bool
) -> None:
    """Print what a bundle that was made holds."""
    if as_json:
        fields = {**_bundle_json(verified), "bundle": str(output), "bytes": len(data)}
        click.echo(canonical_bytes(fields))
        return
    _print_bundle(verified)
    click.echo(f"{output}: {len(data)} bytes, verified and replayed")


def _print_bundle(verified: VerifiedBundle) -> None:
    statement = verified.statement
    run = visible(statement.receipt.run.id, ascii_only=False)
    click.echo(f"OK: run {run}, revision {statement.receipt.revision}")
    click.echo(f"payload {statement.payload_digest}")
    for signer in statement.signers:
        click.echo(f"signed by {visible(signer, ascii_only=False)}")
    head = verified.head.head
    click.echo(f"{len(verified.leaves)} of the {head.size} records of {head.origin}")
    if verified.issues and verified.issues[-1] != verified.issue:
        click.echo(f"superseded: the log has issued revision {len(verified.issues)}")


def _bundle_json(verified: VerifiedBundle) -> dict[str, Any]:
    head = verified.head.head
    return {
        **statement_json(verified.statement),
        "bundlers": list(verified.bundlers),
        "log": {"origin": head.origin, "size": head.size},
        "records": len(verified.leaves),
        "segments": sorted(verified.segments),
        "last_revision": len(verified.issues) or None,
    }
