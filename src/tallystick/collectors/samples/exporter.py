"""Text pages of an exporter: one line a sample, without a time or with one in milliseconds.

A page holds what the exporter last knew, so its moment is that of the scrape and has to be
stated. A page without any series is a scrape that failed: the exporter answered, but it had
nothing to say about any device (r37).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tallystick.collectors.collected import Collected, Place, Source
from tallystick.collectors.samples.number_text import (
    MILLISECONDS,
    BadSampleError,
    NumberText,
    instant_us,
    value_text,
)
from tallystick.collectors.samples.series import Merge, SampleOptions

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABELLED = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\s*\{")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*')
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE
)
_MILLISECONDS = re.compile(r"-?[0-9]{1,18}")
_JSON = ("{", "[")
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_ESCAPE = re.compile(r'\\[\\"n]')


class BadLineError(Exception):
    """A line of a page is no sample; says what was expected."""


@dataclass(frozen=True, slots=True)
class Exposed:
    """One line of a page: a series, and what follows it."""

    labels: dict[str, str]
    fields: tuple[str, ...]


def collect_exporter(sources: Iterable[Source], options: SampleOptions) -> Collected:
    """Read exporter pages: one record for each GPU and metric."""
    merge = Merge(options, "dcgm-exporter")
    for source in sources:
        _add_page(source, merge)
    return merge.collected()


def _add_page(source: Source, merge: Merge) -> None:
    has_series, untimed = False, []
    text = source.data.decode("utf-8-sig", errors="replace")
    for number, line in enumerate(text.split("\n"), start=1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        place = source.place.on_line(number)
        has_series = has_series or _LABELLED.match(bare) is not None
        try:
            exposed = read_exposed(bare)
            value, time = read_fields(exposed.fields)
        except BadLineError as error:
            merge.findings.append(place.finding("bad_line", str(error)))
            continue
        has_series = True
        at_us = merge.options.at_us if time is None else time
        if at_us is None:
            untimed.append(number)
        else:
            merge.add(exposed.labels, [(at_us, value)], place)
    if untimed:
        message = f"{len(untimed)} lines state no time and --at is not given"
        merge.findings.append(source.place.on_line(untimed[0]).finding("time_unknown", message))
    if not has_series:
        _add_empty_page(source.place, text, merge)


def _add_empty_page(place: Place, text: str, merge: Merge) -> None:
    at_us = merge.options.at_us
    if text.lstrip().startswith(_JSON) or "\0" in text:
        message = "expected a page of text, got JSON or binary data"
        merge.findings.append(place.finding("unrecognised_input", message))
    elif at_us is None:
        message = "the page has no series and --at does not say when it was read"
        merge.findings.append(place.finding("time_unknown", message))
    else:
        merge.add_failure(at_us, at_us, "page without series")


def read_exposed(line: str) -> Exposed:
    """Read a line up to its value.

    Raises:
        BadLineError: it does not begin with a metric and well-formed labels.
    """
    name = _NAME.match(line)
    if name is None:
        raise BadLineError("expected a metric name")
    labels, rest = {"__name__": name[0]}, line[name.end() :]
    if rest.lstrip().startswith("{"):
        labels, rest = _read_labels(rest.lstrip()[1:], labels)
    elif rest and not rest[0].isspace():
        raise BadLineError(f"expected labels or a value after {name[0]}")
    return Exposed(labels, tuple(rest.split()))


def _read_labels(text: str, labels: dict[str, str]) -> tuple[dict[str, str], str]:
    """Read ``a="b",c="d"}``; a comma may stand before the brace."""
    at = 0
    while match := _LABEL.match(text, at):
        name, value = match.groups()
        if name in labels:
            raise BadLineError(f"label {name} stands twice")
        labels[name] = _ESCAPE.sub(lambda escape: _ESCAPES[escape[0]], value)
        at = match.end()
        if text[at : at + 1] != ",":
            break
        at += 1
    rest = text[at:].lstrip()
    if not rest.startswith("}"):
        raise BadLineError('expected labels like gpu="0" up to a closing brace')
    return labels, rest[1:]


def read_fields(fields: tuple[str, ...]) -> tuple[str | None, int | None]:
    """Read value and time of a line; the time is in milliseconds and may be absent.

    Raises:
        BadLineError: there is no value, or something is no number.
    """
    if not fields:
        raise BadLineError("expected a value after the labels")
    if len(fields) > 2 or not _NUMBER.fullmatch(fields[0]):
        raise BadLineError(f"expected a number and perhaps a time, got {' '.join(fields)[:60]}")
    if len(fields) == 1:
        return value_text(fields[0]), None
    if not _MILLISECONDS.fullmatch(fields[1]):
        raise BadLineError(f"expected a time in milliseconds, got {fields[1][:60]}")
    try:
        return value_text(fields[0]), instant_us(NumberText(fields[1]), MILLISECONDS)
    except BadSampleError as error:
        raise BadLineError(f"expected {error}, got {fields[1]}") from error
