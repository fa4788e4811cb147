"""``tallystick collect slurm``: files that Slurm wrote, or a cluster that is asked."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from tallystick.app.collect import Collector
from tallystick.app.files import read_file
from tallystick.cli.admission import print_admission
from tallystick.cli.collect_options import is_pair, read_instant, read_pair, read_seconds
from tallystick.cli.collecting import collect_from, common_options
from tallystick.cli.options import SeveralValues, say
from tallystick.cli.stopping import stops_on_signals
from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.slurm import SlurmOptions, collect_slurm
from tallystick.core.instant import SECOND_US

_TOKEN_BYTES_MAX: Final = 1 << 16
_OVERLAP_US: Final = 3600 * SECOND_US
_LIVE_ONLY: Final = ("start_us", "overlap_us", "every_us", "token_file", "rest_user", "program")


@click.command("slurm")
@common_options(inputs_required=False)
@click.option(
    "--cluster", metavar="NAME", required=True, help="Name of the cluster, part of attempt keys."
)
@click.option("--timezone", metavar="ZONE", help="Zone of the times that the source printed.")
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
@click.option("--sacct", "ask_sacct", is_flag=True, help="Ask the cluster's accounting by sacct.")
@click.option("--rest", metavar="URL", help="Ask slurmrestd at http://HOST:PORT or unix:/PATH.")
@click.option("--program", metavar="FILE", help="The sacct to run, if it is not on the PATH.")
@click.option("--token-file", metavar="FILE", help="A token for slurmrestd; SLURM_JWT without it.")
@click.option("--rest-user", metavar="NAME", help="Whose token it is.")
@click.option(
    "--from",
    "start_us",
    type=read_instant,
    metavar="TIME",
    help="Where the first poll of a cluster begins.",
)
@click.option(
    "--overlap",
    "overlap_us",
    type=read_seconds,
    metavar="SECONDS",
    help="How far a poll reaches back before the last; an hour, and no less.",
)
@click.option(
    "--every",
    "every_us",
    type=read_seconds,
    metavar="SECONDS",
    help="Poll again and again, until stopped.",
)
def slurm_command(
    *,
    inputs: tuple[str, ...],
    cluster: str,
    timezone: str | None,
    capacity: tuple[tuple[str, str], ...],
    gpus_per_node: int | None,
    gpu_type: tuple[str, ...],
    ask_sacct: bool,
    rest: str | None,
    **further: Any,
) -> None:
    """Read files of sacct, slurmrestd and hooks, or ask a running cluster.

    From files: sacct rows, sacct or slurmrestd JSON, dumps of hook environments, and records
    of hooks, which are joined to the rows. With --sacct or --rest the cluster is asked for
    everything since the last poll, which the store remembers; a poll that fails costs nothing.

    \b
    Examples:
      tallystick collect slurm sacct.psv prolog.env --cluster c1 --timezone UTC \\
        --capacity spot=spot od=on_demand --dry-run --json
      tallystick collect slurm --sacct --cluster c1 --from 2026-03-01T00:00:00Z \\
        --every 60 --store DIR
    """

    def options_at(observed_us: int) -> SlurmOptions:
        return SlurmOptions(
            cluster=cluster,
            timezone=timezone or "UTC",
            capacity=capacity,
            gpus_per_node=gpus_per_node,
            gpu_type=tuple(_typed(text) for text in gpu_type),
            observed_us=observed_us,
        )

    live = {name: further.pop(name) for name in _LIVE_ONLY}
    if ask_sacct or rest is not None:
        if inputs or further["dry_run"] or further["store"] is None or (ask_sacct and rest):
            raise click.UsageError(
                "--sacct or --rest takes --store DIR, and no files and no --dry-run"
            )
        _poll(options_at, cluster, rest, **live, **further)
        return
    if any(value is not None for value in live.values()):
        named = next(name for name, value in live.items() if value is not None)
        option = named.removesuffix("_us").replace("start", "from").replace("_", "-")
        raise click.UsageError(f"--{option} needs --sacct or --rest")
    if not inputs:
        raise click.UsageError("expected files, or --sacct or --rest to ask a cluster")
    if timezone is None:
        raise click.UsageError("expected --timezone: files do not say the zone of their times")
    collect_from("slurm", inputs, _from_files(options_at), **further)


def _typed(text: str) -> tuple[str | None, str]:
    partition, equals, gpu_type = text.partition("=")
    return (partition, gpu_type) if equals else (None, text)


def _from_files(options_at: Callable[[int], SlurmOptions]) -> Collector:
    def run(sources: tuple[Source, ...], observed_us: int) -> Collected:
        return collect_slurm(sources, options_at(observed_us))

    return run


def _poll(
    options_at: Callable[[int], SlurmOptions],
    cluster: str,
    rest: str | None,
    *,
    store: Path,
    start_us: int | None,
    overlap_us: int | None,
    every_us: int | None,
    token_file: str | None,
    rest_user: str | None,
    program: str | None,
    as_json: bool,
    **_: Any,
) -> None:
    # SQLite and the network are loaded for a poll only.
    from tallystick.app.slurm_poll import Poller, poll_on  # noqa: PLC0415
    from tallystick.app.store import open_store  # noqa: PLC0415
    from tallystick.collectors.slurm.live.rest import SlurmRest  # noqa: PLC0415
    from tallystick.collectors.slurm.live.sacct import Sacct  # noqa: PLC0415

    overlap = max(_OVERLAP_US, overlap_us or 0)
    if rest is None:
        accounting: Sacct | SlurmRest = Sacct(program or "sacct")
    else:
        accounting = SlurmRest(rest, user=rest_user, token=_token(token_file))
    with open_store(store, notice=say) as opened:
        poller = Poller(opened, accounting, options_at, cluster, start_us, overlap)
        if every_us is None:
            print_admission(poller.poll(), as_json=as_json)
            return
        with stops_on_signals() as stop:
            poll_on(
                poller,
                every_s=every_us / SECOND_US,
                wait=stop.wait,
                on_poll=lambda admission: print_admission(admission, as_json=as_json),
                say=say,
            )


def _token(path: str | None) -> str | None:
    if path is None:
        return os.environ.get("SLURM_JWT") or None
    data = read_file(path, bytes_max=_TOKEN_BYTES_MAX)
    return data.decode(errors="replace")
