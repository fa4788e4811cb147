"""``tallystick collect nvml``: sample the GPUs of this node."""

import time
from collections.abc import Iterator
from pathlib import Path

import click

from tallystick.app.admit import clock_us
from tallystick.cli.admission import Watch, print_admission
from tallystick.cli.collect_options import read_key, read_seconds
from tallystick.cli.collecting import check_output, print_collected
from tallystick.cli.options import say, store_option
from tallystick.cli.stopping import stops_on_signals
from tallystick.collectors.collected import Collected
from tallystick.core.instant import SECOND_US
from tallystick.emit.spool import boot_id


@click.command("nvml")
@click.option(
    "--every",
    "every_us",
    type=read_seconds,
    metavar="SECONDS",
    required=True,
    help="How often each GPU is read.",
)
@click.option(
    "--for",
    "for_us",
    type=read_seconds,
    metavar="SECONDS",
    help="End after a time; an interrupt ends it too.",
)
@click.option(
    "--node",
    type=read_key,
    metavar="NAME",
    required=True,
    help="This node, as the scheduler names it.",
)
@store_option(required=False)
@click.option("--dry-run", is_flag=True, help="Print the records and store nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: one object, or lines.")
def nvml_command(
    *,
    every_us: int,
    for_us: int | None,
    node: str,
    store: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Sample utilisation, power and energy of this node's GPUs through NVML.

    Needs the extra nvml. Points are handed on once a minute, and at the end. A GPU cannot be
    reset while it is sampled.

    \b
    Examples:
      tallystick collect nvml --every 10 --node n1 --store DIR
      tallystick collect nvml --every 1 --for 60 --node n1 --dry-run --json \\
        > nvml.jsonl
    """
    check_output({"store": store, "dry_run": dry_run})
    # NVML and SQLite are loaded for sampling only.
    from tallystick.collectors.nvml import Pace, SampleSettings, open_nvml, sample  # noqa: PLC0415

    settings = SampleSettings(node=node, every_us=every_us, for_us=for_us, boot=boot_id())
    library = open_nvml()
    try:
        with stops_on_signals() as stop:
            pace = Pace(clock_us, _steady_us, lambda us: stop.wait(us / SECOND_US))
            batches = sample(library, settings, pace)
            if dry_run or store is None:
                for batch in batches:
                    print_collected(batch, as_json=as_json)
            else:
                _store(store, batches, as_json=as_json)
    finally:
        library.close()


def _store(path: Path, batches: Iterator[Collected], *, as_json: bool) -> None:
    # A dry run needs no SQLite.
    from tallystick.app.nvml import store_samples  # noqa: PLC0415
    from tallystick.app.store import open_store  # noqa: PLC0415

    watch = Watch(None, with_answers=False)
    with open_store(path, notice=say) as opened, watch:
        admission = store_samples(opened.log, batches, watch.saw)
    print_admission(admission, as_json=as_json)


def _steady_us() -> int:
    return time.monotonic_ns() // 1000
