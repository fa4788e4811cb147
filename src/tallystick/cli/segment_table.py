"""How telemetry segments are listed."""

from collections.abc import Iterable
from typing import Any

import click

from tallystick.app.stored_segments import StoredSegment
from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import format_instant


def print_segments(segments: Iterable[StoredSegment], *, as_json: bool) -> None:
    """Print one line for each segment."""
    if as_json:
        click.echo(canonical_bytes({"segments": [segment_json(each) for each in segments]}))
        return
    click.echo(f"{'segment':<12} {'rows':>12} {'GPUs':>5}  {'from':<16}  {'to':<16}  bytes")
    for each in segments:
        start, end = (
            format_instant(at)[:16].replace("T", " ") for at in (each.from_us, each.to_us)
        )
        digest = each.digest.removeprefix("sha256:")[:12]
        click.echo(f"{digest} {each.rows:>12} {each.gpus:>5}  {start}  {end}  {_state(each)}")


def segment_json(segment: StoredSegment) -> dict[str, Any]:
    """Give a segment with stable keys."""
    return {
        "segment": segment.digest,
        "metric": segment.metric,
        "rows": segment.rows,
        "gpus": segment.gpus,
        "from": format_instant(segment.from_us),
        "to": format_instant(segment.to_us),
        "state": _state(segment),
    }


def _minute(at_us: int) -> str:
    return format_instant(at_us)[:16].replace("T", " ")


def _state(segment: StoredSegment) -> str:
    if segment.is_dropped:
        return "dropped"
    return "kept" if segment.is_there else "MISSING"
