"""Pulling into a store: what is sealed, how a pull goes on, and what its receipts say."""

from pathlib import Path
from typing import Any

import pytest

from tallystick.app.errors import UnwritableFileError
from tallystick.app.pull import Progress, pull
from tallystick.app.stored_receipts import rate_store
from tallystick.app.stored_segments import list_segments
from tallystick.collectors.pull import Query
from tallystick.collectors.pull.errors import (
    AnswerTooLargeError,
    ServerAwayError,
    ServerRefusedError,
)
from tallystick.core.instant import SECOND_US
from tests.app.pulls import UTIL, bodies, outages, pulled, request, rows, state_of
from tests.app.stores import new_store, size_of, told_store
from tests.collectors.pull.fake_server import FakeServer, Fault, device, scrapes, serving
from tests.evidence.records import clock, ended, started

KINDS = ["prometheus", "victoriametrics"]
G1, G2 = "GPU-1", "GPU-2"
EVERY = " ".join(map(str, range(60)))


def without(*seconds: int, **stated: str) -> str:
    """Give the seconds of a minute without some; ``s5="0"`` states a value."""
    return " ".join(
        f"{second}={stated[f's{second}']}" if f"s{second}" in stated else str(second)
        for second in range(60)
        if second not in seconds
    )


@pytest.mark.parametrize("kind", KINDS)
def test_samples_become_a_segment_of_each_metric(tmp_path: Path, kind: str) -> None:
    """Rows are by GPU, then time; the record says what the segment holds."""
    series = [
        device(UTIL, G2, "1 2=0"),
        device(UTIL, G1, "2.5 1.25"),
        device("POWER", G1, "1=70.5"),
    ]
    fake = FakeServer(series, kind=kind)

    with new_store(tmp_path) as store:
        found = pulled(store, fake, request(UTIL, "POWER"))

        assert rows(store, found) == {
            UTIL: [(G1, "1.25", 97), (G1, "2.5", 97), (G2, "1", 97), (G2, "2", 0)],
            "POWER": [(G1, "1", 70.5)],
        }
        (util,) = [each for each in bodies(store, "telemetry.samples") if each["metric"] == UTIL]
        assert util["gpus"] == [G1, G2]
        assert (util["from"], util["to"]) == (
            "2026-03-01T00:00:01.000000Z",
            "2026-03-01T00:00:02.500000Z",
        )
        assert (util["rows"], util["cadence_us"]) == (4, SECOND_US)


def test_both_kinds_of_server_give_the_same_segment(tmp_path: Path) -> None:
    """Bytes follow from the samples alone, not from how they came."""
    series = [device(UTIL, G1, without(7, 8)), *scrapes(EVERY)]

    with new_store(tmp_path) as store:
        one = pulled(store, FakeServer(series))
        other = pulled(store, FakeServer(series, kind="victoriametrics"))

    assert [each.digest for each in one.segments] == [each.digest for each in other.segments]


def test_what_is_pulled_again_adds_nothing(tmp_path: Path) -> None:
    """Segments, outages and findings are those that are there."""
    nameless = device("OTHER", "", "1")
    fake = FakeServer([device(UTIL, G1, "1"), nameless, *scrapes("1 2=0 3")])
    asked = request(UTIL, "OTHER")

    with new_store(tmp_path) as store, serving(fake) as server:
        first = pull(store, server, asked)
        size = size_of(store)
        again = pull(store, server, asked)

        assert size_of(store) == size
        assert len(list_segments(store)) == 1
    assert [each.is_new for each in first.segments] == [True]
    assert [each.is_new for each in again.segments] == [False]
    assert again.findings == first.findings


@pytest.mark.parametrize("kind", KINDS)
def test_label_sets_of_a_gpu_are_one_series(tmp_path: Path, kind: str) -> None:
    """A job's label comes and goes; the UUID stays."""
    series = [device(UTIL, G1, "1 2", hpc_job="4"), device(UTIL, G1, "3 4", hpc_job="5")]
    series += [device(UTIL, G1, "5")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series, kind=kind))

        assert [second for _, second, _ in rows(store, found)[UTIL]] == list("12345")
    assert found.findings == []


