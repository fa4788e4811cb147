"""``tallystick receipt``: issue, verify, replay, explain, show and compare receipts."""

import sys
from pathlib import Path

import click

from tallystick.app.bundles import is_bundle, replay_bundle_file
from tallystick.app.files import write_file
from tallystick.app.keys import load_signing_keys
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
from tallystick.cli.bundle import (
    keys_folder_option,
    print_made_bundle,
    trusted_keys,
    verify_bundle_command,
    witnesses_option,
)
from tallystick.cli.options import (
    SeveralValues,
    contract_id_option,
    contract_option,
    evidence_option,
    json_option,
    say,
    store_option,
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
@evidence_option(required=False)
@contract_option(required=False)
@store_option(required=False)
@contract_id_option()
@click.option("--run", required=True, metavar="ID", help="The run that it is for.")
@click.option(
    "--key",
    "keys",
    cls=SeveralValues,
    metavar="FILE...",
    help="Private keys of those who sign [default with a store: its own].",
)
@click.option(
    "-o",
    "--output",
    metavar="RECEIPT",
    type=click.Path(path_type=Path),
    help="Where the receipt is written; a store keeps it too.",
)
@json_option()
def issue_command(
    evidence: tuple[str, ...],
    contracts: tuple[str, ...],
    *,
    store: Path | None,
    contract_id: str | None,
    run: str,
    keys: tuple[str, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Rate a run and sign its receipt: an in-toto Statement in a DSSE envelope.

    From a store the receipt names the head of its log, is kept there with its revisions, and
    is posted to the ledger. Issued again without news it is the same receipt.

    \b
    Examples:
      tallystick receipt issue --run pretrain-7 --store DIR -o pretrain-7.receipt
      tallystick receipt issue --evidence evidence.jsonl --contract contract.toml \\
        --run pretrain-7 --key provider.key -o pretrain-7.receipt
    """
    if evidence:
        _issue_file(evidence, contracts, run, keys, output, as_json=as_json)
    elif store is None:
        raise click.UsageError("expected --store DIR, or --evidence FILE.jsonl...")
    elif contracts:
        raise click.UsageError("a store has its own contracts: publish with `contract add`")
    else:
        _issue_stored(store, run, contract_id, keys, output, as_json=as_json)


def _issue_stored(
    store: Path,
    run: str,
    contract_id: str | None,
    keys: tuple[str, ...],
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    # A store loads SQLite, which verifying and showing a receipt do without.
    from tallystick.app.store import open_store  # noqa: PLC0415
    from tallystick.app.stored_receipts import issue_receipt  # noqa: PLC0415
    from tallystick.cli.issued import print_issued  # noqa: PLC0415

    with open_store(store, notice=say) as opened:
        found = issue_receipt(opened, run, keys=load_signing_keys(keys), contract_id=contract_id)
    if output is not None:
        write_file(output, found.envelope)
    print_issued(found, output, as_json=as_json)


def _issue_file(
    evidence: tuple[str, ...],
    contracts: tuple[str, ...],
    run: str,
    keys: tuple[str, ...],
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    if not contracts or not keys or output is None:
        raise click.UsageError("expected --contract, --key and -o beside --evidence")
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
@keys_folder_option()
@witnesses_option()
@json_option()
def verify_command(
    path: str,
    keys: tuple[str, ...],
    *,
    folder: Path | None,
    witnesses: tuple[str, ...],
    as_json: bool,
) -> None:
    """Verify RECEIPT, or a bundle, step by step: exit 0 if every step holds, 1 if one does not.

    Without a key there is nothing to check against, and that is a failure. Whether the
    figures follow from the evidence is shown by ``receipt replay``.

    \b
    Examples:
      tallystick receipt verify pretrain-7.receipt --key provider.key.vkey
      tallystick receipt verify pretrain-7.bundle --keys trusted/
    """
    try:
        if is_bundle(path):
            trusted = trusted_keys(keys, folder)
            verify_bundle_command(path, trusted, witnesses, as_json=as_json)
            return
        if witnesses:
            raise click.UsageError("a receipt has no head: witnesses are checked on a bundle")
        statement = verify_receipt_file(path, trusted_keys(keys, folder))
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
@evidence_option(required=False)
@contract_option(required=False)
@verify_keys_option()
@keys_folder_option()
@json_option()
def replay_command(
    path: str,
    evidence: tuple[str, ...],
    contracts: tuple[str, ...],
    keys: tuple[str, ...],
    *,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Compute RECEIPT again from the evidence: exit 0 if the payload is the same bytes.

    A bundle has its evidence with it. Signatures are checked too if keys are given.

    \b
    Examples:
      tallystick receipt replay pretrain-7.receipt \\
        --evidence evidence.jsonl --contract contract.toml
      tallystick receipt replay pretrain-7.bundle --keys trusted/
    """
    trusted = trusted_keys(keys, folder)
    if is_bundle(path):
        replay, recorded = replay_bundle_file(path, trusted)
        if recorded:
            say(f"{recorded} segments were dropped since: the log's record of them was used")
    elif evidence and contracts:
        replay = replay_receipt_file(path, evidence=evidence, contracts=contracts, keys=trusted)
    else:
        raise click.UsageError("expected --evidence and --contract beside a receipt")
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


@receipt.command("bundle")
@click.option("--run", required=True, metavar="ID", help="The run whose receipt it is.")
@click.option("--revision", type=click.IntRange(1), metavar="N", help="Which [default: the last].")
@click.option(
    "--key",
    "keys",
    cls=SeveralValues,
    metavar="FILE...",
    help="Private keys of those who sign the bundle [default: the store's own].",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="BUNDLE",
    type=click.Path(path_type=Path),
    help="Where the bundle is written.",
)
@store_option()
@json_option()
def bundle_command(
    *,
    run: str,
    revision: int | None,
    keys: tuple[str, ...],
    output: Path,
    store: Path,
    as_json: bool,
) -> None:
    """Put a receipt that was issued into one file with its evidence, contract and proofs.

    Who has it, and the public keys, verifies and replays it on a machine without the store.

    \b
    Example:
      tallystick receipt bundle --run pretrain-7 --store DIR -o pretrain-7.bundle
    """
    from tallystick.app.store import open_store  # noqa: PLC0415 (it loads SQLite)
    from tallystick.app.stored_bundles import bundle_run  # noqa: PLC0415

    with open_store(store, notice=say) as opened:
        made = bundle_run(opened, run, revision=revision, keys=load_signing_keys(keys))
    write_file(output, made.data)
    print_made_bundle(made.data, made.verified, output, as_json=as_json)


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
