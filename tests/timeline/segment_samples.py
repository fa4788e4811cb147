"""Segments without files: rows that stand outside the evidence, and what they say of windows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tallystick.timeline.asked import Asked, asked_of_segments
from tallystick.timeline.episodes import episodes_of
from tallystick.timeline.grouping import group_records
from tallystick.timeline.run import RunTimeline, run_timeline
from tallystick.timeline.segments import Answer, Found, Scanned, SegmentStatus, SeriesWindow
from tallystick.timeline.telemetry import Telemetry, index_telemetry
from tallystick.timeline.values import Reading, read_value
from tests.evidence.records import Json, admitted, moment, moment_us, record
from tests.timeline.timelines import GAP_FACTOR

Rows = Sequence[tuple[str, int, str | None]]
"""GPU, time and value of samples."""


def segment(name: str, rows: Rows, *, metric: str = "sm_util", cadence_s: int = 60) -> Json:
    """Name a segment by a letter or two, with what its rows are."""
    times = [at_us for _, at_us, _ in rows]
    body: Json = {
        "segment": sha256(name),
        "path": f"{name}.parquet",
        "rows": len(rows),
        "from": instant(min(times)),
        "to": instant(max(times)),
        "gpus": sorted({gpu for gpu, _, _ in rows}),
        "cadence_us": cadence_s * 1_000_000,
        "metric": metric,
    }
    return record("telemetry.samples", None, body)


def sha256(name: str) -> str:
    """Give a hash that a test can read: the name, again and again in hexadecimal."""
    return "sha256:" + (name.encode().hex() * 64)[:64]


def instant(at_us: int) -> str:
    """Write a time of the day."""
    seconds, micro = divmod(at_us - moment_us("00:00"), 1_000_000)
    return moment(f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micro:06}")


def rows_of(times: str, gpu: str = "g1") -> Rows:
    """Sample a GPU: ``00:10 00:11=150 00:12=null``; a time without a value has a good one."""
    pairs = (each.partition("=") for each in times.split())
    return [
        (gpu, moment_us(at), None if value == "null" else value or "50") for at, _, value in pairs
    ]


def found_of(rows: Rows, window: SeriesWindow) -> Found:
    """Say what rows of one series say of a window, moment by moment."""
    own = [
        (at_us, read_value(value, window.metric)) for gpu, at_us, value in rows if gpu == window.gpu
    ]
    times = sorted({at_us for at_us, reading in own if reading is Reading.USABLE})
    episodes = episodes_of(times, window.start_us, window.end_us, window.reach_us)
    inside = [each for each in own if window.start_us <= each[0] < window.end_us]
    dark = {at_us for at_us, reading in inside if reading is not Reading.USABLE}
    return Found(
        episodes=episodes,
        blank_us=tuple(
            sorted(at for at in dark if not any(first <= at <= last for first, last in episodes))
        ),
        has_impossible=any(reading is Reading.IMPOSSIBLE for _, reading in inside),
    )


def answer_of(rows: Rows, asked: Asked) -> Answer:
    """Answer all that a segment is asked."""
    found = {window: found_of(rows, window) for window in asked.windows}
    return Answer(SegmentStatus.READ, found)


class Drawn:
    """Records and their segments: what is asked, and timelines with the answers."""

    def __init__(self, *records: Json, gap_factor: Fraction = GAP_FACTOR) -> None:
        self.grouping = group_records(admitted(records).records)
        self.telemetry: Telemetry = index_telemetry(self.grouping.devices)
        self.gap_factor = gap_factor

    def asked(self) -> tuple[Asked, ...]:
        """Say what has to be asked of segments."""
        return asked_of_segments(
            self.grouping.runs, self.telemetry.catalogue, lambda _: self.gap_factor
        )

    def draw(self, answers: Mapping[str, Answer] | None = None) -> list[RunTimeline]:
        """Draw every run; without answers there is no store."""
        scanned = None if answers is None else Scanned(answers)
        telemetry = replace(self.telemetry, scanned=scanned)
        return [
            run_timeline(run, telemetry, self.grouping.aliases, lambda _: self.gap_factor)
            for run in self.grouping.runs
        ]

    def read(self, rows: Mapping[str, Rows]) -> dict[str, Answer]:
        """Answer from the rows of segments, by their names."""
        by_sha256 = {sha256(name): found for name, found in rows.items()}
        return {
            asked.segment.digest: answer_of(by_sha256[asked.segment.body.segment], asked)
            for asked in self.asked()
        }