def test_a_stale_marker_is_a_null_and_no_conflict(tmp_path: Path) -> None:
    """A null beside a value says that a label set ended (r33)."""
    series = [device(UTIL, G1, "1 2=null", hpc_job="4"), device(UTIL, G1, "2 3")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series, kind="victoriametrics"))

        assert rows(store, found)[UTIL] == [
            (G1, "1", 97),
            (G1, "2", 97),
            (G1, "2", None),
            (G1, "3", 97),
        ]
    assert found.findings == []


def test_two_values_of_a_moment_are_a_finding(tmp_path: Path) -> None:
    """Both are kept: value_conflict."""
    series = [device(UTIL, G1, "1=5 2"), device(UTIL, G1, "1=6 2", extra="x")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series))

        assert rows(store, found)[UTIL] == [(G1, "1", 5), (G1, "1", 6), (G1, "2", 97)]
    assert [each.code for each in found.findings] == ["value_conflict"]


def test_a_series_without_uuid_is_a_finding(tmp_path: Path) -> None:
    """It is no device's; the others go on: no_uuid."""
    series = [device(UTIL, "", "1"), device(UTIL, G1, "1")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series))

    assert [each.code for each in found.findings] == ["no_uuid"]
    assert found.rows == 1


def test_a_partial_answer_is_a_finding(tmp_path: Path) -> None:
    """The server's warning is passed on: partial_answer."""
    warning = "a part did not answer"
    fake = FakeServer([device(UTIL, G1, "1")], warnings=[warning], is_partial=True)

    with new_store(tmp_path) as store:
        found = pulled(store, fake)

    assert [(each.code, each.message) for each in found.findings] == [
        ("partial_answer", warning),
        ("partial_answer", "the server says that the answer is partial"),
    ]


def test_a_pull_without_samples_is_a_finding(tmp_path: Path) -> None:
    """Nothing is said: no_samples."""
    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer([]))

    assert [each.code for each in found.findings] == ["no_samples"]


def test_a_query_can_name_its_metric_and_cadence(tmp_path: Path) -> None:
    """The name of the server is left behind."""
    asked = request(UTIL)
    asked = type(asked)(
        queries=(Query(UTIL, "sm_util", 5 * SECOND_US),),
        from_us=asked.from_us,
        to_us=asked.to_us,
        cadence_us=SECOND_US,
    )

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer([device(UTIL, G1, "1")]), asked)

        (body,) = bodies(store, "telemetry.samples")
    assert found.segments[0].metric == "sm_util"
    assert (body["metric"], body["cadence_us"]) == ("sm_util", 5 * SECOND_US)


def test_scrapes_are_no_devices(tmp_path: Path) -> None:
    """A selector that takes them in gives no finding for them (r36)."""
    fake = FakeServer([device(UTIL, G1, "1"), *scrapes("1")])

    with new_store(tmp_path) as store:
        found = pulled(store, fake, request(UTIL, '{job="dcgm"}'))

    assert (found.rows, found.findings) == (1, [])


@pytest.mark.parametrize("kind", KINDS)
def test_what_lies_on_the_end_is_not_pulled(tmp_path: Path, kind: str) -> None:
    """It is the first moment of the next pull."""
    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer([device(UTIL, G1, "60")], kind=kind))

    assert found.segments == []


def test_label_sets_in_any_order_lack_nothing(tmp_path: Path) -> None:
    """What is missing is asked of the device, not of one of its label sets."""
    series = [device(UTIL, G1, "3 4", hpc_job="5"), device(UTIL, G1, "1 2"), *scrapes("1 2 3 4 5")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series))

        assert [row[1:] for row in rows(store, found)[UTIL]] == [
            ("1", 97),
            ("2", 97),
            ("3", 97),
            ("4", 97),
            ("5", None),
        ]


def test_a_scrape_whose_samples_nobody_counted_shows_nothing_missing(tmp_path: Path) -> None:
    """It may have been an empty page."""
    series = [device(UTIL, G1, "1 3"), scrapes("1 2 3")[0]]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series))

    assert found.rows == 2


