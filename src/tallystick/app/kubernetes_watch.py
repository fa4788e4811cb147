"""Watching a live cluster into a store: one follower for each kind, one writer.

What happens is delivered within a second or so. Facts that the log has are not delivered again, so
a watch that is started anew adds only what is new.
"""

import queue
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Final

from tallystick.app.admit import Admission, OnBatch, admit_collected, clock_us
from tallystick.collectors.collected import Collected
from tallystick.collectors.kubernetes.api import KINDS, Api, Kind, NotAllowedError
from tallystick.collectors.kubernetes.follow import Listed, News, Pace, Trouble, Unserved, follow
from tallystick.collectors.kubernetes.live import LiveCluster
from tallystick.collectors.kubernetes.options import KubernetesOptions, check_cluster
from tallystick.evidence.draft import draft_record
from tallystick.evidence.leaf import identity_key
from tallystick.stores.protocol import Store

QUEUE_MAX: Final = 10_000
FINDINGS_MAX: Final = 1000  # Shown at the end; the log has all of them.
COLLECTOR: Final = "kubernetes"


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """What to follow, and for how long.

    Args:
        options: Cluster and what its labels mean.
        namespace: Of which pods, None for all.
        for_s: Seconds until the watch ends by itself, None for never.
        kinds: What is followed.
        first_s: The first wait after a failure.
        gather_s: How long news is gathered before it is delivered.
    """

    options: KubernetesOptions
    namespace: str | None = None
    for_s: float | None = None
    kinds: Sequence[Kind] = KINDS
    first_s: float = 1
    gather_s: float = 0.5


@dataclass(slots=True)
class _Watch:
    """A running watch: its followers put news into one queue."""

    api: Api
    settings: WatchSettings
    stop: Event
    news: "queue.Queue[News | BaseException]" = field(
        default_factory=lambda: queue.Queue(QUEUE_MAX)
    )

    def start(self) -> None:
        """Follow every kind, each in a thread that ends with the process."""
        for kind in self.settings.kinds:
            Thread(target=self._follow, args=(kind,), daemon=True, name=kind.plural).start()

    def _follow(self, kind: Kind) -> None:
        pace = Pace(clock_us, self.stop.wait, self.settings.first_s)
        try:
            for news in follow(self.api, kind, pace):
                if not self._put(news):
                    return
        except Exception as error:  # noqa: BLE001 (it ends the command, not only its thread)
            self._put(error)

    def _put(self, news: News | BaseException) -> bool:
        while not self.stop.is_set():
            try:
                self.news.put(news, timeout=0.2)
            except queue.Full:
                continue
            return True
        return False

    def gather(self, until: float | None) -> list[News]:
        """Give what has come, after a wait for the first of it."""
        gathered: list[News] = []
        wait_s = self.settings.gather_s
        if until is not None:
            wait_s = max(0.0, min(wait_s, until - time.monotonic()))
        end = time.monotonic() + wait_s
        while len(gathered) < QUEUE_MAX:
            try:
                news = self.news.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            if isinstance(news, BaseException):
                raise news
            gathered.append(news)
        return gathered


def watch_kubernetes(
    store: Store,
    api: Api,
    settings: WatchSettings,
    on_batch: OnBatch,
    *,
    stop: Event | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Admission:
    """Follow a cluster into a store until the time is over, or until told to stop.

    Args:
        store: Where records go.
        api: The cluster.
        settings: What to follow.
        on_batch: Told what became of records.
        stop: Set by whoever wants the watch to end.
        say: Told once for each kind what is not watched, and when pods were first listed.

    Raises:
        BadClusterError: the name of the cluster cannot stand in a key.
        NotAllowedError: the API does not show pods.
        TallystickError: the store cannot take more.
    """
    check_cluster(settings.options.cluster)
    stop = stop or Event()
    watch = _Watch(api, settings, stop)
    live = LiveCluster(settings.options, {kind.name for kind in settings.kinds})
    total = Admission(Counter())
    until = None if settings.for_s is None else time.monotonic() + settings.for_s
    _deliver(store, _begun(settings), total, on_batch)
    watch.start()
    try:
        while not stop.is_set() and (until is None or time.monotonic() < until):
            for news in watch.gather(until):
                _tell(news, say)
                live.take(news)
            _deliver(store, live.drain(clock_us()), total, on_batch)
    finally:
        stop.set()
    _deliver(store, live.drain(clock_us(), is_last=True), total, on_batch)
    return total


def _tell(news: News, say: Callable[[str], None]) -> None:
    if isinstance(news, Unserved):
        if news.kind.is_needed:
            raise NotAllowedError(news.kind.plural, news.reason)
        say(f"{news.kind.plural} are not watched: {news.reason}")
    elif isinstance(news, Listed) and news.kind.is_needed:
        say(f"{len(news.values)} {news.kind.plural} listed")
    elif isinstance(news, Trouble) and news.kind.is_needed:
        say(f"the API does not answer ({news.reason}); trying again")


def _begun(settings: WatchSettings) -> Collected:
    """Say that a watch began: what happened before it was not seen by it."""
    collected, now_us = Collected(), clock_us()
    body: dict[str, Any] = {
        "cluster": settings.options.cluster,
        "kinds": [kind.name for kind in settings.kinds],
        "namespace": settings.namespace,
    }
    producer = settings.options.producer
    collected.add(
        draft_record("scheduler.watch", body, producer=producer, at_us=now_us, observed_us=now_us)
    )
    return collected


def _deliver(store: Store, collected: Collected, total: Admission, on_batch: OnBatch) -> None:
    """Deliver what the log does not have, and add up what became of it."""
    new = _new_to(store, collected)
    if not new.records and not new.findings:
        return
    admission = admit_collected(store, new, COLLECTOR, on_batch)
    total.counts.update(admission.counts)
    total.findings.extend(admission.findings[: FINDINGS_MAX - len(total.findings)])
    total.size = admission.size


def _new_to(store: Store, collected: Collected) -> Collected:
    """Leave out what the log has: the first record of a fact stays."""
    keys = [identity_key(record["producer"]["name"], record["id"]) for record in collected.records]
    with store.reading() as log:
        known = log.find(keys)
    records = [
        record for key, record in zip(keys, collected.records, strict=True) if key not in known
    ]
    return Collected(records, collected.findings)
