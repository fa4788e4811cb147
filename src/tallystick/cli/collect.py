"""``tallystick collect``: files of other programs in, evidence records out.

One subcommand for each source. Records go into a store, or with ``--dry-run`` to standard
output as JSON lines; findings go to standard error, and exit 1 says that nothing came out.
"""

import json
import sys
from collections.abc import Callable
from datetime import tzinfo
from functools import wraps
from pathlib import Path
from typing import Any

import click

from tallystick.app.admit import Admission, admit_collected, admit_files
from tallystick.app.collect import Collector, collect_inputs
from tallystick.cli.admission import Watch, answers_option, print_admission
from tallystick.cli.collect_options import (
    is_pair,
    read_instant,
    read_key,
    read_pair,
    read_seconds,
    read_zone,
)
from tallystick.cli.findings import finding_sentence
from tallystick.cli.options import SeveralValues, say, store_option
from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.dcgm import DcgmOptions, collect_dcgm
from tallystick.collectors.progress import collect_progress
from tallystick.collectors.samples import (
    SampleOptions,
    collect_exporter,
    collect_prometheus,
    collect_victoriametrics,
)
from tallystick.collectors.slurm import SlurmOptions, collect_slurm
from tallystick.core.canonical import canonical_bytes

_CADENCE = click.option(
    "--cadence",
    "cadence_us",
    type=read_seconds,
    metavar="SECONDS",
    required=True,
    help="How often the devices were sampled.",
)
_NODE = click.option(
    "--node",
    type=read_key,
    metavar="NAME",
    help="Node of the exporter, named where a scrape failed.",
)

_COMMON: tuple[Any, ...] = (
    click.option("--observed", type=read_instant, hidden=True),
    click.option("--json", "as_json", is_flag=True, help="Print JSON: one object, or lines."),
    answers_option(),
    click.option("--dry-run", is_flag=True, help="Print the records and store nothing."),
    store_option(required=False),
    click.argument("inputs", metavar="INPUT...", nargs=-1, required=True),
)


@click.group()
def collect() -> None:
    """Turn files of other programs into evidence records, one JSON object a line.

    \b
    Examples:
      tallystick collect slurm sacct.psv --cluster c1 --timezone UTC --store DIR
      tallystick collect slurm sacct.psv --cluster c1 --timezone UTC \\
        --dry-run --json > evidence.jsonl
    """


def _source(name: str) -> Callable[[Callable[..., Collector]], click.Command]:
    """Make a subcommand of a function that turns its options into a collector."""

    def decorate(make_collector: Callable[..., Collector]) -> click.Command:
        def command(
            inputs: tuple[str, ...],
            *,
            store: Path | None,
            dry_run: bool,
            answers: bool,
            as_json: bool,
            observed: int | None,
            **options: Any,
        ) -> None:
            if inputs.count("-") > 1:
                raise click.UsageError("standard input can be read once")
            if store is None and not dry_run:
                raise click.UsageError("expected --store DIR to keep the records, or --dry-run")
            collected = collect_inputs(inputs, make_collector(**options), observed_us=observed)
            if dry_run or store is None:
                _print(collected, as_json=as_json)
            else:
                watch = Watch(len(collected.records), with_answers=answers)
                admission = _admit(store, collected, name, watch)
                print_admission(admission, as_json=as_json)
            if not collected.records:
                click.get_current_context().exit(1)

        decorated: Any = wraps(make_collector)(command)
        for decorator in _COMMON:
            decorated = decorator(decorated)
        return collect.command(name)(decorated)

    return decorate


def _admit(store: Path, collected: Collected, source: str, watch: Watch) -> Admission:
    from tallystick.app.store import open_store  # noqa: PLC0415 (a dry run needs no SQLite)

    with open_store(store, notice=say) as opened, watch:
        return admit_collected(opened.log, collected, source, watch.saw)


def _print(collected: Collected, *, as_json: bool) -> None:
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


@_source("slurm")
@click.option(
    "--cluster", metavar="NAME", required=True, help="Name of the cluster, part of attempt keys."
)
@click.option(
    "--timezone", metavar="ZONE", required=True, help="Zone of the times that the source printed."
)
@click.option(
    "--capacity",
    cls=SeveralValues,
    accepts=is_pair,
    type=read_pair,
    metavar="PARTITION=WORD...",
    help="What a partition is: spot, on_demand, reserved or unknown.",
)
@click.option(
    "--gpus-per-node", metavar="N", type=int, help="GPUs of a node, for rows that state no count."
)
@click.option(
    "--gpu-type",
    multiple=True,
    metavar="[PARTITION=]TYPE",
    help="GPU type, for rows that name none.",
)
def slurm_command(
    *,
    cluster: str,
    timezone: str,
    capacity: tuple[tuple[str, str], ...],
    gpus_per_node: int | None,
    gpu_type: tuple[str, ...],
) -> Collector:
    """Read sacct rows, sacct or slurmrestd JSON, and dumps of hook environments.

    \b
    Example:
      tallystick collect slurm sacct.psv prolog.env --cluster c1 --timezone UTC \\
        --capacity spot=spot od=on_demand --dry-run --json
    """

    def run(sources: tuple[Source, ...], observed_us: int) -> Collected:
        options = SlurmOptions(
            cluster=cluster,
            timezone=timezone,
            capacity=capacity,
            gpus_per_node=gpus_per_node,
            gpu_type=tuple(_typed(text) for text in gpu_type),
            observed_us=observed_us,
        )
        return collect_slurm(sources, options)

    return run