def test_a_device_of_which_nothing_is_left_has_no_segment(tmp_path: Path) -> None:
    """Where no scrape could have had it, it is not missing."""
    series = [device(UTIL, G1, "1 2"), *scrapes("1 2 11=0 12=0")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series), request(span_us=10 * SECOND_US))

    assert len(found.segments) == 1


def test_failures_of_scrapes_are_recorded(tmp_path: Path) -> None:
    """Down, empty, and a time in which the server itself was away."""
    series = [
        device(UTIL, G1, "1 2 6 9 30"),
        *scrapes("1 2 3=0 4=0 6 7 8 9 30", "1 2 6 7=0 8=0 9 30"),
    ]

    with new_store(tmp_path) as store:
        pulled(store, FakeServer(series))

        assert outages(store) == [
            ("n1", "03", "04", "up is 0"),
            ("n1", "07", "08", "empty page"),
            ("n1", "09", "30", "the server has no scrape"),
        ]


@pytest.mark.parametrize("span_s", [1, 7, 60])
def test_where_spans_end_changes_no_outage(tmp_path: Path, span_s: int) -> None:
    """What goes on at the end of a span is carried into the next."""
    series = [device(UTIL, G1, "1 2 25 26"), *scrapes("1 2 3=0 4=0 5=0 6=0 7=0 25 26")]

    with new_store(tmp_path) as store:
        pulled(store, FakeServer(series), request(span_us=span_s * SECOND_US))

        assert outages(store) == [
            ("n1", "03", "07", "up is 0"),
            ("n1", "07", "25", "the server has no scrape"),
        ]


def test_a_device_can_name_the_node_of_its_target(tmp_path: Path) -> None:
    """A failure that came before its first sample waits for it."""
    series = [device(UTIL, G1, "20", Hostname="n7"), *scrapes("1=0 2=0 3 4")]
    asked = request(node_label="Hostname", span_us=10 * SECOND_US)

    with new_store(tmp_path) as store:
        pulled(store, FakeServer(series), asked)

        assert outages(store) == [
            ("n7", "01", "02", "up is 0"),
        ]


def test_a_target_without_a_label_is_on_the_node_that_was_given(tmp_path: Path) -> None:
    """``--node`` is for what no label says."""
    series = [device(UTIL, G1, "1"), *scrapes("1 2=0 3")]

    with new_store(tmp_path) as store:
        pulled(store, FakeServer(series), request(node_label="none", node="n9"))

        assert outages(store) == [("n9", "02", "02", "up is 0")]


def test_an_outage_on_an_unknown_node_is_a_finding(tmp_path: Path) -> None:
    """No node is guessed: node_unknown."""
    series = [device(UTIL, G1, "1"), *scrapes("1 2=0 3")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series), request(node_label=None))

        assert outages(store) == []
    assert [each.code for each in found.findings] == ["node_unknown"]


def test_a_stranger_is_not_put_on_the_node_that_was_given(tmp_path: Path) -> None:
    """Another target of the job, none of whose devices was seen, may be anywhere."""
    series = [device(UTIL, G1, "1 2"), *scrapes("1 2"), *scrapes("1=0", instance="n2:9400")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series), request(node_label=None, node="n9"))

        assert outages(store) == []
    assert [each.code for each in found.findings] == ["node_unknown"]


def test_a_device_that_a_full_scrape_lacks_is_a_null(tmp_path: Path) -> None:
    """It was there before or after, and the page had other samples."""
    series = [
        device(UTIL, G1, "1 3"),
        device(UTIL, G2, "2 3"),
        *scrapes("1 2 3 4=0 5", "1 2 3 5=0"),
    ]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series))

        assert rows(store, found)[UTIL] == [
            (G1, "1", 97),
            (G1, "2", None),
            (G1, "3", 97),
            (G2, "1", None),
            (G2, "2", 97),
            (G2, "3", 97),
        ]


def test_a_device_stays_missing_in_later_spans(tmp_path: Path) -> None:
    """What a target ever had is carried."""
    series = [device(UTIL, G1, "1 2"), *scrapes("1 2 11 12")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series), request(span_us=10 * SECOND_US))

        assert rows(store, found)[UTIL][2:] == [(G1, "11", None), (G1, "12", None)]


