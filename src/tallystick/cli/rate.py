"""``tallystick rate``: receipts from evidence files, without a store."""

import sys

import click

from tallystick.app.rate import RatedFiles, rate_files
from tallystick.cli.options import contract_option, evidence_option, json_option
from tallystick.core.canonical import canonical_bytes


@click.command("rate")
@evidence_option(required=True)
@contract_option(required=True)
@click.option("--run", metavar="ID", help="Rate this run only.")
@json_option()
def rate_command(
    evidence: tuple[str, ...], contracts: tuple[str, ...], run: str | None, *, as_json: bool
) -> None:
    """Rate runs: evidence records and contract versions in, receipts out.

    Records may come in any order and any number of times. What cannot be admitted is a
    finding, and the rest is rated. Exit 0 if at least one receipt came out, else 1.

    \b
    Examples:
      tallystick rate --evidence evidence.jsonl --contract contract.toml
      cat *.jsonl | tallystick rate --evidence - --contract v3.toml v4.toml --json
    """
    rated = rate_files(evidence, contracts, run)
    if as_json:
        findings = [finding.to_json() for finding in rated.findings]
        click.echo(canonical_bytes({"receipts": rated.receipts, "findings": findings}))
    else:
        _print_table(rated)
    sys.exit(0 if rated.receipts else 1)


def _print_table(rated: RatedFiles) -> None:
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
        place = "" if finding.line is None else f" (file {finding.file}, line {finding.line})"
        click.echo(f"{finding.code}: {finding.message}{place}", err=True)


def _fit(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
