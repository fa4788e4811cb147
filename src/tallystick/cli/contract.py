"""``tallystick contract``: check contracts, publish them in a store, print their schema."""

from pathlib import Path
from typing import Any

import click

from tallystick.app.contract_check import CheckedContracts, check_contracts, contract_schema
from tallystick.app.store import open_store
from tallystick.app.stored_contracts import Published, publish_contracts, published
from tallystick.cli.contract_page import contract_page
from tallystick.cli.options import json_option, say, store_option
from tallystick.contract.errors import BadContractError, Mistake
from tallystick.contract.json_form import contract_json
from tallystick.core.canonical import canonical_bytes


@click.group()
def contract() -> None:
    """Check contracts, publish them in a store, and print the schema that they follow."""


@contract.command("check")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@json_option()
def check_command(files: tuple[str, ...], *, as_json: bool) -> None:
    """Say in plain words what the contract in FILE says; - is standard input.

    Several files are versions of one contract. All mistakes are reported at once, each with
    its line and key, and end the command with exit 2. Warnings are for what is probably not
    meant, such as a rule that is never reached.

    \b
    Example:
      tallystick contract check contract-3.toml contract-4.toml
    """
    try:
        checked = check_contracts(files)
    except BadContractError as error:
        if as_json:
            click.echo(_json(mistakes=error.mistakes))
        raise
    if as_json:
        click.echo(_json(checked))
        return
    click.echo("\n\n".join(contract_page(name, each) for name, each in checked.contracts))
    for warning in checked.warnings:
        click.echo(f"warning: {warning.text}", err=True)


@contract.command("add")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@store_option()
@json_option()
def add_command(files: tuple[str, ...], *, store: Path, as_json: bool) -> None:
    """Publish the contract versions in FILE: they stand in the log and cannot change.

    New terms are a new version. The same file again changes nothing.

    \b
    Example:
      tallystick contract add contract-3.toml --store DIR
    """
    with open_store(store, notice=say) as opened:
        added = publish_contracts(opened.log, files)
    if as_json:
        click.echo(_published_json(added))
        return
    for each in added:
        word = "published" if each.is_new else "is published already"
        click.echo(f"{each.contract.name} {word}, record {each.leaf}")
        click.echo(f"  {each.contract.digest}")


@contract.command("list")
@store_option()
@json_option()
def list_command(*, store: Path, as_json: bool) -> None:
    """List the contract versions that are published.

    \b
    Example:
      tallystick contract list --store DIR
    """
    with open_store(store, notice=say) as opened, opened.log.reading() as log:
        found = published(log)
    if as_json:
        click.echo(_published_json(found))
        return
    click.echo(f"{'contract':<34} {'record':>8}  {'published':<19}  digest")
    for each in found:
        when, digest = each.recorded[:19].replace("T", " "), each.contract.digest
        click.echo(f"{each.contract.name:<34} {each.leaf:>8}  {when}  {digest[7:19]}")


@contract.command("schema")
def schema_command() -> None:
    """Print the JSON Schema (draft 2020-12) of a contract's JSON form.

    \b
    Example:
      tallystick contract schema > contract.schema.json
    """
    click.echo(contract_schema(), nl=False)


def _json(checked: CheckedContracts | None = None, mistakes: tuple[Mistake, ...] = ()) -> bytes:
    """Make the one object that is printed, the same keys whatever came out."""
    contracts = checked.contracts if checked else ()
    warnings = checked.warnings if checked else ()
    return canonical_bytes(
        {
            "contracts": [
                {
                    "source": name,
                    "name": each.name,
                    "digest": each.digest,
                    "terms": contract_json(each),
                }
                for name, each in contracts
            ],
            "warnings": [_mistake_json(warning) for warning in warnings],
            "mistakes": [_mistake_json(mistake) for mistake in mistakes],
        }
    )


def _mistake_json(mistake: Mistake) -> dict[str, Any]:
    return {
        "source": mistake.source,
        "line": mistake.line,
        "key": mistake.key,
        "message": mistake.message,
    }


def _published_json(found: tuple[Published, ...]) -> bytes:
    contracts = [
        {
            "name": each.contract.name,
            "digest": each.contract.digest,
            "leaf": each.leaf,
            "recorded": each.recorded,
            "new": each.is_new,
        }
        for each in found
    ]
    return canonical_bytes({"contracts": contracts})
