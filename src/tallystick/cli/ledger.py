"""``tallystick ledger``: what the receipts that were issued have posted."""

from pathlib import Path

import click

from tallystick.app.store import open_store
from tallystick.app.stored_ledger import Ledger, read_journal, read_ledger
from tallystick.cli.options import json_option, say, store_option
from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import format_instant
from tallystick.ledger.exact import amount_text, subtract


@click.group()
def ledger() -> None:
    """Show the double-entry ledger of a store."""


@ledger.command("balance")
@store_option()
@json_option()
def balance_command(*, store: Path, as_json: bool) -> None:
    """Show what stands on each account, and that debits equal credits.

    The ledger is read from its first entry, and must balance after each.

    \b
    Example:
      tallystick ledger balance --store DIR
    """
    with open_store(store, notice=say) as opened, opened.log.reading() as log:
        found = read_ledger(log)
    if as_json:
        click.echo(_balance_json(found))
        return
    width = max([44, *(len(each.account.text) for each in found.balances)])
    for each in found.balances:
        click.echo(f"{each.account.text:<{width}} {amount_text(each.amount):>20} {each.currency}")
    for trial in found.trial:
        click.echo(f"{'debits':<{width}} {amount_text(trial.debits):>20} {trial.currency}")
        click.echo(f"{'credits':<{width}} {amount_text(trial.credits):>20} {trial.currency}")
    click.echo(f"{len(found.entries)} entries, and they balance after each of them")


@ledger.command("journal")
@store_option()
@json_option()
def journal_command(*, store: Path, as_json: bool) -> None:
    """Print every entry, as a journal that ledger and hledger read.

    \b
    Example:
      tallystick ledger journal --store DIR > gpu.journal
    """
    with open_store(store, notice=say) as opened, opened.log.reading() as log:
        if as_json:
            click.echo(_journal_json(read_ledger(log)))
        else:
            click.echo(read_journal(log), nl=False)


def _balance_json(found: Ledger) -> bytes:
    return canonical_bytes(
        {
            "balances": [
                {
                    "account": each.account.name,
                    "customer": each.account.customer,
                    "amount": amount_text(each.amount),
                    "currency": each.currency,
                }
                for each in found.balances
            ],
            "trial": [
                {
                    "currency": each.currency,
                    "debits": amount_text(each.debits),
                    "credits": amount_text(each.credits),
                    "difference": amount_text(subtract(each.debits, each.credits)),
                }
                for each in found.trial
            ],
            "entries": len(found.entries),
        }
    )


def _journal_json(found: Ledger) -> bytes:
    entries = [
        {
            "receipt": each.receipt,
            "line": each.line,
            "run": each.run,
            "revision": each.revision,
            "customer": each.customer,
            "recorded": format_instant(each.recorded_us),
            "sentence": each.sentence,
            "postings": [
                {
                    "account": posting.account.name,
                    "customer": posting.account.customer,
                    "amount": amount_text(posting.amount),
                    "currency": posting.currency,
                }
                for posting in each.postings
            ],
        }
        for each in found.entries
    ]
    return canonical_bytes({"entries": entries})
