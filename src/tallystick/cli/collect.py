"""``tallystick collect``: what other programs know in, evidence records out."""

from collections.abc import Callable
from datetime import tzinfo
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from tallystick.app.admit import admit_files
from tallystick.app.collect import Collector
from tallystick.cli.admission import Watch, answers_option, print_admission
from tallystick.cli.collect_options import read_instant, read_key, read_seconds, read_zone
from tallystick.cli.collecting import OUTPUT, collect_from, common_options
from tallystick.cli.options import say, store_option
from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.dcgm import DcgmOptions, collect_dcgm
from tallystick.collectors.progress import collect_progress
from tallystick.collectors.samples import (
    SampleOptions,
    collect_exporter,
    collect_prometheus,
    collect_victoriametrics,
)

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

_LIVE = {
    "kubernetes": ("tallystick.cli.collect_kubernetes", "kubernetes_command"),
    "notices": ("tallystick.cli.collect_kubernetes", "notices_command"),
    "nvml": ("tallystick.cli.collect_nvml", "nvml_command"),
    "pull": ("tallystick.cli.collect_pull", "pull_command"),
    "skypilot": ("tallystick.cli.collect_kubernetes", "skypilot_command"),
    "slurm": ("tallystick.cli.collect_slurm", "slurm_command"),
}
"""Sources that load more than others do, and therefore only when they are asked for."""


class _CollectGroup(click.Group):
    """The sources of this module, and those of ``_LIVE``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the sources."""
        return sorted({*super().list_commands(ctx), *_LIVE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a source."""
        if cmd_name not in _LIVE:
            return super().get_command(ctx, cmd_name)
        module, name = _LIVE[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=_CollectGroup)
def collect() -> None:
    """Turn what other programs know into evidence records, one JSON object a line.

    \b
    Examples:
      tallystick collect slurm sacct.psv --cluster c1 --timezone UTC --store DIR
      tallystick collect slurm --sacct --cluster c1 --every 60 --store DIR
      tallystick collect slurm sacct.psv --cluster c1 --timezone UTC \\
        --dry-run --json > evidence.jsonl
    """


def _source(name: str) -> Callable[[Callable[..., Collector]], click.Command]:
    """Make a subcommand of a function that turns its options into a collector."""

    def decorate(make_collector: Callable[..., Collector]) -> click.Command:
        def command(inputs: tuple[str, ...], **options: Any) -> None:
            output = {option: options.pop(option) for option in OUTPUT}
            collect_from(name, inputs, make_collector(**options), **output)

        decorated = common_options(inputs_required=True)(wraps(make_collector)(command))
        return collect.command(name)(decorated)

    return decorate


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