def test_an_exporter_with_times_of_its_own_lacks_nothing(tmp_path: Path) -> None:
    """Its samples have other times than its scrapes."""
    series = [device(UTIL, G1, "1.3 2.3"), *scrapes("1 2 3")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series))

    assert found.rows == 2


def test_a_device_that_another_query_asks_for_is_not_missing(tmp_path: Path) -> None:
    """Each query answers for what it asked."""
    series = [device(UTIL, G1, "1 2"), device("POWER", G2, "1 2"), *scrapes("1 2")]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series), request(UTIL, "POWER"))

    assert found.rows == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_pull_that_was_cut_short_goes_on(tmp_path: Path, kind: str) -> None:
    """What was sealed is kept, and the end is that of a pull in one go."""
    series = [device(UTIL, G1, without(5, 33)), *scrapes(without(s7="0", s40="0"))]
    asked = request(span_us=20 * SECOND_US)
    fake = FakeServer(series, kind=kind)
    (tmp_path / "whole").mkdir()
    with new_store(tmp_path / "whole") as store:
        whole = pulled(store, fake, asked)
        said = outages(store)

    with new_store(tmp_path) as store, serving(fake) as server:
        seen: list[Progress] = []

        def stop(progress: Progress) -> None:
            seen.append(progress)
            if len(seen) == 2:
                fake.faults = [Fault(503)] * 3

        with pytest.raises(ServerAwayError):
            pull(store, server, asked, stop)
        kept = len(list_segments(store))
        rest = pull(store, server, asked)

        assert outages(store) == said
        assert len(list_segments(store)) == 3
    assert (kept, len(rest.segments), rest.resumed) == (2, 1, True)
    assert rest.segments == whole.segments[2:]


def test_the_state_of_a_pull_says_how_far_it_came(tmp_path: Path) -> None:
    """It lies beside the segments, and is complete at the end."""
    with new_store(tmp_path) as store:
        pulled(store, FakeServer([device(UTIL, G1, "1")]))

        state = state_of(store)
    assert state["is_complete"] is True
    assert state["schema"] == "tallystick.pull/1"


def test_a_state_that_cannot_be_read_begins_anew(tmp_path: Path) -> None:
    """A state only saves work."""
    fake = FakeServer([device(UTIL, G1, "1")])

    with new_store(tmp_path) as store, serving(fake) as server:
        first = pull(store, server, request())
        (path,) = (store.folder.path / "pull").glob("*.json")
        path.write_bytes(b"half")
        again = pull(store, server, request())

    assert [each.digest for each in again.segments] == [each.digest for each in first.segments]
    assert not again.resumed


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """Nothing is pulled that could not be noted as done."""
    with new_store(tmp_path) as store:
        (store.folder.path / "pull").write_bytes(b"")

        with pytest.raises(UnwritableFileError):
            pulled(store, FakeServer([device(UTIL, G1, "1")]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_span_with_more_than_can_be_held_is_cut(tmp_path: Path, kind: str) -> None:
    """Every segment is bounded, and no row is lost or doubled."""
    series = [device(UTIL, gpu, EVERY) for gpu in (G1, G2)]
    asked = request(rows_max=50)

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series, kind=kind), asked)

        read = rows(store, found)[UTIL]
    assert max(each.rows for each in found.segments) <= 50
    assert len(read) == len(set(read)) == 120


def test_a_span_with_more_scrapes_than_can_be_held_is_cut(tmp_path: Path) -> None:
    """The span itself becomes shorter."""
    series = [device(UTIL, G1, EVERY), *scrapes(without(s10="0", s11="0"))]

    with new_store(tmp_path) as store:
        found = pulled(store, FakeServer(series), request(rows_max=40))

        assert outages(store) == [("n1", "10", "11", "up is 0")]
    assert found.rows == 60


