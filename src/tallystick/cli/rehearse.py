"""``tallystick rehearse``: interrupt a disposable job on purpose, and see what that costs."""

import sys
from pathlib import Path
from typing import Any

import click

from tallystick.app.rehearse import Rehearsed, load_rehearsal, preview, run_rehearsal
from tallystick.cli.options import json_option, say
from tallystick.cli.status_line import StatusLine
from tallystick.cli.stopping import stops_on_signals
from tallystick.core.canonical import canonical_bytes
from tallystick.core.wording import as_printed
from tallystick.receipt.columns import PAGE_COLUMNS, wrap
from tallystick.rehearsal.facts import decimal_text


@click.command("rehearse")
@click.argument("plan", metavar="PLAN.toml", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--run", "runs", is_flag=True, help="Do it; without this it is only shown.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where everything goes, new or empty.  [default: NAME.rehearsal beside the plan]",
)
@json_option()
def rehearse_command(plan: Path, out: Path | None, *, runs: bool, as_json: bool) -> None:
    """Run the job of a plan twice, once with its faults, and compare the results.

    Without --run nothing is started or written: it is shown what would be. With it, evidence,
    receipts, bundles and a recovery packet are left in DIR. Exit 1 if the run did not recover
    as planned.

    \b
    Examples:
      tallystick rehearse examples/rehearsal/plan.toml
      tallystick rehearse examples/rehearsal/plan.toml --run --out rehearsal
    """
    rehearsal = load_rehearsal(plan, out)
    if not runs:
        shown = preview(rehearsal)
        click.echo(canonical_bytes(shown) if as_json else "\n".join(_preview_rows(shown)))
        return
    with stops_on_signals() as stopped, StatusLine() as line:
        done = run_rehearsal(rehearsal, stop=stopped, say=line.show)
    result = _result(done, rehearsal.out)
    click.echo(canonical_bytes(result) if as_json else "\n".join(_result_rows(result)))
    for finding in () if as_json else done.outcome.findings:
        say(f"{finding.code}: {as_printed(finding.message)}")
    for problem in done.papers.problems:
        say(as_printed(problem))
    sys.exit(0 if done.outcome.is_good else 1)


def _preview_rows(shown: dict[str, Any]) -> list[str]:
    """Lay out what would be done; what stands in a plan is shown escaped."""
    rows = [
        f"plan      {as_printed(shown['plan'])}  {shown['digest']}",
        f"route     {shown['route']}",
    ]
    rows.append(f"folder    {as_printed(shown['out'])}, where all files of the rehearsal go")
    rows.append(f"contract  {as_printed(shown['contract'])}")
    for run in shown["runs"]:
        rows += ["", f"run {run['run']}", *(f"  {as_printed(each)}" for each in run["touches"])]
    rows += ["", "faults, in the second run"]
    for number, sentence in enumerate(shown["faults"], start=1):
        first, *others = wrap(sentence.split(), PAGE_COLUMNS - 6)
        rows += [f"  {number:2}. {first}", *(f"      {row}" for row in others)]
    rows += ["", "is given up", *(f"  {each}" for each in shown["limits"])]
    rows += ["", "never touched", *(f"  {each}" for each in shown["never"])]
    return [*rows, "", "Nothing was started. With --run this is done."]


def _result(done: Rehearsed, out: Path) -> dict[str, Any]:
    outcome, comparison = done.outcome, done.outcome.comparison
    return {
        "ok": outcome.is_good,
        "finished": outcome.is_finished,
        "equal": None if comparison is None else comparison.is_equal,
        "difference": None if comparison is None else decimal_text(comparison.difference),
        "digest": None if comparison is None else comparison.digest,
        "uninterrupted_digest": None if comparison is None else comparison.other_digest,
        "findings": [
            {"code": each.code, "message": each.message, "attempt": each.attempt}
            for each in outcome.findings
        ],
        "out": str(out),
        "files": [str(path) for path in done.papers.files],
        "problems": list(done.papers.problems),
    }


def _result_rows(result: dict[str, Any]) -> list[str]:
    word = {True: "equal to the uninterrupted one", False: "another one", None: "none"}
    rows = [f"{'OK' if result['ok'] else 'NOT OK'}: result {word[result['equal']]}"]
    if result["equal"] is False and result["difference"] is not None:
        rows.append(f"difference {result['difference']}")
    return [*rows, *(as_printed(path) for path in result["files"])]
