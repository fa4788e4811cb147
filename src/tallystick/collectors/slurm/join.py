"""Hook calls to records, and hook attempts joined to the rows that know them by submit time.

A hook knows its attempt by job, node and time, accounting by job and submit time. Where the
rows of the same call show exactly one attempt that held the node at that moment, an
``attempt.same`` record says so; where they show several, a finding does, and nothing is joined.
Hooks are known by dumps of their environments, or by the records that they wrote themselves.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tallystick.collectors.collected import Place
from tallystick.collectors.slurm.attempts import Attempt, Output, gpu_type_message, stated
from tallystick.collectors.slurm.hooks import HookCall
from tallystick.collectors.slurm.options import SlurmOptions
from tallystick.core.finding import InputFinding
from tallystick.core.instant import SECOND_US, parse_instant
from tallystick.emit.slurm.call import HOOK_PRODUCER
from tallystick.evidence.draft import draft_record

SLACK_US = 120 * SECOND_US
_KEY = re.compile(r"slurm:([^\s:]+):([0-9]+)@[^\s:]+:([0-9]+)")
NOWHERE = Place("evidence")


@dataclass(frozen=True, slots=True)
class HookKey:
    """An attempt as a node's hooks know it, and a moment at which it held the node (r22)."""

    key: str
    job_id: str
    moment_us: int
    place: Place


@dataclass(frozen=True, slots=True)
class HookAttempt:
    """What the calls of one job on one node say about one attempt, in order of time."""

    key: str
    calls: tuple[HookCall, ...]

    @property
    def prologs(self) -> tuple[HookCall, ...]:
        """Give the calls that start the attempt."""
        return tuple(call for call in self.calls if call.phase == "prolog")

    @property
    def epilogs(self) -> tuple[HookCall, ...]:
        """Give the calls that end it."""
        return tuple(call for call in self.calls if call.phase == "epilog")

    @property
    def known(self) -> HookKey:
        """Give what the attempt is joined by."""
        first = (self.prologs or self.calls)[0]
        moment_us = first.observed_us
        if first.phase != "prolog" and first.start_s is not None:
            moment_us = first.start_s * SECOND_US
        return HookKey(self.key, first.job_id, moment_us, self.calls[0].place)


def recorded_hooks(records: Iterable[Mapping[str, Any]], cluster: str) -> list[HookKey]:
    """Give the attempts that hooks wrote records of, each once: by their prolog if there is one.

    Args:
        records: Admitted records of any producer.
        cluster: The cluster whose attempts are wanted.
    """
    found: dict[str, HookKey] = {}
    kinds = ("allocation.ended", "allocation.started")  # What the prolog saw counts, so it is last.
    hooks = [each for each in records if each["producer"]["name"].startswith(HOOK_PRODUCER)]
    for record in sorted(
        (each for each in hooks if each["kind"] in kinds),
        key=lambda each: kinds.index(each["kind"]),
    ):
        match = _KEY.fullmatch(record["body"]["attempt"])
        if match is None or match[1] != cluster:
            continue
        key = match[0]
        moment_us = int(match[3]) * SECOND_US
        if record["kind"] == "allocation.started":
            moment_us = parse_instant(record["observed"])
        found[key] = HookKey(key, match[2], moment_us, NOWHERE)
    return list(found.values())


def group_calls(
    calls: Iterable[HookCall], cluster: str
) -> tuple[list[HookAttempt], list[InputFinding]]:
    """Give each call to its attempt.

    The key has the start that the environment states, else the time of the prolog; an epilog
    without a stated start belongs to the latest earlier prolog of its job and node (r18).
    """
    attempts: dict[str, list[HookCall]] = {}
    findings = []
    latest: dict[tuple[str, str], str] = {}
    order = {"prolog": 0, "epilog": 1}
    for call in sorted(calls, key=lambda call: (call.observed_us, order[call.phase])):
        place = (call.job_id, call.node)
        if call.start_s is None and call.phase == "epilog":
            key = latest.get(place)
        else:
            start_s = call.observed_us // SECOND_US if call.start_s is None else call.start_s
            key = f"slurm:{cluster}:{call.job_id}@{call.node}:{start_s}"
        if key is None:
            message = f"epilog of job {call.job_id} on {call.node} has no earlier prolog: no end"
            findings.append(call.place.finding("epilog_without_prolog", message))
            continue
        if call.phase == "prolog":
            latest[place] = key
        attempts.setdefault(key, []).append(call)
    return [HookAttempt(key, tuple(calls)) for key, calls in attempts.items()], findings


