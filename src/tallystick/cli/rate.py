"""``tallystick rate``: receipts from evidence files or from a store, without issuing them."""

import sys
from pathlib import Path

import click

from tallystick.app.contracts import load_contracts
from tallystick.app.rate import Rated, rate_files
from tallystick.cli.findings import finding_sentence
from tallystick.cli.options import (
    contract_id_option,
    contract_option,
    evidence_option,
    json_option,
    say,
    store_option,
)
from tallystick.core.canonical import canonical_bytes


@click.command("rate")
@evidence_option(required=False)
@contract_option(required=False)
@store_option(required=False)
@contract_id_option()
@click.option("--run", metavar="ID", help="Rate this run only.")
@json_option()
def rate_command(
    evidence: tuple[str, ...],
    contracts: tuple[str, ...],
    *,
    store: Path | None,
    contract_id: str | None,
    run: str | None,
    as_json: bool,
) -> None:
    """Rate runs: evidence records and contract versions in, receipts out.

    Records may come in any order and any number of times. What cannot be admitted is a
    finding, and the rest is rated. From a store, contracts are those that it has unless files
    are given, and nothing is issued. Exit 0 if at least one receipt came out, else 1.

    \b
    Examples:
      tallystick rate --evidence evidence.jsonl --contract contract.toml
      cat *.jsonl | tallystick rate --evidence - --contract v3.toml v4.toml --json
      tallystick rate --store DIR
    """
    if evidence and not contracts:
        raise click.UsageError("expected --contract FILE.toml... beside --evidence")
    rated: Rated
    if evidence:
        rated = rate_files(evidence, contracts, run)
    elif store is not None:
        rated = _rate_store(store, contracts, contract_id, run)
    else:
        raise click.UsageError("expected --evidence FILE.jsonl..., or --store DIR")
    if as_json:
        findings = [finding.to_json() for finding in rated.findings]
        click.echo(canonical_bytes({"receipts": rated.receipts, "findings": findings}))
    else:
        _print_table(rated)
    sys.exit(0 if rated.receipts else 1)


def _rate_store(
    path: Path, contracts: tuple[str, ...], contract_id: str | None, run: str | None
) -> Rated:
    # A store loads SQLite and signatures, which rating files does without.
    from tallystick.app.store import open_store  # noqa: PLC0415
    from tallystick.app.stored_receipts import rate_store  # noqa: PLC0415

    given = load_contracts(contracts) if contracts else None
    with open_store(path, notice=say) as opened:
        return rate_store(opened, run=run, contracts=given, contract_id=contract_id)


def _print_table(rated: Rated) -> None:
    """Print a line a run: metered hours, what is owed, and how many findings there are."""
    click.echo(f"{'run':<32} {'metered s':>16} {'net':>21} {'findings':>8}")
    for receipt in rated.receipts:
        net = receipt["totals"]["net"]
        text = net if isinstance(net, str) else f"{net['at_least']} to {net['at_most'] or '?'}"
        click.echo(
            f"{_fit(receipt['run']['id'], 32):<32} {receipt['usage']['metered']:>16}"
            f" {text + ' ' + receipt['totals']['currency']:>21} {len(receipt['findings']):>8}"
        )
    for finding in rated.findings:
        click.echo(finding_sentence(finding), err=True)


def _fit(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
