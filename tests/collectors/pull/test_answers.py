"""Answers become arrays: times exactly, values as the doubles that they are."""

import numpy as np
import pytest

from tallystick.collectors.pull.answers import (
    BadShapeError,
    exported_part,
    matrix_part,
    read_answer,
)
from tallystick.collectors.pull.wire import PassingFaultError


def matrix(values: str) -> bytes:
    """Write an answer with one series."""
    result = f'[{{"metric":{{"a":"b"}},"values":{values}}}]'
    data = f'{{"resultType":"matrix","result":{result}}}'
    return f'{{"status":"success","data":{data}}}'.encode()


def test_times_of_answers_are_exact() -> None:
    """Seconds with a fraction become microseconds without passing through a float."""
    answer = read_answer(matrix('[[1700000000.123,"1"],[1.7e9,"2"],[9007199254.740993,"3"]]'))

    part = matrix_part(answer.data.result[0])  # type: ignore[union-attr]

    expected = [1_700_000_000_123_000, 1_700_000_000_000_000, 9_007_199_254_740_993]
    assert part.times_us.tolist() == expected


def test_text_of_answers_is_read_as_a_number() -> None:
    """NaN is a blank and an infinity stays one."""
    answer = read_answer(matrix('[[1,"97"],[2,"NaN"],[3,"+Inf"],[4,"1.5e+3"]]'))

    part = matrix_part(answer.data.result[0])  # type: ignore[union-attr]

    np.testing.assert_equal(part.values, [97.0, np.nan, np.inf, 1500.0])


@pytest.mark.parametrize(
    "values", ['[[1,"many"]]', '[[1.0000001,"1"]]', '[[1e99,"1"]]', '[[1e18,"1"]]']
)
def test_a_pair_that_is_no_sample_is_refused(values: str) -> None:
    """A value that is no number, or a time that no sample can have, spoils the answer."""
    answer = read_answer(matrix(values))

    with pytest.raises(BadShapeError):
        matrix_part(answer.data.result[0])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "data",
    [
        b"no",
        b"{}",
        b'{"status":"error","error":"x"}',
        b'{"status":"success"}',
        b'{"status":"success","data":{"resultType":"scalar","result":[]}}',
        b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":1}}]}}',
    ],
)
def test_an_answer_that_is_no_matrix_is_refused(data: bytes) -> None:
    """Only a matrix has raw samples."""
    with pytest.raises(BadShapeError):
        read_answer(data)


def test_a_line_of_an_export_is_a_series() -> None:
    """Times are milliseconds, a stale marker is null."""
    line = b'{"metric":{"__name__":"m"},"values":[1,null,2.5],"timestamps":[1,2,1700000000123]}'

    labels, part = exported_part(line)

    assert labels == {"__name__": "m"}
    assert part.times_us.tolist() == [1000, 2000, 1_700_000_000_123_000]
    np.testing.assert_equal(part.values, [1.0, np.nan, 2.5])


@pytest.mark.parametrize("spelling", ["+Inf", '"Infinity"', '"+Inf"'])
def test_infinities_of_an_export_are_read(spelling: str) -> None:
    """Some versions write an infinity bare, others as text; a label with one stays as it is."""
    line = f'{{"metric":{{"le":"[+Inf]"}},"values":[{spelling},1],"timestamps":[1,2]}}'

    labels, part = exported_part(line.encode())

    assert labels == {"le": "[+Inf]"}
    assert part.values.tolist() == [np.inf, 1.0]


def test_a_stale_marker_that_begins_a_line_of_an_export_is_a_blank() -> None:
    """VictoriaMetrics 1.79 writes it as bare NaN there, and as null elsewhere."""
    line = b'{"metric":{"a":"[NaN]"},"values":[NaN,50,null],"timestamps":[1,2,3]}'

    labels, part = exported_part(line)

    assert labels == {"a": "[NaN]"}
    np.testing.assert_equal(part.values, [np.nan, 50.0, np.nan])


def test_a_message_within_an_export_is_a_fault_that_may_pass() -> None:
    """An export that fails half-way ends in text."""
    with pytest.raises(PassingFaultError, match="cannot be read"):
        exported_part(b"cannot export data: disk")


@pytest.mark.parametrize(
    "numbers",
    [
        '"values":[1],"timestamps":[1,2]',
        '"values":["x"],"timestamps":[1]',
        '"values":[1],"timestamps":[999999999999999999]',
        '"values":[1],"timestamps":[18446744073709551615]',
    ],
)
def test_numbers_that_no_series_can_have_are_refused(numbers: str) -> None:
    """Lengths that differ, text that is no number, and times beyond the calendar."""
    with pytest.raises(BadShapeError):
        exported_part(f'{{"metric":{{}},{numbers}}}'.encode())
