"""The spans of a pull: each is fetched, sealed query by query, and told of to the log.

A piece of a span is sealed only when all of it was fetched. One that holds more than can be
held is cut in two, and so are those that follow.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.app.admit import admit_collected, clock_us
from tallystick.app.pull_request import Pulled, PullRequest
from tallystick.app.pull_seal import seal
from tallystick.app.pull_state import PullState
from tallystick.app.store import OpenStore
from tallystick.collectors.collected import Collected
from tallystick.collectors.pull.devices import Known, add_missing, tables, take_device
from tallystick.collectors.pull.errors import AnswerTooLargeError
from tallystick.collectors.pull.fetch import Fetcher
from tallystick.collectors.pull.queries import Query
from tallystick.collectors.pull.rows import Gathered, Stretch
from tallystick.collectors.pull.scrapes import (
    Outage,
    Scrapes,
    Target,
    by_address,
    closed,
    follow,
)
from tallystick.collectors.pull.wire import TooMuchError
from tallystick.core.finding import InputFinding
from tallystick.core.instant import format_instant
from tallystick.evidence.draft import draft_record

COLLECTOR: Final = "pull"


@dataclass(slots=True)
class SpanWork:
    """A pull on its way; what it changes in ``state`` is right again after each whole span."""

    store: OpenStore
    fetcher: Fetcher
    request: PullRequest
    state: PullState
    pulled: Pulled
    scrapes_match: str | None = None
    _said: set[InputFinding] = field(default_factory=set)

    def do_span(self, end_ms: int) -> bool:
        """Seal the next span; tell whether it was, and not only found to be too long."""
        start_ms, length_ms = self.state.done_ms, self.state.span_ms
        span = Stretch(start_ms, min((start_ms // length_ms + 1) * length_ms, end_ms))
        try:
            scrapes = self._scrapes(span)
        except TooMuchError as error:
            if length_ms == 1:
                raise AnswerTooLargeError(str(self.scrapes_match), str(error)) from error
            self.state.span_ms = length_ms // 2
            return False
        known, outages = self._follow(scrapes)
        findings: list[InputFinding] = []
        for place, query in enumerate(self.request.queries):
            findings += self._do_query(str(place), query, span, known)
        self.state.waiting += outages
        self._admit(self._located(), findings)
        self.state.done_ms = span.end_ms
        return True

    def finish(self) -> None:
        """End what is still open, and say what stays unknown."""
        for key in sorted(self.state.targets):
            self.state.waiting += closed(self.state.targets[key], key)
        records = self._located(at_end=True)
        findings = []
        if self.state.waiting:
            message = f"{len(self.state.waiting)} outages are of targets whose node is not known"
            findings.append(InputFinding("node_unknown", message))
        if not (records or self.pulled.segments or self.pulled.outages or self.pulled.resumed):
            message = "no samples of a device in the time that was asked, and no failed scrape"
            findings.append(InputFinding("no_samples", message))
        self._admit(records, findings)

    def _scrapes(self, span: Stretch) -> Scrapes:
        scrapes = Scrapes(self.request.rows_max)
        if self.scrapes_match is None:
            return scrapes

        def begin() -> Callable[..., None]:
            scrapes.clear()
            return scrapes.add

        self.fetcher.fetch(self.scrapes_match, span, begin)
        return scrapes

    def _follow(self, scrapes: Scrapes) -> tuple[Known, list[Outage]]:
        targets, label = self.state.targets, self.request.node_label
        gap_us = self.request.cadence_us * 5 // 2
        outages, full_us = [], {}
        for key in sorted(scrapes.up):
            labels = scrapes.labels[key]
            target = targets.setdefault(key, Target(labels=labels))
            if label is not None and labels.get(label):
                target.nodes = [labels[label]]
            health = follow(target, key, scrapes.up[key], scrapes.scraped.get(key, []), gap_us)
            full_us[key] = health.full_us
            outages += health.outages
        return Known(targets, by_address(targets), full_us, label), outages

    def _do_query(
        self, place: str, query: Query, span: Stretch, known: Known
    ) -> Iterator[InputFinding]:
        """Fetch and seal a span of a query, in pieces that can be held."""
        lengths_ms = self.state.piece_ms
        pieces = [span]
        while pieces:
            piece = pieces.pop()
            halves = piece.halves()
            if halves and piece.end_ms - piece.start_ms > lengths_ms.get(place, span.end_ms):
                pieces += reversed(halves)
                continue
            try:
                gathered = self._gather(query, piece)
                add_missing(gathered, place, known, piece)
            except TooMuchError as error:
                if halves is None:
                    raise AnswerTooLargeError(query.match, str(error)) from error
                lengths_ms[place] = halves[1].end_ms - halves[1].start_ms
                pieces.append(piece)
                continue
            yield from self._seal(gathered, query)

    def _gather(self, query: Query, piece: Stretch) -> Gathered:
        gathered = Gathered(self.request.rows_max)

        def begin() -> Callable[..., None]:
            gathered.clear()
            return lambda labels, part: take_device(gathered, query, labels, part)

        self.fetcher.fetch(query.match, piece, begin)
        return gathered

    def _seal(self, gathered: Gathered, query: Query) -> Iterator[InputFinding]:
        for table in tables(gathered):
            self.pulled.segments.append(seal(self.store, table, query.cadence_us))
            for gpu, moments, first_us in table.conflicts:
                message = (
                    f"{table.metric} of {gpu} has several values at {moments} moments,"
                    f" first {format_instant(first_us)}"
                )
                yield InputFinding("value_conflict", message)
        for metric in sorted(gathered.nameless):
            named = f"{metric} of {query.match}" if metric else query.match
            yield InputFinding("no_uuid", f"series of {named} name no device UUID or metric")
        for warning in sorted(self.fetcher.warnings):
            yield InputFinding("partial_answer", warning)

    def _located(self, *, at_end: bool = False) -> list[dict[str, Any]]:
        """Make records of the outages whose node is known; the others go on waiting.

        Only at the end is it known that no label names the node, and how many targets there are.
        """
        records, waiting = [], []
        for outage in self.state.waiting:
            nodes = self._nodes(self.state.targets[outage.target], at_end=at_end)
            records += [self._record(outage, node) for node in nodes]
            waiting += [] if nodes else [outage]
        self.state.waiting = waiting
        return records

    def _nodes(self, target: Target, *, at_end: bool) -> list[str]:
        node = self.request.node
        if target.nodes or node is None:
            return target.nodes
        is_meant = bool(target.devices) or (at_end and len(self.state.targets) == 1)
        return [node] if is_meant and (at_end or self.request.node_label is None) else []

    def _record(self, outage: Outage, node: str) -> dict[str, Any]:
        body = {
            "node": node,
            "from": format_instant(outage.from_us),
            "to": format_instant(outage.to_us),
            "reason": outage.reason,
        }
        producer = str(self.pulled.kind)
        return draft_record(
            "telemetry.scrape_failed", body, producer=producer, at_us=None, observed_us=clock_us()
        )

    def _admit(self, records: list[dict[str, Any]], findings: list[InputFinding]) -> None:
        fresh = [each for each in dict.fromkeys(findings) if each not in self._said]
        self._said.update(fresh)
        if records or fresh:
            admission = admit_collected(
                self.store.log, Collected(records, fresh), COLLECTOR, lambda _: None
            )
            self.pulled.findings += admission.findings
            self.pulled.outages += len(records)
