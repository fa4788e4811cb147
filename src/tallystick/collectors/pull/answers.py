"""Reading the answers of servers into arrays; times stay exact, from text to microseconds.

A Prometheus time is text like ``1700000000.123`` and is read as a decimal; an export of
VictoriaMetrics has integers of milliseconds. Values are the doubles that both servers keep.
"""

import re
from decimal import Decimal
from typing import Any, Final

import msgspec
import numpy as np

from tallystick.collectors.pull.rows import US_OF_MS, Part, Times, Values
from tallystick.collectors.pull.wire import PassingFaultError
from tallystick.core.instant import SECOND_US

_MS_MAX: Final = 253_402_300_799_999  # The end of the year 9999.
_EXPONENT_MAX: Final = 20
_BARE: Final = re.compile(rb"(?<=[\[,])([+-]?Inf|NaN)(?=[,\]])")
_VALUES: Final = b'"values":['


class BadShapeError(Exception):
    """An answer is not of the form that the API has; says how."""


class Series(msgspec.Struct, gc=False):
    """One series of a matrix; native histograms stand elsewhere and are no device samples."""

    metric: dict[str, str]
    values: list[tuple[Decimal, str]] = []


class _Data(msgspec.Struct, rename="camel", gc=False):
    result_type: str
    result: list[Series]


class Answer(msgspec.Struct, rename="camel", gc=False):
    """An answer of the query API."""

    status: str
    data: _Data | None = None
    error: str = ""
    warnings: list[str] = []
    is_partial: bool = False


class _Exported(msgspec.Struct, gc=False):
    metric: dict[str, str]
    values: list[float | str | None]
    timestamps: list[int]


_ANSWER: Final = msgspec.json.Decoder(Answer)
_EXPORTED: Final = msgspec.json.Decoder(_Exported)


def read_answer(data: bytes) -> Answer:
    """Read an answer to a range selector.

    Raises:
        BadShapeError: it is no matrix.
    """
    try:
        answer = _ANSWER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadShapeError(str(error).lower()) from error
    if answer.status != "success" or answer.data is None:
        raise BadShapeError(f"status {answer.status[:20]!a}: {answer.error[:100]!a}")
    if answer.data.result_type != "matrix":
        raise BadShapeError(f"expected a matrix, found {answer.data.result_type[:20]!a}")
    return answer


def matrix_part(series: Series) -> Part:
    """Turn the pairs of a series into arrays.

    Raises:
        BadShapeError: a time or value is no number.
    """
    try:
        times = [_exact_us(at) for at, _ in series.values]
        values = [float(value) for _, value in series.values]
    except (ValueError, ArithmeticError) as error:
        raise BadShapeError(str(error).lower()) from error
    return Part(np.array(times, np.int64), np.array(values, np.float64))


def exported_part(line: bytes) -> tuple[dict[str, str], Part]:
    """Read a line of an export: a label set and its samples.

    Raises:
        PassingFaultError: it is no such line: an export that fails ends in a message.
        BadShapeError: its numbers cannot be what they are.
    """
    try:
        exported = _EXPORTED.decode(line)
    except msgspec.DecodeError:
        exported = _read_bare(line)
    times, values = exported.timestamps, exported.values
    if len(times) != len(values):
        raise BadShapeError("expected as many values as timestamps")
    return exported.metric, Part(_exact_times_us(times), _doubles(values))


def _read_bare(line: bytes) -> _Exported:
    """Read a line with words among its values: infinities, and a stale marker that comes first.

    VictoriaMetrics 1.79 writes a marker as ``null``, but as ``NaN`` where a line begins with it.
    """
    head, found, rest = line.rpartition(_VALUES)
    values, bracket, tail = rest.partition(b"]")
    quoted = _BARE.sub(rb'"\1"', b"[" + values + bracket)
    try:
        return _EXPORTED.decode(head + found + quoted.removeprefix(b"[") + tail)
    except msgspec.DecodeError as error:
        said = line[:100].decode("utf-8", errors="replace")
        raise PassingFaultError(f"an export line cannot be read: {said!a}") from error


def _exact_times_us(times_ms: list[int]) -> Times:
    try:
        times = np.array(times_ms, np.int64)
    except OverflowError as error:
        raise BadShapeError("expected times of 64 bits") from error
    if len(times) and not -_MS_MAX <= times.min() <= times.max() <= _MS_MAX:
        raise BadShapeError("expected times within the years 1 to 9999")
    return times * US_OF_MS


def _doubles(values: list[Any]) -> Values:
    try:
        return np.array(values, np.float64)  # None becomes NaN, text is read as a number.
    except ValueError as error:
        raise BadShapeError(str(error).lower()) from error


def _exact_us(at: Decimal) -> int:
    """Give seconds as microseconds; what lies below the millisecond does not exist there."""
    if abs(at.adjusted()) > _EXPONENT_MAX:
        raise BadShapeError("expected a time within the years 1 to 9999")
    micros = int(at * SECOND_US)
    if micros != at * SECOND_US or abs(micros) > _MS_MAX * US_OF_MS:
        raise BadShapeError(f"expected a time in whole microseconds, found {str(at)[:40]}")
    return micros
