"""``tallystick contract``: check contracts before relying on them, and print their schema."""

from typing import Any

import click

from tallystick.app.contract_check import CheckedContracts, check_contracts, contract_schema
from tallystick.cli.contract_page import contract_page
from tallystick.cli.options import json_option
from tallystick.contract.errors import BadContractError, Mistake
from tallystick.contract.json_form import contract_json
from tallystick.core.canonical import canonical_bytes


@click.group()
def contract() -> None:
    """Check contracts, and print the schema that they follow."""


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
