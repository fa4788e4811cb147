"""What every ``tallystick collect`` subcommand shares: its options, its streams, its exit.

Records go into a store, or with ``--dry-run`` to standard output as JSON lines; findings go to
standard error, and exit 1 says that nothing came out.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tallystick.app.admit import admit_collected
from tallystick.app.collect import Collector, collect_inputs
from tallystick.cli.admission import Watch, answers_option, print_admission
from tallystick.cli.collect_options import read_instant
from tallystick.cli.findings import finding_sentence
from tallystick.cli.options import say, store_option
from tallystick.collectors.collected import Collected
from tallystick.core.canonical import canonical_bytes

OUTPUT = ("store", "dry_run", "as_json", "answers", "observed_us")
"""Names under which a command is given the options of ``common_options``."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def common_options(*, inputs_required: bool) -> Callable[[_Command], _Command]:
    """Add what every source takes."""

    def decorate(command: _Command) -> _Command:
        options: tuple[Callable[[_Command], _Command], ...] = (
            click.option("--observed", "observed_us", type=read_instant, hidden=True),
            click.option(
                "--json", "as_json", is_flag=True, help="Print JSON: one object, or lines."
            ),
            answers_option(),
            click.option("--dry-run", is_flag=True, help="Print the records and store nothing."),
            store_option(required=False),
            click.argument("inputs", metavar="INPUT...", nargs=-1, required=inputs_required),
        )
        for option in options:
            command = option(command)
        return command

    return decorate


def collect_from(source: str, inputs: tuple[str, ...], collector: Collector, **output: Any) -> None:
    """Run a collector over inputs, and store or print what it saw."""
    check_output(output)
    if inputs.count("-") > 1:
        raise click.UsageError("standard input can be read once")
    collected = collect_inputs(inputs, collector, observed_us=output["observed_us"])
    hand_on(source, collected, **output)


def check_output(output: dict[str, Any]) -> None:
    """Refuse a call that neither stores nor prints."""
    if output["store"] is None and not output["dry_run"]:
        raise click.UsageError("expected --store DIR to keep the records, or --dry-run")


def hand_on(
    source: str,
    collected: Collected,
    *,
    store: Path | None,
    dry_run: bool,
    as_json: bool,
    answers: bool,
    **_: Any,
) -> None:
    """Store or print what was collected."""
    if dry_run or store is None:
        print_collected(collected, as_json=as_json)
    else:
        from tallystick.app.store import open_store  # noqa: PLC0415 (a dry run needs no SQLite)

        watch = Watch(len(collected.records), with_answers=answers)
        with open_store(store, notice=say) as opened, watch:
            admission = admit_collected(opened.log, collected, source, watch.saw)
        print_admission(admission, as_json=as_json)
    if not collected.records:
        click.get_current_context().exit(1)


def print_collected(collected: Collected, *, as_json: bool) -> None:
    """Print records to standard output, and findings to standard error."""
    for record in collected.records:
        sys.stdout.buffer.write(canonical_bytes(record) + b"\n")
    sys.stdout.flush()  # A reader that went away is noticed here, where click ends quietly.
    for finding in collected.findings:
        click.echo(
            json.dumps(finding.to_json()) if as_json else finding_sentence(finding), err=True
        )
    if not as_json:
        counts = (len(collected.records), len(collected.findings))
        click.echo("records: {}, findings: {}".format(*counts), err=True)
