"""Answers of Prometheus and exports of VictoriaMetrics, captured ones included."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.samples import (
    SampleOptions,
    collect_prometheus,
    collect_victoriametrics,
)
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.codec import read_line

FIXTURES = Path(__file__).parents[2] / "fixtures" / "prometheus"
OPTIONS = SampleOptions(cadence_us=1_000_000, node="n1", at_us=None, observed_us=0)
U0 = "GPU-aaaaaaaa-0000-0000-0000-000000000000"
BOARD0 = "GPU-11111111-aaaa-bbbb-cccc-000000000001"
BOARD1 = "GPU-11111111-aaaa-bbbb-cccc-000000000002"
UTIL = "DCGM_FI_DEV_GPU_UTIL"
ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
T0, T1, T2, T3 = (f"2026-02-02T02:40:{second:02}.000000Z" for second in (0, 30, 31, 32))


def collect(*texts: str, options: SampleOptions = OPTIONS) -> Collected:
    """Collect texts as inputs that are named by their place."""
    sources = [Source(f"input {n}", text.encode()) for n, text in enumerate(texts, start=1)]
    return collect_prometheus(sources, options)


def captured(name: str) -> Collected:
    """Collect a captured file."""
    return collect_victoriametrics([Source(name, (FIXTURES / name).read_bytes())], OPTIONS)


def bodies(collected: Collected, kind: str) -> list[dict[str, Any]]:
    """Give the bodies of one kind of record, all of which have to be admissible evidence."""
    for record in collected.records:
        read_line(canonical_bytes(record))
    return [record["body"] for record in collected.records if record["kind"] == kind]


def points(collected: Collected) -> dict[tuple[str, str], list[tuple[str, str | None]]]:
    """Give the points by GPU and metric."""
    return {
        (body["gpu"], body["metric"]): [(at, value) for at, value in body["points"]]
        for body in bodies(collected, "telemetry.points")
    }


def failed(collected: Collected) -> list[tuple[str, str]]:
    """Give the stretches of failed scrapes."""
    return [(body["from"], body["to"]) for body in bodies(collected, "telemetry.scrape_failed")]


def codes(collected: Collected) -> list[str]:
    """Give the codes of the findings."""
    return [finding.code for finding in collected.findings]


def answer(*series: tuple[dict[str, str], str], more: str = "", kind: str = "matrix") -> str:
    """Write an answer; values are given as JSON text, so that their digits are as written."""
    key = "values" if kind == "matrix" else "value"
    result = ",".join(
        f'{{"metric":{json.dumps(labels)},"{key}":{text}}}' for labels, text in series
    )
    data = f'{{"resultType":"{kind}","result":[{result}]}}'
    return f'{{"status":"success","data":{data}{more}}}'


def device(metric: str = UTIL, **labels: str) -> dict[str, str]:
    """Give the labels of a series of U0."""
    return {"__name__": metric, "UUID": U0, **labels}


def test_a_captured_range_is_one_series_over_three_label_sets() -> None:
    """Labels of a job came and went, and the board had 55 samples, at their own times."""
    collected = captured("p_query_raw_range.json")

    ((key, series),) = points(collected).items()
    assert key == (BOARD0, UTIL)
    assert len(series) == 55
    assert series[0] == ("2026-11-30T20:14:54.218000Z", "97")
    assert series[-1] == ("2026-11-30T20:16:23.217000Z", "50")
    assert collected.findings == []


def test_a_captured_counter_keeps_its_reset() -> None:
    """The counter fell when the exporter came back; nothing is added or interpolated."""
    values = [value for _, value in points(captured("p_query_energy_raw.json"))[BOARD0, ENERGY]]

    reset = values.index("582070")
    assert values[reset - 1] == "18767866"


def test_a_captured_export_of_everything_has_two_boards() -> None:
    """Fourteen series come out of twenty-eight label sets, without a conflict."""
    collected = captured("v_export_all.jsonl")

    series = points(collected)
    assert len(series) == 14
    assert {gpu for gpu, _ in series} == {BOARD0, BOARD1}
    assert collected.findings == []


def test_captured_answers_and_exports_agree_on_values() -> None:
    """The values that both servers have are the same text at the same times."""
    prometheus = dict(points(captured("p_query_raw_range.json"))[BOARD0, UTIL])
    export = points(captured("v_export.jsonl"))[BOARD0, UTIL]

    shared = [(at, value) for at, value in export if value is not None and at in prometheus]
    assert len(shared) > 40
    assert all(prometheus[at] == value for at, value in shared)


def test_a_captured_stale_marker_is_a_blank() -> None:
    """Where the exporter died there is a null in an export, and in an answer of that server."""
    export = points(captured("v_export.jsonl"))[BOARD0, UTIL]
    raw = points(captured("v_query_raw_range.json"))[BOARD0, UTIL]

    assert ("2026-11-30T20:15:15.218000Z", None) in export
    assert ("2026-11-30T20:15:15.218000Z", None) in raw


@pytest.mark.parametrize("name", ["p_query_up_raw.json", "v_export_up.jsonl"])
def test_captured_zeros_of_up_are_three_failed_stretches(name: str) -> None:
    """The exporter was killed, hung and answered 503; the empty page left up at 1 (r36)."""
    collected = captured(name)

    assert failed(collected) == [
        ("2026-11-30T20:15:15.218000Z", "2026-11-30T20:15:23.218000Z"),
        ("2026-11-30T20:15:30.218000Z", "2026-11-30T20:15:34.218000Z"),
        ("2026-11-30T20:15:39.218000Z", "2026-11-30T20:15:42.218000Z"),
    ]
    assert (bodies(collected, "telemetry.points"), collected.findings) == ([], [])


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("p_query_error_badquery.json", "answer_error", "parse error"),
        ("p_query_error_toolong.json", "answer_error", "11,000 points"),
        ("p_query_empty.json", "no_samples", "no series"),
        ("p_query_scrape_samples_raw.json", "no_samples", "no samples"),
        ("p_query_energy_increase.json", "no_metric", "expression"),
        ("p_series.json", "unrecognised_input", "expected series"),
        ("p_targets.json", "unrecognised_input", "expected series"),
        ("p_buildinfo.json", "unrecognised_input", "expected series"),
        ("p_federate.txt", "unrecognised_input", "expected JSON"),
        ("v_export_csv.txt", "unrecognised_input", "expected JSON"),
        ("v_export_pushed.jsonl", "no_uuid", "imported_metric"),
        ("p_remote_read.jsonl", "bad_line", "expected an answer"),
    ],
)
def test_captured_answers_without_samples_say_why(name: str, code: str, text: str) -> None:
    """Nothing is emitted, and the first finding names the reason (r3, r35)."""
    collected = captured(name)

    assert collected.records == []
    assert collected.findings[0].code == code
    assert text in collected.findings[0].message


def test_every_captured_file_is_read() -> None:
    """No captured file ends in a crash or in silence."""
    names = sorted(path.name for path in FIXTURES.iterdir())

    silent = [name for name in names if not (captured(name).records or captured(name).findings)]

    assert len(names) >= 25
    assert silent == []


def test_a_label_change_is_no_conflict() -> None:
    """The blank of the label set that ended stands beside the value of the one that began (r33)."""
    lines = (
        f'{{"metric":{json.dumps(device())},"values":[97,null],"timestamps":[1770000000000,1770000030000]}}\n'
        f'{{"metric":{json.dumps(device(hpc_job="4"))},"values":[96],"timestamps":[1770000030000]}}\n'
    )

    collected = collect(lines)

    assert points(collected) == {(U0, UTIL): [(T0, "97"), (T1, "96"), (T1, None)]}
    assert collected.findings == []


def test_digits_of_bare_numbers_are_kept() -> None:
    """A number without quotes is not read as a float: two large counters stay apart (r34)."""
    lines = "".join(
        f'{{"metric":{json.dumps(device())},"values":[{value}],"timestamps":[1770000000000]}}\n'
        for value in ("9007199254740993", "9007199254740992", "1.40737488355328e+16", "97.10")
    )

    collected = collect(lines)

    assert sorted(value or "" for _, value in points(collected)[U0, UTIL]) == [
        "1.40737488355328e+16",
        "9007199254740992",
        "9007199254740993",
        "97.10",
    ]
    assert codes(collected) == ["value_conflict"]


def test_a_conflict_names_gpu_time_and_values() -> None:
    """Two servers that disagree are both kept, and the finding says about what."""
    one = answer((device(), '[[1770000000,"97"],[1770000030,"5"]]'))
    other = answer((device(), '[[1770000000,"96"],[1770000030,"5"]]'))

    collected = collect(one, other)

    assert points(collected)[U0, UTIL] == [(T0, "96"), (T0, "97"), (T1, "5")]
    (finding,) = collected.findings
    assert finding.code == "value_conflict"
    assert finding.message == f"{UTIL} of {U0} at {T0} is 96 and 97"


def test_an_instant_answer_is_one_sample_for_each_series() -> None:
    """A vector has one value a series, at the time of the query."""
    collected = collect(answer((device(), '[1770000030.000,"97"]'), kind="vector"))

    assert points(collected) == {(U0, UTIL): [(T1, "97")]}


def test_a_scalar_is_no_series() -> None:
    """A number without labels belongs to nobody."""
    text = '{"status":"success","data":{"resultType":"scalar","result":[1770000000,"1"]}}'

    assert codes(collect(text)) == ["unrecognised_input"]


@pytest.mark.parametrize(
    ("more", "text"),
    [(',"isPartial":true', "partial"), (',"warnings":["store n2 is down"]', "store n2 is down")],
)
def test_a_partial_answer_is_said_beside_its_points(more: str, text: str) -> None:
    """What came is evidence, and that something is missing is a finding (r35)."""
    collected = collect(answer((device(), '[[1770000000,"97"]]'), more=more))

    (finding,) = collected.findings
    assert finding.code == "partial_answer"
    assert text in finding.message
    assert len(collected.records) == 1


@pytest.mark.parametrize("more", [',"isPartial":false', ',"warnings":[]', ',"infos":["x"]'])
def test_a_whole_answer_is_no_finding(more: str) -> None:
    """Empty warnings, hints and isPartial false say that nothing is missing."""
    collected = collect(answer((device(), '[[1770000000,"97"]]'), more=more))

    assert collected.findings == []


def test_an_error_does_not_stop_other_inputs() -> None:
    """One answer failed, the other one stands."""
    error = '{"status":"error","errorType":"timeout","error":"query timed out"}'

    collected = collect(error, answer((device(), '[[1770000000,"97"]]')))

    assert (len(collected.records), codes(collected)) == (1, ["answer_error"])
    assert "timeout: query timed out" in collected.findings[0].message


def test_runs_of_zeros_are_told_apart_by_target() -> None:
    """Two targets that are down over different times are two failed stretches."""
    one = answer(
        ({"__name__": "up", "instance": "a"}, '[[1770000000,"0"],[1770000030,"1"]]'),
        ({"__name__": "up", "instance": "b"}, '[[1770000030,"0"],[1770000031,"0"]]'),
    )

    assert failed(collect(one)) == [(T0, T0), (T1, T2)]


def test_a_run_of_zeros_may_span_inputs() -> None:
    """A series that is cut into two answers has one run where it was cut."""
    up = {"__name__": "up", "instance": "a"}
    later = answer((up, '[[1770000031,"0"],[1770000032,"1"]]'))
    earlier = answer((up, '[[1770000000,"1"],[1770000030,"0"]]'))

    assert failed(collect(later, earlier)) == [(T1, T2)]


def test_a_blank_or_a_one_ends_a_run() -> None:
    """Where the target was removed or one of two servers reached it, no failure is claimed."""
    up = {"__name__": "up", "instance": "a"}
    text = answer(
        (up, '[[1770000000,"0"],[1770000030,"NaN"],[1770000031,"0"],[1770000032,"0"]]'),
        (up, '[[1770000032,"1"]]'),
    )

    assert failed(collect(text)) == [(T0, T0), (T2, T2)]


def test_a_word_in_up_is_no_zero() -> None:
    """Only a number can say that the target was not reached."""
    text = answer(({"__name__": "up"}, '[[1770000000,"0"],[1770000030,"down"]]'))

    assert failed(collect(text)) == [(T0, T0)]


def test_equal_failures_of_two_targets_are_one_record() -> None:
    """Two exporters of one node that are down together are one failed stretch (r2)."""
    text = answer(
        ({"__name__": "up", "instance": "a"}, '[[1770000000,"0"]]'),
        ({"__name__": "up", "instance": "b"}, '[[1770000000,"0"]]'),
    )

    assert failed(collect(text)) == [(T0, T0)]


def test_up_without_a_node_is_one_finding() -> None:
    """The label of the instance is a hint, so the node has to be named."""
    up = {"__name__": "up", "instance": "n1:9400"}
    text = answer((up, '[[1770000000,"0"],[1770000030,"1"],[1770000031,"0"]]'))

    collected = collect(text, options=replace(OPTIONS, node=None))

    assert (collected.records, codes(collected)) == ([], ["node_unknown"])


def test_series_of_the_scrape_itself_are_no_complaint() -> None:
    """scrape_* has no UUID and needs none (r36)."""
    scraped = {"__name__": "scrape_samples_scraped", "instance": "a"}

    collected = collect(answer((scraped, '[[1770000000,"14"]]'), (device(), '[[1770000000,"1"]]')))

    assert (len(collected.records), collected.findings) == (1, [])


def test_a_gap_stays_a_gap() -> None:
    """prometheus#8240: between two samples an hour apart nothing is said."""
    collected = collect(answer((device(ENERGY), '[[1770000000,"1"],[1770003600,"1"]]')))

    assert len(points(collected)[U0, ENERGY]) == 2