def _typed(text: str) -> tuple[str | None, str]:
    partition, equals, gpu_type = text.partition("=")
    return (partition, gpu_type) if equals else (None, text)


@_source("dcgm")
@click.option("--attempt", type=read_key, metavar="KEY", required=True, help="Key of the attempt.")
@click.option(
    "--node", type=read_key, metavar="NAME", required=True, help="Node that the statistics are of."
)
@click.option(
    "--timezone", type=read_zone, metavar="ZONE", required=True, help="Zone of that node's clock."
)
@click.option(
    "--read",
    "read_us",
    type=read_instant,
    metavar="TIME",
    required=True,
    help="When they were read.",
)
@click.option(
    "--keep",
    "keep_us",
    type=read_seconds,
    metavar="SECONDS",
    help="How long the engine kept samples.",
)
def dcgm_command(
    *, attempt: str, node: str, timezone: tzinfo, read_us: int, keep_us: int | None
) -> Collector:
    """Read what dcgmi stats -v -j and dcgmi discovery -l printed, and inventory records.

    \b
    Example:
      tallystick collect dcgm stats.txt gpus.txt --attempt slurm:c1:4242:1770000000 \\
        --node n1 --timezone UTC --read 2026-02-02T04:15:07Z --keep 14400 --dry-run --json
    """

    def run(sources: tuple[Source, ...], observed_us: int) -> Collected:
        options = DcgmOptions(
            attempt=attempt,
            node=node,
            timezone=timezone,
            read_us=read_us,
            keep_us=keep_us,
            observed_us=observed_us,
        )
        return collect_dcgm(sources, options)

    return run


@_source("prometheus")
@_CADENCE
@_NODE
def prometheus_command(*, cadence_us: int, node: str | None) -> Collector:
    """Read answers of the query API; a range selector such as metric[1h] gives real times.

    \b
    Example:
      tallystick collect prometheus range.json --cadence 30 --node n1 --dry-run --json
    """
    return _samples(collect_prometheus, cadence_us, node)


@_source("victoriametrics")
@_CADENCE
@_NODE
def victoriametrics_command(*, cadence_us: int, node: str | None) -> Collector:
    """Read lines of /api/v1/export, or answers of the query API.

    \b
    Example:
      tallystick collect victoriametrics export.jsonl --cadence 30 --dry-run --json
    """
    return _samples(collect_victoriametrics, cadence_us, node)


@_source("exporter")
@_CADENCE
@_NODE
@click.option("--at", "at_us", type=read_instant, metavar="TIME", help="When the pages were read.")
def exporter_command(*, cadence_us: int, node: str | None, at_us: int | None) -> Collector:
    """Read text pages of dcgm-exporter, or of a federation endpoint.

    \b
    Example:
      tallystick collect exporter page.txt --cadence 30 --node n1 \\
        --at 2026-02-02T04:15:07Z --dry-run --json
    """
    return _samples(collect_exporter, cadence_us, node, at_us)


def _samples(
    collect_samples: Callable[[tuple[Source, ...], SampleOptions], Collected],
    cadence_us: int,
    node: str | None,
    at_us: int | None = None,
) -> Collector:
    def run(sources: tuple[Source, ...], observed_us: int) -> Collected:
        options = SampleOptions(
            cadence_us=cadence_us, node=node, at_us=at_us, observed_us=observed_us
        )
        return collect_samples(sources, options)

    return run


@_source("progress")
def progress_command() -> Collector:
    """Read progress and checkpoint events: evidence lines, or bare kind, at and body.

    \b
    Example:
      tallystick collect progress events.jsonl --dry-run --json
    """
    return collect_progress


@collect.command("evidence")
@click.argument("inputs", metavar="FILE.jsonl...", nargs=-1, required=True)
@store_option()
@answers_option()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evidence_command(inputs: tuple[str, ...], *, store: Path, answers: bool, as_json: bool) -> None:
    """Put evidence records, one a line, into the store; - is standard input.

    \b
    Example:
      tallystick collect evidence evidence.jsonl --store DIR
    """
    if inputs.count("-") > 1:
        raise click.UsageError("standard input can be read once")
    from tallystick.app.store import open_store  # noqa: PLC0415 (a dry run needs no SQLite)

    watch = Watch(None, with_answers=answers)
    with open_store(store, notice=say) as opened, watch:
        admission = admit_files(opened.log, inputs, watch.saw)
    print_admission(admission, as_json=as_json)
    if not admission.counts["accepted"] + admission.counts["exists"]:
        click.get_current_context().exit(1)


@collect.command("segments")
@click.argument("inputs", metavar="FILE.parquet...", nargs=-1, required=True)
@click.option("--metric", required=True, metavar="NAME", help="What was sampled.")
@_CADENCE
@store_option()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def segments_command(
    inputs: tuple[str, ...], *, metric: str, cadence_us: int, store: Path, as_json: bool
) -> None:
    """Keep Parquet files of samples (columns gpu, at_us, value) and name them in the log.

    \b
    Example:
      tallystick collect segments day-1.parquet --metric DCGM_FI_DEV_GPU_UTIL \\
        --cadence 30 --store DIR
    """
    # Arrow is loaded for segments only.
    from tallystick.app.store import open_store  # noqa: PLC0415
    from tallystick.app.stored_segments import add_segments  # noqa: PLC0415
    from tallystick.cli.segment_table import print_segments  # noqa: PLC0415

    with open_store(store, notice=say) as opened:
        added = add_segments(opened, inputs, metric=metric, cadence_us=cadence_us)
    print_segments(added, as_json=as_json)
