"""Where samples stand does not matter: inline, in segments, in both, or in what is left of them."""

import json
import random
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.app.segment_scan import scan_case
from tallystick.contract.parse import parse_contract
from tallystick.contract.versions import ContractVersions
from tallystick.core.instant import parse_instant
from tallystick.core.quantity import DECIMAL_NUMBER
from tallystick.evidence.admission import admit
from tallystick.receipt.assemble import Case, prepare, receipts_in, with_scanned
from tests.app.segment_files import Row, SegmentFolder, drops_of
from tests.evidence.records import Json, as_line
from tests.reference.stories import Story, admitted, story

seeds = st.integers(0, 2**32)
SegmentRows = dict[tuple[str, int, int], list[Row]]


def told(seed: int) -> Story:
    """Tell a story in which the order of lines does not matter."""
    while True:
        found = story(random.Random(seed))  # noqa: S311 (a story to test with, not a secret)
        if not found.ordered:
            return found
        seed += 1


def case_of(lines: list[bytes], contracts: list[bytes]) -> Case:
    """Group evidence."""
    return prepare(admit([lines]), ContractVersions(tuple(map(parse_contract, contracts))))


def moved(
    lines: list[bytes], folder: SegmentFolder, rng: random.Random, segments: int, inline: float
) -> list[bytes]:
    """Move points out of the evidence into some segments, and leave a share of them inline."""
    parts: SegmentRows = defaultdict(list)
    left: dict[bytes, bytes] = {}
    for line in lines:
        if line.strip() not in left:
            left[line.strip()] = _without_points(line, parts, rng, segments, inline)
    named = [
        folder.keep(rows, metric=metric, cadence_us=cadence_us, per_group=rng.choice((1, 7, 100)))
        for (metric, cadence_us, _), rows in parts.items()
    ]
    return [*(left[line.strip()] for line in lines), *map(as_line, named)]


def _without_points(
    line: bytes, parts: SegmentRows, rng: random.Random, segments: int, inline: float
) -> bytes:
    one: Json = json.loads(line) if admitted(line) else {}
    if one.get("kind") != "telemetry.points":
        return line
    body, kept = one["body"], []
    for point in body["points"]:
        if rng.random() < inline:
            kept.append(point)
            continue
        row = Row(body["gpu"], parse_instant(point[0]), _number(point[1]))
        parts[body["metric"], body["cadence_us"], rng.randrange(segments)].append(row)
    return as_line(one | {"body": body | {"points": kept}})


def _number(value: str | None) -> float | None:
    return float(value) if value is not None and DECIMAL_NUMBER.fullmatch(value) else None


def said(case: Case) -> list[dict[str, Any]]:
    """Make receipts, apart from which records decided and what became of segments."""
    receipts = receipts_in(case).predicates
    return [
        receipt
        | {
            "lines": [{**line, "evidence": None} for line in receipt["lines"]],
            "findings": [
                each for each in receipt["findings"] if not each["code"].startswith("segment_")
            ],
        }
        for receipt in receipts
    ]


def scanned(case: Case, folder: SegmentFolder) -> Case:
    """Ask the segments of a folder."""
    return with_scanned(case, scan_case(case, folder.files.get))


@settings(max_examples=40)
@given(seeds, st.integers(1, 4), st.sampled_from([0.0, 0.5]))
def test_samples_say_the_same_wherever_they_stand(seed: int, segments: int, inline: float) -> None:
    """Inline, in one segment a series, or in any split over several and inline points."""
    one = told(seed)
    rng = random.Random(seed)  # noqa: S311 (as above)
    with tempfile.TemporaryDirectory() as name:
        folder = SegmentFolder(Path(name))
        lines = moved(one.evidence, folder, rng, segments, inline)

        found = said(scanned(case_of(lines, one.contracts), folder))

    assert found == said(case_of(one.evidence, one.contracts))


@settings(max_examples=20)
@given(seeds, st.integers(1, 3), st.sampled_from([0.0, 0.3]), st.sampled_from([1, 200, 10**6]))
def test_dropped_segments_say_the_same_as_before(
    seed: int, segments: int, inline: float, moments_max: int
) -> None:
    """What was recorded of a segment stands for it exactly, however many records hold it."""
    one = told(seed)
    rng = random.Random(seed)  # noqa: S311 (as above)
    with tempfile.TemporaryDirectory() as name:
        folder = SegmentFolder(Path(name))
        lines = moved(one.evidence, folder, rng, segments, inline)
        names = rng.sample(sorted(folder.files), len(folder.files) * rng.randint(1, 2) // 2)
        drops = drops_of(
            case_of(lines, one.contracts), folder.files, names, moments_max=moments_max
        )
        for sha256 in names:
            folder.files.pop(sha256)

        found = said(scanned(case_of([*lines, *map(as_line, drops)], one.contracts), folder))

    assert found == said(case_of(one.evidence, one.contracts))
