"""``tallystick receipt``: issue, verify, replay, explain, show and compare receipts."""

import sys
from pathlib import Path

import click

from tallystick.app.receipts import (
    diff_receipt_files,
    explain_receipt,
    issue_receipt_file,
    load_background,
    open_receipt_file,
    replay_receipt_file,
    statement_json,
    verify_receipt_file,
)
from tallystick.cli.options import (
    SeveralValues,
    contract_option,
    evidence_option,
    json_option,
    verify_keys_option,
)
from tallystick.core.canonical import canonical_bytes
from tallystick.receipt.columns import visible
from tallystick.receipt.diff import diff_rows
from tallystick.receipt.errors import VerificationError
from tallystick.receipt.explanation_page import explanation_rows
from tallystick.receipt.page import page
from tallystick.receipt.verify import STEPS


@click.group()
def receipt() -> None:
    """Issue, verify, replay, explain, show and compare receipts.

    RECEIPT stands before the options, or after ``--``; - is standard input.
    """


@receipt.command("issue")
@evidence_option(required=True)
@contract_option(required=True)
@click.option("--run", required=True, metavar="ID", help="The run that it is for.")
@click.option(
    "--key",
    "keys",
    cls=SeveralValues,
    required=True,
    metavar="FILE...",
    help="Private keys of those who sign.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="RECEIPT",
    type=click.Path(path_type=Path),
    help="Where the receipt is written.",
)
@json_option()
def issue_command(
    evidence: tuple[str, ...],
    contracts: tuple[str, ...],
    run: str,
    keys: tuple[str, ...],
    output: Path,
    *,
    as_json: bool,
) -> None:
    """Rate a run and sign its receipt: an in-toto Statement in a DSSE envelope.

    \b
    Example:
      tallystick receipt issue --evidence evidence.jsonl --contract contract.toml \\
        --run pretrain-7 --key provider.key -o pretrain-7.receipt
    """
    issued = issue_receipt_file(output, evidence=evidence, contracts=contracts, run=run, keys=keys)
    findings = [finding.to_json() for finding in issued.findings]
    if as_json:
        fields = {**statement_json(issued.statement), "receipt": str(output), "findings": findings}
        click.echo(canonical_bytes(fields))
        return
    click.echo(f"OK: run {_text(run)}")
    click.echo(f"payload {issued.statement.payload_digest}")
    for finding in issued.findings:
        click.echo(f"{finding.code}: {_text(finding.message)}", err=True)


@receipt.command("verify")
@click.argument("path", metavar="RECEIPT")
@verify_keys_option()
@json_option()
def verify_command(path: str, keys: tuple[str, ...], *, as_json: bool) -> None:
    """Verify RECEIPT step by step: exit 0 if every step holds, 1 if one does not.

    Without a key there is nothing to check against, and that is a failure. Whether the
    figures follow from the evidence is shown by ``receipt replay``.

    \b
    Example:
      tallystick receipt verify pretrain-7.receipt --key provider.key.vkey
    """
    try:
        statement = verify_receipt_file(path, keys)
    except VerificationError as error:
        if as_json:
            failure = {"step": error.step, "code": error.code, "message": str(error)}
            click.echo(canonical_bytes({"verified": False, "failure": failure}))
        raise
    if as_json:
        steps = [{"step": number, "holds": text} for number, text in enumerate(STEPS)]
        fields = {"verified": True, **statement_json(statement), "steps": steps}
        click.echo(canonical_bytes(fields))
        return
    click.echo(f"OK: run {_text(statement.receipt.run.id)}")
    click.echo(f"payload {statement.payload_digest}")
    for signer in statement.signers:
        click.echo(f"signed by {_text(signer)}")
    for number, text in enumerate(STEPS):
        click.echo(f"  ({number}) {text}")


