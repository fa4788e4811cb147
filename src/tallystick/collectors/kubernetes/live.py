"""A cluster while it is watched: news in, records out, each once.

A fact is told when everything that it needs has been seen: a pod's start waits for its node and
its Job, which come on watches of their own. Whoever watches again later tells the same facts under
the same ids, and what the log has stays.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tallystick.collectors.collected import Collected, Place
from tallystick.collectors.kubernetes.cluster import Cluster, PodStory
from tallystick.collectors.kubernetes.documents import ADDED, DELETED, Seen
from tallystick.collectors.kubernetes.follow import Gap, Happened, Listed, News, Unserved
from tallystick.collectors.kubernetes.objects import (
    Json,
    items_at,
    kind_of,
    labels_of,
    name_of,
    owners_of,
    text_at,
    uid_of,
)
from tallystick.collectors.kubernetes.options import KubernetesOptions
from tallystick.collectors.kubernetes.owners import lineage_of, owner_uids, uids_of
from tallystick.collectors.kubernetes.pods import node_of
from tallystick.collectors.kubernetes.records import Attempt, describe, read_attempt
from tallystick.core.finding import InputFinding
from tallystick.core.instant import SECOND_US, format_instant
from tallystick.evidence.draft import draft_record

PATIENCE_US: Final = 30 * SECOND_US
TOLD_MAX: Final = 200_000


@dataclass(slots=True)
class LiveCluster:
    """What is known, what has to be described again, and what was told already.

    Args:
        options: As for files; ``live`` is set.
        watched: Names of the kinds that are followed.
    """

    options: KubernetesOptions
    watched: set[str]
    cluster: Cluster = field(default_factory=Cluster)
    _changed: dict[str, int] = field(default_factory=dict)
    _told: dict[str, None] = field(default_factory=dict)
    _extra: list[dict[str, Any] | InputFinding] = field(default_factory=list)

    def take(self, news: News) -> None:
        """Take in something that happened."""
        if isinstance(news, Listed):
            for value in news.values:
                self._see(Seen(ADDED, value, _PLACE, news.at_us))
            if news.is_again:
                self._vanished(news)
        elif isinstance(news, Happened):
            self._see(Seen(news.event, news.value, _PLACE, news.at_us))
        elif isinstance(news, Gap):
            self._extra.append(self._gap(news))
        elif isinstance(news, Unserved):
            self._unserved(news)

    def _see(self, seen: Seen) -> None:
        value, kind = seen.value, kind_of(seen.value)
        if kind == "Event" and text_at(value, "involvedObject", "uid") not in self.cluster.pods:
            return  # Of a pod without GPUs, or of one that is not known yet: it only adds.
        if kind == "Node" and not self._is_news(seen):
            return
        if self.cluster.see(seen):
            for uid in self._touched(value, kind):
                self._changed.setdefault(uid, seen.seen_us or 0)

    def _is_news(self, seen: Seen) -> bool:
        """Tell a change of a node from its heartbeat."""
        story = self.cluster.nodes.get(name_of(seen.value))
        if story is None or seen.event == DELETED:
            return True
        return _standing(story.value) != _standing(seen.value)

    def _touched(self, value: Json, kind: str) -> list[str]:
        """Give the pods that a change bears on."""
        pods, own = self.cluster.pods, uid_of(value) or ""
        if kind == "Pod":
            return [own]
        if kind == "Event":
            return [str(text_at(value, "involvedObject", "uid"))]
        if kind == "Node":
            return [uid for uid, story in pods.items() if node_of(story.value) == name_of(value)]
        if kind in {"ResourceClaim", "ResourceSlice", "NodePool"}:
            return [uid for uid in self._changed if uid in pods]
        wanted = {own, *(owner_uids(value) if kind == "Workload" else ())}
        return [
            uid
            for uid, story in pods.items()
            if uids_of(story.value, lineage_of(story.value, self.cluster.known)) & wanted
        ]

    def _vanished(self, listed: Listed) -> None:
        """Tell of what was there before a gap and is not any more; when it went is not known."""
        there = {uid_of(value) for value in listed.values}
        known: dict[str, dict[str, Any]] = {
            "Pod": dict(self.cluster.pods),
            "Node": dict(self.cluster.nodes),
        }
        for story in known.get(listed.kind.name, {}).values():
            if uid_of(story.value) not in there and not story.is_deleted:
                self._see(Seen(DELETED, story.value, _PLACE))

    def _unserved(self, news: Unserved) -> None:
        self.watched.discard(news.kind.name)
        if not news.reason.startswith("404"):
            message = f"{news.kind.plural} are not watched: {news.reason}"
            self._extra.append(InputFinding("kind_not_readable", message))

    def _gap(self, gap: Gap) -> dict[str, Any]:
        body = {
            "cluster": self.options.cluster,
            "kind": gap.kind.name,
            "from": format_instant(gap.from_us),
            "to": format_instant(gap.to_us),
            "reason": gap.reason,
            "replayed": gap.replayed,
        }
        return draft_record(
            "scheduler.watch_gap",
            body,
            producer=self.options.producer,
            at_us=gap.to_us,
            observed_us=gap.to_us,
        )

    def drain(self, now_us: int, *, is_last: bool = False) -> Collected:
        """Give what is new; pods whose surroundings are not seen yet wait, but not for ever."""
        collected = Collected()
        options = replace(self.options, observed_us=now_us)
        self._keep(collected, self._extra)
        self._extra = []
        for uid, since_us in list(self._changed.items()):
            story = self.cluster.pods.get(uid)
            attempt = read_attempt(uid, story, self.cluster, options) if story else None
            if story is None or attempt is None:
                self._forget(uid)
                continue
            is_patient = not is_last and now_us - since_us < PATIENCE_US
            if is_patient and self._waits(attempt, story):
                continue
            self._keep(collected, describe(attempt, story, self.cluster, options))
            self._tidy(attempt, story)
            del self._changed[uid]
            if story.is_deleted:
                self._forget(uid)
        return collected

    def _keep(self, collected: Collected, outputs: Iterable[dict[str, Any] | InputFinding]) -> None:
        for output in outputs:
            if isinstance(output, InputFinding):
                name = f"{output.code}:{output.message}"
            else:
                name = str(output["id"])
            if name in self._told:
                continue
            self._told[name] = None
            if isinstance(output, InputFinding):
                collected.findings.append(output)
            else:
                collected.add(output)
        while len(self._told) > TOLD_MAX:
            del self._told[next(iter(self._told))]

    def _waits(self, attempt: Attempt, story: PodStory) -> bool:
        if attempt.is_over or attempt.bound is None:
            return False
        if "Node" in self.watched and attempt.node is None:
            return True
        if "ResourceClaim" in self.watched and attempt.held.unknown_claims:
            return True
        return any(
            text_at(owner, "kind") in self.watched
            and text_at(owner, "uid") not in self.cluster.known
            for owner in owners_of(story.value)[:1]
        )

    def _tidy(self, attempt: Attempt, story: PodStory) -> None:
        """Keep of what was told the latest row only."""
        del story.rows[:-1]
        if attempt.node is not None:
            del attempt.node.rows[:-1]
        for uid in attempt.uids:
            if uid in self.cluster.owners:
                del self.cluster.owners[uid].rows[:-1]

    def _forget(self, uid: str) -> None:
        self._changed.pop(uid, None)
        self.cluster.pods.pop(uid, None)
        self.cluster.events.pop(uid, None)


_PLACE = Place("watch")


def _standing(node: Json) -> list[Any]:
    """Give what a node says beside its heartbeat."""
    ready = [
        (each.get("status"), each.get("lastTransitionTime"))
        for each in items_at(node, "status", "conditions")
        if each.get("type") == "Ready"
    ]
    return [uid_of(node), labels_of(node), node.get("spec"), ready]