def test_a_field_that_stopped_is_told_from_one_that_goes_on() -> None:
    """DCGM#303: profiling reads 0 after a fault while utilisation goes on; both are kept."""
    collected = collect(
        answer(
            (device("DCGM_FI_PROF_SM_ACTIVE"), '[[1770000000,"0.9"],[1770000030,"0"]]'),
            (device(), '[[1770000000,"100"],[1770000030,"100"]]'),
        )
    )

    assert {metric: [v for _, v in each] for (_, metric), each in points(collected).items()} == {
        "DCGM_FI_PROF_SM_ACTIVE": ["0.9", "0"],
        UTIL: ["100", "100"],
    }


def test_a_damaged_export_line_is_a_finding_with_its_line() -> None:
    """A line that breaks off is named and the others are read."""
    good = f'{{"metric":{json.dumps(device())},"values":[1],"timestamps":[1770000000000]}}'
    uneven = f'{{"metric":{json.dumps(device())},"values":[1,2],"timestamps":[1770000000000]}}'

    collected = collect("\n".join((good, "", good[:40], uneven, "[1]", good)))

    assert [(f.code, f.line) for f in collected.findings] == [
        ("bad_line", 3),
        ("bad_line", 4),
        ("bad_line", 5),
    ]
    assert len(collected.records) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n \r\n",
        "<html>\n<body>502 Bad Gateway</body>\n</html>\n",
        answer((device(), '[[1770000000,"97"]]'))[:-30],
        json.dumps(json.loads(answer((device(), '[[1770000000,"97"]]'))), indent=1)[:-9],
        '{"status":"success","data":null}',
        '{"status":"success","data":{"resultType":"matrix","result":{}}}',
        '{"status":"success","data":{"resultType":"matrix","result":[7]}}',
        '{"status":"success","data":{"resultType":["matrix"],"result":[7]}}',
        answer((device(), "7")),
        answer((device(), "[]")),
        '{"metric":[],"values":[1],"timestamps":[1]}',
        '{"x":1}',
        "[" * 100_000,
        "17",
    ],
)
def test_what_holds_no_series_is_one_finding(text: str) -> None:
    """An input of another kind, or a broken one, is named once."""
    collected = collect(text)

    assert (len(collected.records), len(collected.findings)) == (0, 1)