def merge_attempts(attempts: Iterable[Attempt]) -> dict[str, list[Attempt]]:
    """Give the attempts of each job, each once however many rows show it."""
    merged: dict[str, Attempt] = {}
    for attempt in attempts:
        known = merged.get(attempt.key, attempt)
        ends = [end_s for end_s in (known.end_s, attempt.end_s) if end_s is not None]
        merged[attempt.key] = replace(
            known,
            start_s=min(known.start_s, attempt.start_s),
            end_s=min(ends, default=None),
            gpu_type=known.gpu_type or attempt.gpu_type,
        )
    by_job: dict[str, list[Attempt]] = {}
    for attempt in merged.values():
        by_job.setdefault(attempt.job_id, []).append(attempt)
    return by_job


def candidates(moment_us: int, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Give the attempts that contain a moment; with slack only if none does without (r22).

    A row has whole seconds, so its own second comes before any real slack: otherwise an attempt
    of no second's length could not be told from the one before it.
    """
    for slack_us in (0, SECOND_US, SLACK_US):
        found = [attempt for attempt in attempts if _contains(attempt, moment_us, slack_us)]
        if found:
            return found
    return []


def _contains(attempt: Attempt, moment_us: int, slack_us: int) -> bool:
    if moment_us < attempt.start_s * SECOND_US - slack_us:
        return False
    return attempt.end_s is None or moment_us <= attempt.end_s * SECOND_US + slack_us


def describe_hooks(
    hook: HookAttempt, rows: Sequence[Attempt], options: SlurmOptions
) -> Iterator[Output]:
    """Give the records and findings of one hook attempt.

    Args:
        hook: The attempt with its calls.
        rows: The attempts that rows of the call show for its job.
        options: Declared facts about the cluster.
    """
    found = candidates(hook.known.moment_us, rows)
    row = found[0] if len(found) == 1 else None
    for prolog in hook.prologs:
        yield from _started(hook.key, prolog, row, options)
    if hook.epilogs:
        earliest, *others = hook.epilogs
        yield _ended(hook.key, earliest)
        for other in others:
            message = f"{hook.key}: the epilog ran again; the earliest one counts"
            yield other.place.finding("duplicate_hook", message)
    yield from join_hook(hook.known, rows, options)


def join_hook(hook: HookKey, rows: Sequence[Attempt], options: SlurmOptions) -> Iterator[Output]:
    """Say which row's attempt a hook's is, or why that is not known."""
    found = candidates(hook.moment_us, rows)
    if len(found) == 1:
        yield draft_record(
            "attempt.same",
            {"attempt": hook.key, "same_as": found[0].key},
            producer=f"slurm-join/{options.cluster}",
            at_us=None,
            observed_us=options.observed_us,
        )
    elif found:
        keys = " and ".join(sorted(attempt.key for attempt in found))
        message = f"{hook.key}: fits {keys}, so it is joined to none"
        yield hook.place.finding("ambiguous_join", message)
    elif rows:
        message = f"{hook.key}: lies in no attempt that the rows of its job show"
        yield hook.place.finding("hook_not_joined", message)


def _started(
    key: str, call: HookCall, row: Attempt | None, options: SlurmOptions
) -> Iterator[Output]:
    if not call.uuids and call.gpu_count is None:
        message = f"{key}: the environment names no GPU, so the start is withheld"
        yield call.place.finding("gpu_count_unknown", message)
        return
    gpu_type = row.gpu_type if row else None
    gpu_type = gpu_type or options.gpu_type_of(call.partition)
    if gpu_type is None:
        yield call.place.finding("gpu_type_unknown", gpu_type_message(key, 0))
    gpus = [{"uuid": uuid, "node": call.node} for uuid in call.uuids]
    body: dict[str, Any] = {
        "attempt": key,
        "scheduler": "slurm",
        "cluster": options.cluster,
        "job_id": call.job_id,
        "nodes": [call.node],
        "gpus": gpus or None,
        "gpu_count": call.gpu_count,
        "gpu_type": gpu_type,
        "capacity": options.capacity_of(call.partition),
        "run": call.run,
    }
    at_us = call.observed_us if call.start_s is None else call.start_s * SECOND_US
    yield _record(call, "allocation.started", at_us, stated(body))


def _ended(key: str, call: HookCall) -> dict[str, Any]:
    # Its exit code says 0:0 of jobs that were killed, so it says nothing (r20).
    body = {"attempt": key, "ended_by": "unknown"}
    return _record(call, "allocation.ended", call.observed_us, body)


def _record(call: HookCall, kind: str, at_us: int, body: dict[str, Any]) -> dict[str, Any]:
    return draft_record(
        kind,
        body,
        producer=f"{HOOK_PRODUCER}{call.node}",
        at_us=at_us,
        observed_us=call.observed_us,
    )
