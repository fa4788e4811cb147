"""Asking segments for a case: found, checked, read, and never silently empty."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tallystick.app.errors import UnreadableFileError
from tallystick.app.segment_scan import Absent, scan_case
from tallystick.contract.parse import parse_contract
from tallystick.contract.versions import ContractVersions
from tallystick.receipt.assemble import Case, asked_of, prepare, receipts_in, with_scanned
from tallystick.timeline.segments import Scanned, SegmentStatus, segment_sha256
from tests.app.segment_files import Row, SegmentFolder, drops_of, rows_at
from tests.evidence.records import (
    Json,
    admitted,
    ended,
    minutes,
    moment,
    moment_us,
    of,
    points,
    started,
)
from tests.rating.rated import contract

HOUR = (started(), ended())
STEADY = rows_at(minutes("00:00", "00:59"))
MISSING, ALTERED = SegmentStatus.MISSING, SegmentStatus.ALTERED


@pytest.fixture
def folder(tmp_path: Path) -> SegmentFolder:
    """Give an empty store of segments."""
    return SegmentFolder(tmp_path)


def case_of(*records: Json, terms: bytes | None = None) -> Case:
    """Group records."""
    return prepare(admitted(records), ContractVersions((parse_contract(terms or contract()),)))


def statuses(case: Case, scanned: Scanned) -> list[SegmentStatus]:
    """Give what became of each segment, in the order in which they are asked."""
    return [scanned.answers[asked.segment.digest].status for asked in asked_of(case)]


def told(case: Case, scanned: Scanned) -> tuple[str, list[str]]:
    """Give what was observed of the first GPU of the first run, and the codes of findings."""
    receipt = receipts_in(with_scanned(case, scanned)).predicates[0]
    return receipt["coverage"][0]["observed_seconds"], [
        each["code"] for each in receipt["findings"]
    ]


NOTHING = "0.000000"
ALL = "3600.000000"


def test_a_segment_that_is_as_recorded_counts(folder: SegmentFolder) -> None:
    """Its samples observe, and there is nothing to find."""
    case = case_of(*HOUR, folder.keep(STEADY, per_group=7))

    scanned = scan_case(case, folder.files.get)

    assert statuses(case, scanned) == [SegmentStatus.READ]
    assert told(case, scanned) == (ALL, [])


def test_segments_of_several_metrics_are_each_judged_by_their_own(folder: SegmentFolder) -> None:
    """A power of 431 W is possible, a utilisation of 431 % is not (rule 21)."""
    rows = [row._replace(value=431.0) for row in STEADY]
    power = case_of(*HOUR, folder.keep(rows, metric="power_usage"))
    util = case_of(*HOUR, folder.keep(rows, metric="gpu_util"))

    assert told(power, scan_case(power, folder.files.get)) == (ALL, [])
    assert told(util, scan_case(util, folder.files.get)) == (NOTHING, ["impossible_value"])


def test_one_file_may_be_named_by_several_records(folder: SegmentFolder) -> None:
    """It is hashed once; records that say the same but for the place are one question."""
    one, two = folder.keep(STEADY), folder.keep(STEADY, otherwise={"path": "elsewhere"})
    other = folder.keep(STEADY, metric="power")
    case = case_of(*HOUR, one, two, other)
    hashed: list[int] = []

    scanned = scan_case(case, folder.files.get, on_bytes=hashed.append)

    assert statuses(case, scanned) == [SegmentStatus.READ] * 3
    assert sum(hashed) == folder.file_of(one).stat().st_size


def test_a_record_that_is_wrong_takes_nothing_from_one_that_is_right(folder: SegmentFolder) -> None:
    """What counts is whether the file is what each record says."""
    case = case_of(*HOUR, folder.keep(STEADY), folder.keep(STEADY, otherwise={"rows": 61}))

    scanned = scan_case(case, folder.files.get)

    assert set(statuses(case, scanned)) == {SegmentStatus.READ, ALTERED}
    assert told(case, scanned) == (ALL, ["segment_altered"])


def flip_a_byte(path: Path) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut_short(path: Path) -> None:
    """Leave out the last byte of a file."""
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (flip_a_byte, "segment_altered"),
        (cut_short, "segment_altered"),
        (Path.unlink, "segment_missing"),
    ],
)
def test_nothing_of_a_harmed_segment_counts(
    folder: SegmentFolder, harm: Callable[[Path], None], code: str
) -> None:
    """Its time is a gap for the reason that the rest supports, and the run is told."""
    segment = folder.keep(STEADY)
    case = case_of(*HOUR, points("00:30 00:31"), segment)
    harm(folder.file_of(segment))

    scanned = scan_case(case, folder.files.get)

    assert told(case, scanned) == ("60.000000", [code])


@pytest.mark.parametrize(
    "otherwise",
    [
        {"rows": 59},
        {"rows": 61},
        {"gpus": ["g2"]},
        {"from": moment("00:00:00.000001")},
        {"to": moment("00:58:59.999999")},
    ],
    ids=["fewer rows", "more rows", "another GPU", "begins later", "ends earlier"],
)
def test_a_segment_that_holds_something_else_is_altered(
    folder: SegmentFolder, otherwise: Json
) -> None:
    """Its bytes are the right ones, and its record does not describe them."""
    case = case_of(started(gpus="g1 g2"), ended(), folder.keep(STEADY, otherwise=otherwise))

    scanned = scan_case(case, folder.files.get)

    assert statuses(case, scanned) == [ALTERED]
    assert told(case, scanned) == (NOTHING, ["segment_altered"])


def test_a_record_may_list_more_than_the_segment_holds(folder: SegmentFolder) -> None:
    """Of the others it says nothing, and that is an answer."""
    wide = {"gpus": ["g1", "g2"], "from": moment("00:00"), "to": moment("23:00")}
    case = case_of(started(gpus="g1 g2"), ended(), folder.keep(STEADY, otherwise=wide))

    scanned = scan_case(case, folder.files.get)

    assert told(case, scanned) == (ALL, [])
    (answer,) = scanned.answers.values()
    assert [window.gpu for window in answer.found] == ["g1", "g2"]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"gpu": ["g1"], "at_us": [1.5], "value": [1]}),
        pa.table({"gpu": ["g1"], "at_us": [1]}),
        pa.table({"gpu": [1], "at_us": [1], "value": [1]}),
    ],
    ids=["times", "no value", "gpu"],
)
def test_a_segment_of_other_columns_is_altered(folder: SegmentFolder, table: pa.Table) -> None:
    """Whoever wrote it, its record speaks of samples."""
    sha256 = folder.keep_table(table)
    case = case_of(*HOUR, folder.keep(STEADY, otherwise={"segment": f"sha256:{sha256}", "rows": 1}))

    assert statuses(case, scan_case(case, folder.files.get)) == [ALTERED]


def test_a_file_that_is_no_segment_is_altered(folder: SegmentFolder) -> None:
    """Bytes of the right hash that are no Parquet hold no samples."""
    sha256 = folder.keep_bytes(b"gpu,at_us,value\n")
    case = case_of(*HOUR, folder.keep(STEADY, otherwise={"segment": sha256}))

    assert statuses(case, scan_case(case, folder.files.get)) == [ALTERED]


def test_an_empty_segment_counts_as_read(folder: SegmentFolder) -> None:
    """It holds no row, as its record says."""
    stated = {"from": moment("00:00"), "to": moment("01:00"), "gpus": ["g1"]}
    case = case_of(*HOUR, folder.keep([], otherwise=stated))

    assert told(case, scan_case(case, folder.files.get)) == (NOTHING, [])


def test_rows_without_a_gpu_or_a_time_are_rows(folder: SegmentFolder) -> None:
    """They are counted, and say nothing."""
    rows = [*STEADY, Row(None, moment_us("00:10"), 5.0), Row("g1", None, 5.0)]
    case = case_of(*HOUR, folder.keep(rows))

    assert told(case, scan_case(case, folder.files.get)) == (ALL, [])


@pytest.mark.parametrize("status", [MISSING, ALTERED, SegmentStatus.DROPPED, None])
def test_whoever_finds_segments_may_say_why_there_is_none(
    folder: SegmentFolder, status: Absent | None
) -> None:
    """A bundle may leave a segment out, and a store may know that one is damaged."""
    case = case_of(*HOUR, folder.keep(STEADY))

    found = statuses(case, scan_case(case, lambda _: status))

    assert found == [status or MISSING]


@pytest.mark.parametrize("name", ["../../secret", "sha256:00", "0" * 63, "A" * 64, ""])
def test_a_name_that_is_no_hash_is_never_looked_up(folder: SegmentFolder, name: str) -> None:
    """No path is made of it, so none can be made up in a record."""
    case = case_of(*HOUR, folder.keep(STEADY, otherwise={"segment": name}))
    asked: list[str] = []

    scanned = scan_case(case, asked.append)

    assert (statuses(case, scanned), asked) == ([MISSING], [])


def test_bytes_that_were_just_checked_are_not_hashed_again(folder: SegmentFolder) -> None:
    """Only if the caller says so."""
    segment = folder.keep(STEADY)
    case = case_of(*HOUR, segment)
    hashed: list[int] = []

    scanned = scan_case(case, folder.files.get, checked=folder.files.keys(), on_bytes=hashed.append)

    assert (statuses(case, scanned), hashed) == ([SegmentStatus.READ], [])


def test_a_checked_file_that_has_gone_is_missing(folder: SegmentFolder) -> None:
    """Between checking and reading it may have been taken away."""
    segment = folder.keep(STEADY)
    case = case_of(*HOUR, segment)
    folder.file_of(segment).unlink()

    assert statuses(case, scan_case(case, folder.files.get, checked=folder.files.keys())) == [
        MISSING
    ]


def test_a_disk_that_fails_is_an_error(folder: SegmentFolder) -> None:
    """What cannot be read is not known to be altered."""
    segment = folder.keep(STEADY)
    case = case_of(*HOUR, segment)
    folder.file_of(segment).unlink()
    folder.file_of(segment).mkdir()

    with pytest.raises(UnreadableFileError):
        scan_case(case, folder.files.get)


def test_a_disk_that_fails_once_the_bytes_were_checked_is_an_error_too(
    folder: SegmentFolder, tmp_path: Path
) -> None:
    """A path that leads through a file cannot be opened."""
    segment = folder.keep(STEADY)
    case = case_of(*HOUR, segment)
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(UnreadableFileError, match="not a directory"):
        scan_case(case, lambda _: tmp_path / "file" / "x", checked=folder.files.keys())


def test_one_run_or_one_segment_can_be_asked_alone(folder: SegmentFolder) -> None:
    """The rest stays unread, and is not taken for missing."""
    one, two = folder.keep(STEADY), folder.keep(rows_at("00:10", "g2"))
    case = case_of(*HOUR, *of("b", started(run="two", gpus="g2"), ended()), one, two)
    sha256 = segment_sha256(two["body"]["segment"])

    by_run = scan_case(case, folder.files.get, run="run")
    by_segment = scan_case(case, folder.files.get, segments={sha256})

    assert [list(each.answers) for each in (by_run, by_segment)] == [
        [asked.segment.digest for asked in asked_of(case, run)] for run in ("run", "two")
    ]
    assert told(case, by_segment) == (NOTHING, ["segment_not_read"])


# -- dropped segments ----------------------------------------------------------------------


def test_a_dropped_segment_gives_the_coverage_recorded_then(folder: SegmentFolder) -> None:
    """And the run is told that raw samples are gone."""
    segment = folder.keep(rows_at("00:00 00:01 00:30=150 00:40=null"))
    case = case_of(*HOUR, segment)
    before = told(case, scan_case(case, folder.files.get))
    drops = drops_of(case, folder.files, folder.files)
    folder.file_of(segment).unlink()
    after = case_of(*HOUR, segment, *drops)

    found = told(after, scan_case(after, folder.files.get))

    assert before == ("60.000000", ["impossible_value"])
    assert found == ("60.000000", ["impossible_value", "segment_dropped"])


def test_what_was_dropped_is_not_looked_for(folder: SegmentFolder) -> None:
    """A file that happens to be there still changes no receipt."""
    segment = folder.keep(STEADY)
    drops = drops_of(case_of(*HOUR, segment), folder.files, folder.files)
    case = case_of(*HOUR, segment, *drops)
    asked: list[str] = []

    scanned = scan_case(case, asked.append)

    assert asked == []
    assert told(case, scanned) == (ALL, ["segment_dropped"])


@pytest.mark.parametrize("change", ["another end", "another gap factor"])
def test_a_window_that_was_not_recorded_is_unknown(folder: SegmentFolder, change: str) -> None:
    """Nothing is derived from what was recorded of another, and the run is told."""
    segment = folder.keep(STEADY)
    drops = drops_of(case_of(*HOUR, segment), folder.files, folder.files)
    end = "00:50" if change == "another end" else "01:00"
    terms = contract('[telemetry]\ngap_factor = "3"') if end == "01:00" else None
    case = case_of(started(), ended(end), segment, *drops, terms=terms)

    receipt = receipts_in(with_scanned(case, scan_case(case, folder.files.get))).predicates[0]

    (gap,) = receipt["coverage"][0]["gaps"]
    (finding,) = receipt["findings"]
    assert (gap["reason"], finding["code"]) == ("no_samples", "segment_dropped")
    assert "nothing was recorded for 1 GPU of attempts as they are now" in finding["message"]


def test_a_dropped_segment_can_be_dropped_again(folder: SegmentFolder) -> None:
    """The same is written down from what was written down."""
    segment = folder.keep(STEADY)
    first = drops_of(case_of(*HOUR, segment), folder.files, folder.files)
    case = case_of(*HOUR, segment, *first)

    again = drops_of(case, {}, folder.files)

    assert again == first
