"""The programs ledger and hledger, which read our journals without knowing us."""

import csv
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Final

import pytest

Balances = dict[tuple[str, str], Decimal]

_ENVIRONMENT: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}


def ledger_balances(journal: str) -> Balances:
    """Let ledger, in its strict mode, add a journal up by account and currency."""
    currencies = [row.split()[1] for row in journal.splitlines() if row.startswith("commodity ")]
    found: Balances = {}
    for currency in currencies:
        only = ["--limit", f'commodity == "{currency}"']
        form = ["--format", "%(account)\t%(quantity(scrub(display_total)))\n"]
        strict = ["--args-only", "--pedantic", "--flat", "--no-total"]
        printed = _run("ledger", ["-f", "-", *strict, *only, *form, "balance"], journal)
        for row in printed.splitlines():
            account, _, amount = row.partition("\t")
            found[account, currency] = Decimal(amount)
    return found


def hledger_balances(journal: str) -> Balances:
    """Let hledger, in its strict mode, add a journal up by account and currency."""
    options = ["-f", "-", "--strict", "balance", "--flat", "-N", "-O", "csv"]
    printed = _run("hledger", options, journal)
    return dict(_parsed(csv.reader(printed.splitlines()[1:])))


def _parsed(rows: Iterable[list[str]]) -> Iterable[tuple[tuple[str, str], Decimal]]:
    for account, amounts in rows:
        for amount in amounts.split(", "):
            number, _, currency = amount.partition(" ")
            yield (account, currency), Decimal(number)


STRANGERS: Final[dict[str, Callable[[str], Balances]]] = {
    "ledger": ledger_balances,
    "hledger": hledger_balances,
}


def need(program: str) -> str:
    """Give the path of a program; skip without it, or fail where it is required."""
    path = shutil.which(program)
    if path is None and os.environ.get("TALLYSTICK_STRANGERS") == "required":
        pytest.fail(f"{program} is required here, and is not installed")
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


def _run(program: str, options: list[str], journal: str) -> str:
    done = subprocess.run(
        [need(program), *options],
        input=journal,
        capture_output=True,
        encoding="ascii",
        env=_ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