@pytest.mark.parametrize("series", ["devices", "scrapes"])
def test_a_moment_with_more_than_can_be_held_is_an_error(tmp_path: Path, series: str) -> None:
    """There is nothing to cut."""
    ours = [device(UTIL, f"GPU-{number}", "0") for number in range(1, 4)]
    if series == "scrapes":
        ours = [ours[0], *scrapes("0"), *scrapes("0", instance="n2")]

    with new_store(tmp_path) as store, pytest.raises(AnswerTooLargeError):
        pulled(store, FakeServer(ours), request(rows_max=2))


class FailsLater(FakeServer):
    """Answers one chunk and refuses the next."""

    def answer(self, path: str, fields: dict[str, list[str]]) -> tuple[int, bytes]:
        """Answer until it did."""
        status, body = super().answer(path, fields)
        if path == "/api/v1/query" and status == 200:
            self.faults = [Fault(400, b"no")]
        return status, body


def test_a_query_that_fails_seals_nothing_of_its_span(tmp_path: Path) -> None:
    """Only what was fetched whole is sealed."""
    fake = FailsLater([device(UTIL, G1, EVERY)], samples_max=40)

    with new_store(tmp_path) as store:
        with pytest.raises(ServerRefusedError):
            pulled(store, fake)

        assert list_segments(store) == ()


STORY = (started("00:00", gpus=G1), ended("00:01"))


def gaps(tmp_path: Path, series: list[Any], kind: str = "prometheus") -> list[tuple[str, str, str]]:
    """Rate an attempt of a minute on one GPU by what is pulled; give its gaps."""
    with told_store(tmp_path, story=STORY) as store:
        pulled(store, FakeServer(series, kind=kind))
        (receipt,) = rate_store(store).receipts
    (coverage,) = receipt["coverage"]
    return [(clock(gap["start"]), clock(gap["end"]), gap["reason"]) for gap in coverage["gaps"]]


def on_n(series: list[Any]) -> list[Any]:
    """Put series on the node n, where the attempt was."""
    return [each._replace(labels=each.labels | {"hostname": "n"}) for each in series]


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_says_that_the_collector_was_down(tmp_path: Path, kind: str) -> None:
    """The exporter did not answer: collector_down."""
    ups = without(s10="0", s11="0", s12="0", s13="0")
    series = on_n([device(UTIL, G1, without(10, 11, 12, 13)), *scrapes(ups)])

    assert gaps(tmp_path, series, kind) == [("00:00:09", "00:00:14", "collector_down")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_says_that_a_page_was_empty(tmp_path: Path, kind: str) -> None:
    """The exporter answered with nothing: collector_down."""
    counts = without(s10="0", s11="0", s12="0", s13="0")
    series = on_n([device(UTIL, G1, without(10, 11, 12, 13)), *scrapes(EVERY, counts)])

    assert gaps(tmp_path, series, kind) == [("00:00:09", "00:00:14", "collector_down")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_says_that_the_server_was_away(tmp_path: Path, kind: str) -> None:
    """There is no scrape at all: collector_down."""
    present = without(*range(10, 20))
    series = on_n([device(UTIL, G1, present), *scrapes(present)])

    assert gaps(tmp_path, series, kind) == [("00:00:09", "00:00:20", "collector_down")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_says_that_a_device_was_blank(tmp_path: Path, kind: str) -> None:
    """The page had others and not this one: blank."""
    series = on_n(
        [device(UTIL, G1, without(*range(10, 20))), device(UTIL, G2, EVERY), *scrapes(EVERY)]
    )

    assert gaps(tmp_path, series, kind) == [("00:00:09", "00:00:20", "blank")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_says_that_the_tail_is_lost(tmp_path: Path, kind: str) -> None:
    """Samples and scrapes end before the attempt: lost_tail."""
    present = without(*range(40, 60))
    series = on_n([device(UTIL, G1, present), *scrapes(present)])

    assert gaps(tmp_path, series, kind) == [("00:00:39", "00:01", "lost_tail")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_has_no_gap_where_labels_changed(tmp_path: Path, kind: str) -> None:
    """Another job is the same device."""
    series = on_n(
        [
            device(UTIL, G1, without(*range(30, 60)), hpc_job="4"),
            device(UTIL, G1, without(*range(30)), hpc_job="5"),
            *scrapes(EVERY),
        ]
    )

    assert gaps(tmp_path, series, kind) == []
