"""``tallystick segment``: the telemetry segments of a store, and dropping old ones."""

from pathlib import Path

import click

from tallystick.app.admit import clock_us
from tallystick.app.store import open_store
from tallystick.app.stored_segments import drop_segments, list_segments
from tallystick.cli.options import json_option, say, store_option
from tallystick.cli.segment_table import print_segments, segment_json
from tallystick.core.canonical import canonical_bytes


@click.group()
def segment() -> None:
    """List the telemetry segments of a store, and drop those that a policy lets go."""


@segment.command("list")
@store_option()
@json_option()
def list_command(*, store: Path, as_json: bool) -> None:
    """List the segments that the log names.

    \b
    Example:
      tallystick segment list --store DIR
    """
    with open_store(store, notice=say) as opened:
        segments = list_segments(opened)
    print_segments(segments, as_json=as_json)


@segment.command("drop")
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(0),
    required=True,
    metavar="DAYS",
    help="How long ago a segment must have ended.",
)
@click.option("--policy", required=True, metavar="TEXT", help="Why, for the record.")
@click.option("--dry-run", is_flag=True, help="Only say which segments would go.")
@store_option()
@json_option()
def drop_command(*, days: int, policy: str, dry_run: bool, store: Path, as_json: bool) -> None:
    """Drop old segments; a record keeps what each said, so receipts keep their coverage.

    Segments that an open attempt may still be asked about are left.

    \b
    Example:
      tallystick segment drop --older-than 90 --policy "90 days of raw samples" --store DIR
    """
    with open_store(store, notice=say) as opened:
        found = drop_segments(
            opened, older_than_days=days, policy=policy, now_us=clock_us(), is_dry=dry_run
        )
    if as_json:
        dropped = [segment_json(each) for each in found.dropped]
        kept = [segment_json(each) for each in found.kept]
        click.echo(canonical_bytes({"dropped": dropped, "kept": kept, "dry_run": dry_run}))
        return
    word = "would drop" if dry_run else "dropped"
    click.echo(f"{word} {len(found.dropped)}, left {len(found.kept)} for open attempts")
    print_segments(found.dropped, as_json=False)