@receipt.command("replay")
@click.argument("path", metavar="RECEIPT")
@evidence_option(required=True)
@contract_option(required=True)
@verify_keys_option()
@json_option()
def replay_command(
    path: str,
    evidence: tuple[str, ...],
    contracts: tuple[str, ...],
    keys: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Compute RECEIPT again from the evidence: exit 0 if the payload is the same bytes.

    Signatures are checked too if keys are given.

    \b
    Example:
      tallystick receipt replay pretrain-7.receipt \\
        --evidence evidence.jsonl --contract contract.toml
    """
    replay = replay_receipt_file(path, evidence=evidence, contracts=contracts, keys=keys)
    if as_json:
        click.echo(canonical_bytes(replay.to_json()))
    elif replay.difference is None:
        click.echo(f"IDENTICAL: run {_text(replay.run)}")
    else:
        difference = replay.difference
        stated, computed = canonical_bytes(difference.stated), canonical_bytes(difference.computed)
        click.echo(f"DIFFERENT: run {_text(replay.run)}, first at {_text(difference.path)}")
        click.echo(f"  stated   {_text(stated.decode())}")
        click.echo(f"  computed {_text(computed.decode())}")
    sys.exit(0 if replay.identical else 1)


@receipt.command("explain")
@click.argument("path", metavar="RECEIPT")
@click.argument("line", required=False, type=int)
@evidence_option(required=False)
@contract_option(required=False)
@verify_keys_option()
@json_option()
def explain_command(
    path: str,
    line: int | None,
    evidence: tuple[str, ...],
    contracts: tuple[str, ...],
    keys: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Say why LINE of RECEIPT is what it is, or why each line is.

    With the contract the clause is quoted, with the evidence each record is named. For a
    held line it says what would settle it.

    \b
    Example:
      tallystick receipt explain pretrain-7.receipt 5 \\
        --contract contract.toml --evidence evidence.jsonl
    """
    statement = open_receipt_file(path, keys)
    explanations = explain_receipt(statement, line, load_background(evidence, contracts))
    if as_json:
        lines = [explanation.to_json() for explanation in explanations]
        click.echo(canonical_bytes({**statement_json(statement), "lines": lines}))
        return
    for index, explanation in enumerate(explanations):
        rows = explanation_rows(statement.receipt, explanation, ascii_only=_ascii_only())
        click.echo("\n".join(rows if index == 0 else ["", *rows]))


@receipt.command("show")
@click.argument("path", metavar="RECEIPT")
@contract_option(required=False)
@verify_keys_option()
@json_option()
def show_command(
    path: str, contracts: tuple[str, ...], keys: tuple[str, ...], *, as_json: bool
) -> None:
    """Show RECEIPT as a page of text, 80 columns wide.

    Without a key the page says that the signatures were not checked.

    \b
    Example:
      tallystick receipt show pretrain-7.receipt --key provider.key.vkey
    """
    statement = open_receipt_file(path, keys)
    if as_json:
        fields = {**statement_json(statement), "predicate": statement.predicate}
        click.echo(canonical_bytes(fields))
        return
    parties = load_background((), contracts).parties
    click.echo("\n".join(page(statement, parties=parties, ascii_only=_ascii_only())))


@receipt.command("diff")
@click.argument("before", metavar="RECEIPT")
@click.argument("after", metavar="OTHER")
@verify_keys_option()
@json_option()
def diff_command(before: str, after: str, keys: tuple[str, ...], *, as_json: bool) -> None:
    """Say what differs from RECEIPT to OTHER: exit 0 if nothing does, 1 if something does.

    \b
    Example:
      tallystick receipt diff before.receipt after.receipt
    """
    changes = diff_receipt_files(before, after, keys)
    if as_json:
        fields = {"same": not changes, "changes": [change.to_json() for change in changes]}
        click.echo(canonical_bytes(fields))
    elif changes:
        click.echo("\n".join(diff_rows(changes, ascii_only=_ascii_only())))
    else:
        click.echo("SAME")
    sys.exit(1 if changes else 0)


def _ascii_only() -> bool:
    """Tell whether standard output can write nothing but ASCII."""
    try:
        "\u6f22".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def _text(text: str) -> str:
    """Write a name or message so that it cannot break the line or the terminal."""
    return visible(text, ascii_only=_ascii_only())
