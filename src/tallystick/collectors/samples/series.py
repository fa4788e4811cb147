"""Merging series: one record for each GPU and metric, whatever their other labels were.

Label sets come and go while the board stays, so samples are gathered by UUID and metric
(r32). A blank beside a value of the same moment says that a label set ended and is kept
without complaint (r33); two different values of one moment are both kept and a finding.
``up`` says when a server could not reach its target and becomes evidence of that (r36).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import Any

from tallystick.collectors.collected import Collected, Place
from tallystick.core.finding import InputFinding
from tallystick.core.instant import format_instant
from tallystick.evidence.draft import draft_record

Sample = tuple[int, str | None]

_UUID_LABELS = ("UUID", "uuid")
_UUID_PREFIXES = ("MIG-", "GPU-")


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """What the samples do not say themselves.

    Args:
        cadence_us: How often the device was sampled; never guessed from the samples.
        node: Node of the target, for scrapes that failed.
        at_us: Moment of an exporter page, for lines without a time of their own.
        observed_us: When the collector looked.
    """

    cadence_us: int
    node: str | None
    at_us: int | None
    observed_us: int


@dataclass(slots=True)
class Merge:
    """All samples of a call, gathered over inputs and label sets."""

    options: SampleOptions
    producer: str
    findings: list[InputFinding] = field(default_factory=list)
    _devices: dict[tuple[str, str], set[Sample]] = field(default_factory=dict)
    _targets: dict[frozenset[tuple[str, str]], set[Sample]] = field(default_factory=dict)
    _failures: set[tuple[int, int, str]] = field(default_factory=set)

    def add(self, labels: Mapping[str, Any], samples: Iterable[Sample], place: Place) -> None:
        """Take the samples of one label set."""
        metric, gpu = _metric(labels), device_uuid(labels)
        if metric == "up":
            target = frozenset((name, str(value)) for name, value in labels.items())
            self._targets.setdefault(target, set()).update(samples)
        elif metric is not None and metric.startswith("scrape_"):
            return  # What a server says of its own scrapes.
        elif gpu is None:
            message = f"{metric or 'a series without a metric'} names no device UUID"
            self.findings.append(place.finding("no_uuid", message))
        elif metric is None:
            message = "a series has no metric name: it is the result of an expression"
            self.findings.append(place.finding("no_metric", message))
        else:
            self._devices.setdefault((gpu, metric), set()).update(samples)

    def add_failure(self, start_us: int, end_us: int, reason: str) -> None:
        """Take a stretch over which the target was not reached."""
        self._failures.add((start_us, end_us, reason))

    def collected(self) -> Collected:
        """Give the records and findings; a call that gives neither is a finding itself."""
        for samples in self._targets.values():
            for first_us, last_us in _runs_of_zeros(samples):
                self.add_failure(first_us, last_us, "up is 0")
        records = [*self._points(), *self._scrapes_failed()]
        if not records and not self.findings:
            message = "no samples of a device and no failed scrape in any input"
            self.findings.append(InputFinding("no_samples", message))
        return Collected(records, self.findings)

    def _points(self) -> Iterator[dict[str, Any]]:
        for (gpu, metric), samples in self._devices.items():
            if not samples:
                continue
            ordered = sorted(samples, key=_by_time_then_value)
            self.findings.extend(_conflicts(gpu, metric, ordered))
            body = {
                "gpu": gpu,
                "metric": metric,
                "cadence_us": self.options.cadence_us,
                "points": [[format_instant(at_us), value] for at_us, value in ordered],
            }
            yield self._record("telemetry.points", body)

    def _scrapes_failed(self) -> Iterator[dict[str, Any]]:
        if self._failures and self.options.node is None:
            message = "a scrape failed, but --node does not say on which node"
            self.findings.append(InputFinding("node_unknown", message))
            return
        for start_us, end_us, reason in sorted(self._failures):
            body = {
                "node": self.options.node,
                "from": format_instant(start_us),
                "to": format_instant(end_us),
                "reason": reason,
            }
            yield self._record("telemetry.scrape_failed", body)

    def _record(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        observed_us = self.options.observed_us
        return draft_record(kind, body, producer=self.producer, at_us=None, observed_us=observed_us)


def _metric(labels: Mapping[str, Any]) -> str | None:
    metric = labels.get("__name__")
    return metric if isinstance(metric, str) and metric and metric.isprintable() else None


def device_uuid(labels: Mapping[str, Any]) -> str | None:
    """Find the device's UUID; one that is empty or all zeros is none (r32)."""
    for label in _UUID_LABELS:
        uuid = labels.get(label)
        if isinstance(uuid, str) and uuid.isprintable() and _identifies(uuid):
            return str(uuid).strip()
    return None


def _identifies(uuid: str) -> bool:
    board, _, _ = uuid.strip().partition("/")  # Before R470 a MIG UUID ended in its two ids.
    for prefix in _UUID_PREFIXES:
        board = board.removeprefix(prefix)
    return board.strip("0-") != ""


def _by_time_then_value(sample: Sample) -> tuple[int, bool, str]:
    at_us, value = sample
    return at_us, value is None, value or ""


def _conflicts(gpu: str, metric: str, ordered: list[Sample]) -> Iterator[InputFinding]:
    for at_us, samples in groupby(ordered, key=lambda sample: sample[0]):
        values = [value for _, value in samples if value is not None]
        if len(values) > 1:
            message = f"{metric} of {gpu} at {format_instant(at_us)} is {' and '.join(values)}"
            yield InputFinding("value_conflict", message)


def _runs_of_zeros(samples: set[Sample]) -> Iterator[tuple[int, int]]:
    moments = groupby(sorted(samples, key=_by_time_then_value), key=lambda sample: sample[0])
    states = ((at_us, all(_is_zero(value) for _, value in group)) for at_us, group in moments)
    for failed, run in groupby(states, key=lambda state: state[1]):
        if failed:
            times = [at_us for at_us, _ in run]
            yield times[0], times[-1]


def _is_zero(value: str | None) -> bool:
    if value is None:
        return False
    try:
        return Decimal(value) == 0
    except InvalidOperation:
        return False
