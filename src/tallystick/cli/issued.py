"""How a receipt that a store issued is told."""

from pathlib import Path

import click

from tallystick.app.receipts import statement_json
from tallystick.app.stored_receipts import IssuedReceipt
from tallystick.core.canonical import canonical_bytes
from tallystick.receipt.columns import visible


def print_issued(found: IssuedReceipt, output: Path | None, *, as_json: bool) -> None:
    """Print which receipt of a run counts, and what it could not settle."""
    statement, issue = found.statement, found.issue
    if as_json:
        fields = {
            **statement_json(statement),
            "receipt": None if output is None else str(output),
            "new": found.is_new,
            "record": issue.leaf,
            "findings": [finding.to_json() for finding in found.findings],
            "unposted": [{"code": each.code, "message": each.message} for each in found.unposted],
        }
        click.echo(canonical_bytes(fields))
        return
    word = "" if found.is_new else ", issued before: nothing has changed since"
    click.echo(f"OK: run {visible(issue.run, ascii_only=False)}, revision {issue.revision}{word}")
    click.echo(f"payload {issue.payload}")
    said = [(each.code, each.message) for each in found.findings]
    said += [(each.code, each.message) for each in found.unposted]
    for code, message in said:
        click.echo(f"{code}: {visible(message, ascii_only=False)}", err=True)
