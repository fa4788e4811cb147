"""Answers of the Prometheus query API and lines of the VictoriaMetrics export.

Both are recognised by content, so either command takes either: an answer is an object with
``status``, an export line one with ``values`` and ``timestamps``. VictoriaMetrics gives
both. Times are seconds in answers and milliseconds in export lines.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tallystick.collectors.collected import Collected, Place, Source
from tallystick.collectors.samples.number_text import (
    MILLISECONDS,
    SECONDS,
    BadSampleError,
    instant_us,
    read_json,
    value_text,
)
from tallystick.collectors.samples.series import Merge, Sample, SampleOptions

_SERIES_TYPES = ("matrix", "vector")


def collect_prometheus(sources: Iterable[Source], options: SampleOptions) -> Collected:
    """Read answers of a Prometheus server: one record for each GPU and metric."""
    return _collect(sources, Merge(options, "prometheus"))


def collect_victoriametrics(sources: Iterable[Source], options: SampleOptions) -> Collected:
    """Read exports of a VictoriaMetrics server: one record for each GPU and metric."""
    return _collect(sources, Merge(options, "victoriametrics"))


def _collect(sources: Iterable[Source], merge: Merge) -> Collected:
    for source in sources:
        for place, document in _documents(source, merge):
            if isinstance(document, dict) and "status" in document:
                _add_answer(document, place, merge)
            elif isinstance(document, dict) and "timestamps" in document:
                _add_export_line(document, place, merge)
            else:
                message = "expected an answer with a status, or an export line with timestamps"
                merge.findings.append(place.finding("bad_line", message))
    return merge.collected()


def _documents(source: Source, merge: Merge) -> Iterator[tuple[Place, Any]]:
    """Give the JSON values of an input with their places: the whole of it, or one a line."""
    text = source.data.decode("utf-8-sig", errors="replace")
    try:
        document = read_json(text)
    except (ValueError, RecursionError) as error:
        yield from _line_documents(text, _reason(error), source.place, merge)
    else:
        leading = text[: len(text) - len(text.lstrip())]
        yield source.place.on_line(leading.count("\n") + 1), document


def _line_documents(
    text: str, reason: str, place: Place, merge: Merge
) -> Iterator[tuple[Place, Any]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        merge.findings.append(place.finding("no_samples", "the input is empty"))
        return
    if not any(line.startswith('{"') for _, line in lines):
        merge.findings.append(place.finding("unrecognised_input", f"expected JSON: {reason}"))
        return
    for number, line in lines:
        try:
            document = read_json(line)
        except (ValueError, RecursionError) as error:
            merge.findings.append(place.on_line(number).finding("bad_line", _reason(error)))
        else:
            yield place.on_line(number), document


def _reason(error: Exception) -> str:
    return "nesting beyond reason" if isinstance(error, RecursionError) else str(error).lower()


def _add_answer(answer: dict[str, Any], place: Place, merge: Merge) -> None:
    if answer["status"] != "success":
        text = ": ".join(str(answer[key]) for key in ("errorType", "error") if key in answer)
        message = f"the server answered {answer['status']}: {text or 'without a reason'}"
        merge.findings.append(place.finding("answer_error", message))
        return
    warnings = _warnings(answer)
    if warnings:
        merge.findings.append(place.finding("partial_answer", "; ".join(warnings)))
    data = answer.get("data")
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(data, dict) or data.get("resultType") not in _SERIES_TYPES:
        message = "expected series (a matrix or a vector)"
        merge.findings.append(place.finding("unrecognised_input", message))
    elif not isinstance(result, list) or not result:
        merge.findings.append(place.finding("no_samples", "the answer holds no series"))
    else:
        for series in result:
            _add_answer_series(series, place, merge)


def _warnings(answer: dict[str, Any]) -> list[str]:
    warnings = answer.get("warnings") or []
    texts = [str(text) for text in (warnings if isinstance(warnings, list) else [warnings])]
    if answer.get("isPartial") is True:
        texts.insert(0, "the server says that the answer is partial")
    return texts


def _add_answer_series(series: Any, place: Place, merge: Merge) -> None:
    """Take one series; native histograms stand under other keys and are no device samples."""
    if not isinstance(series, dict) or not isinstance(series.get("metric"), dict):
        merge.findings.append(place.finding("bad_line", "expected a series with its labels"))
        return
    pairs = series.get("values", [series["value"]] if "value" in series else [])
    if not isinstance(pairs, list):
        merge.findings.append(place.finding("bad_line", "expected a list of values"))
        return
    _add_samples(series["metric"], pairs, SECONDS, place, merge)


def _add_export_line(line: dict[str, Any], place: Place, merge: Merge) -> None:
    labels, values, times = line.get("metric"), line.get("values"), line["timestamps"]
    if not isinstance(labels, dict):
        merge.findings.append(place.finding("bad_line", "expected a series with its labels"))
    elif not isinstance(values, list) or not isinstance(times, list) or len(values) != len(times):
        message = "expected as many values as timestamps"
        merge.findings.append(place.finding("bad_line", message))
    else:
        pairs = list(zip(times, values, strict=True))
        _add_samples(labels, pairs, MILLISECONDS, place, merge)


def _add_samples(
    labels: dict[str, Any], pairs: Sequence[Any], unit_us: int, place: Place, merge: Merge
) -> None:
    samples: list[Sample] = []
    unread: list[str] = []
    for pair in pairs:
        try:
            time, value = pair
            samples.append((instant_us(time, unit_us), value_text(value)))
        except (BadSampleError, TypeError, ValueError) as error:
            unread.append(f"{pair}: {error}")
    if unread:
        name = labels.get("__name__")
        message = f"{len(unread)} samples of {name} cannot be read, first {unread[0][:120]}"
        merge.findings.append(place.finding("bad_sample", message))
    merge.add(labels, samples, place)