def test_an_answer_over_several_lines_is_read_whole() -> None:
    """An answer that was indented on its way is the same answer."""
    text = json.dumps(json.loads(answer((device(), '[[1770000000,"97"]]'))), indent=2)

    assert points(collect("\n\n" + text)) == {(U0, UTIL): [(T0, "97")]}


def test_several_answers_in_one_input_are_read() -> None:
    """Answers that were appended to one file, one a line, are all read."""
    lines = [answer((device(), f'[[17700000{second},"97"]]')) for second in ("00", "30")]

    assert points(collect("\n".join(lines)))[U0, UTIL] == [(T0, "97"), (T1, "97")]


def test_samples_that_cannot_be_read_are_counted_and_the_others_kept() -> None:
    """One finding for a series says how many and what the first one was."""
    text = answer((device(), '[[1770000000,"97"],[null,"1"],[1,2,3],7,["x","1"],[1770000030,{}]]'))

    collected = collect(text)

    assert points(collected) == {(U0, UTIL): [(T0, "97")]}
    (finding,) = collected.findings
    assert finding.code == "bad_sample"
    assert finding.message.startswith("5 samples")


@pytest.mark.parametrize("uuid", ["\ud800", "GPU-\n", None, ["GPU-1"]])
def test_a_uuid_that_no_record_can_hold_is_none(uuid: object) -> None:
    """A label that is no printable text identifies nothing."""
    labels = json.dumps({"__name__": UTIL, "UUID": uuid})

    collected = collect(f'{{"metric":{labels},"values":[1],"timestamps":[1770000000000]}}')

    assert (collected.records, codes(collected)) == ([], ["no_uuid"])


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), max_size=3))
def test_order_and_repetition_of_inputs_change_no_record(
    order: list[int], again: list[int]
) -> None:
    """Inputs in any order, some of them twice, give the same records."""
    texts = [
        answer((device(), '[[1770000000,"97"],[1770000030,"NaN"]]')),
        answer((device(pod="a"), '[[1770000030,"96"],[1770000000,"9"]]')),
        answer((device(ENERGY), '[[1770000000,"1"]]')),
        answer(({"__name__": "up"}, '[[1770000000,"0"]]')),
    ]

    collected = collect(*(texts[place] for place in [*order, *again]))

    ids = {record["id"] for record in collected.records}
    assert ids == {record["id"] for record in collect(*texts).records}
    assert len(collected.records) == 3
    assert codes(collected) == ["value_conflict"]


@pytest.mark.parametrize(
    ("labels", "code"), [({}, "no_uuid"), ({"gpu": "0"}, "no_uuid"), ({"UUID": U0}, "no_metric")]
)
def test_the_result_of_an_expression_is_no_series_of_a_device(
    labels: dict[str, str], code: str
) -> None:
    """A sum over devices names no board; a rate of one names no metric."""
    series = {"metric": labels, "values": [1], "timestamps": [1770000000000]}

    collected = collect(json.dumps(series))

    assert (collected.records, codes(collected)) == ([], [code])
