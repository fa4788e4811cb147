"""Polling a cluster's accounting into a store, again and again, without losing a row.

A poll asks for all rows since the last one, with an overlap for those that come late, and for
every row of the jobs whose end was not known yet. Only when all of it is in the log does the
next poll begin later, so a poll that fails or is stopped costs nothing but time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import msgspec

from tallystick.app.admit import Admission, OnBatch, admit_collected, clock_us
from tallystick.app.errors import PollStartMissingError
from tallystick.app.poll_state import PollState, load_state, save_state, state_file
from tallystick.app.store import OpenStore
from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.slurm.attempts import partly_shown, row_producer
from tallystick.collectors.slurm.collect import KeyedRows, collect_rows, keyed_rows
from tallystick.collectors.slurm.join import recorded_hooks
from tallystick.collectors.slurm.live.changes import Compared, Seen, compare, open_jobs
from tallystick.collectors.slurm.live.errors import PollFailedError
from tallystick.collectors.slurm.options import SlurmOptions
from tallystick.collectors.slurm.row import JobRow
from tallystick.core.finding import InputFinding
from tallystick.core.instant import DAY_US, SECOND_US
from tallystick.emit.slurm.call import HOOK_PRODUCER
from tallystick.evidence.leaf import identity_key, leaf_record
from tallystick.stores.protocol import Reading

OVERLAP_US_MIN: Final = 3600 * SECOND_US
SLACK_US: Final = 60 * SECOND_US
"""How far ahead the window reaches, for a cluster whose clock is ahead of ours."""
_HOOKS_KEPT_US: Final = 7 * DAY_US


class Accounting(Protocol):
    """Where rows come from: sacct, or slurmrestd."""

    def window(self, from_us: int, to_us: int) -> Source:
        """Give every row that overlaps a window."""
        ...

    def jobs(self, job_ids: Sequence[str], to_us: int) -> list[Source]:
        """Give every row of some jobs."""
        ...


@dataclass(frozen=True, slots=True)
class Poller:
    """Polls one cluster into one store.

    Args:
        store: Where to.
        accounting: Where rows come from.
        options_at: Gives the declared facts about the cluster, as of a moment.
        cluster: Name of the cluster.
        start_us: Where the first poll begins; None if there was one before.
        overlap_us: How far each poll reaches back before the last one.
    """

    store: OpenStore
    accounting: Accounting
    options_at: Callable[[int], SlurmOptions]
    cluster: str
    start_us: int | None
    overlap_us: int

    def poll(self, on_batch: OnBatch = lambda _: None) -> Admission:
        """Ask once, and put everything into the log.

        Raises:
            PollStartMissingError: there was no poll before, and no start is given.
            PollFailedError: there was no answer, and nothing was collected.
            TallystickError: the store cannot take more.
        """
        path = state_file(self.store.folder.path, self.cluster)
        state, findings = load_state(path)
        now_us = clock_us()
        from_us = self._from_us(state, now_us)
        with self.store.log.reading() as log:
            _find_hooks(log, state, self.cluster, now_us)
        options = self.options_at(now_us)
        sources = self._ask(state, from_us, now_us + SLACK_US, options)
        keyed = collect_rows(sources, options, state.hooks.values())
        with self.store.log.reading() as log:
            recorded = _recorded(log, state.seen, keyed.rows, options)
        compared = compare(
            state.seen, keyed.rows, recorded, from_s=from_us // SECOND_US, options=options
        )
        collected = _to_deliver(keyed, compared, findings)
        admission = admit_collected(self.store.log, collected, "slurm", on_batch)
        _forget_joined(state, keyed)
        save_state(path, PollState(now_us, compared.seen, state.hooks, state.leaf))
        return admission

    def _from_us(self, state: PollState, now_us: int) -> int:
        if state.cursor_us is not None:  # A clock that was set back must not turn the window.
            return max(0, min(state.cursor_us, now_us) - self.overlap_us)
        if self.start_us is None:
            raise PollStartMissingError(self.cluster)
        return self.start_us

    def _ask(
        self, state: PollState, from_us: int, to_us: int, options: SlurmOptions
    ) -> list[Source]:
        window = self.accounting.window(from_us, to_us)
        rows = keyed_rows([window], options)
        shown = {key for _, key in rows}
        waiting = {hook.job_id for hook in state.hooks.values()}
        cut = {row.job_id for row, _ in partly_shown(row for row, _ in rows)}
        # What began before it was submitted goes on after a resize, which may lie further back.
        cut |= {row.job_id for row, _ in rows if (row.start_s or row.submit_s) < row.submit_s}
        jobs = sorted({*open_jobs(state.seen, shown), *waiting, *cut})
        return [window, *(self.accounting.jobs(jobs, to_us) if jobs else ())]


def _find_hooks(log: Reading, state: PollState, cluster: str, now_us: int) -> None:
    """Look through what is new in the log for attempts that hooks told of."""
    first = state.leaf if state.leaf <= log.size else 0
    mark = HOOK_PRODUCER.encode()
    told: list[dict[str, Any]] = [
        msgspec.json.decode(leaf_record(leaf))
        for leaf in log.leaves(first, log.size)
        if mark in leaf
    ]
    for hook in recorded_hooks(told, cluster):
        state.hooks[hook.key] = hook
    for key, hook in list(state.hooks.items()):
        if hook.moment_us < now_us - _HOOKS_KEPT_US:
            del state.hooks[key]
    state.leaf = log.size


def _forget_joined(state: PollState, keyed: KeyedRows) -> None:
    for record in keyed.collected.records:
        if record["kind"] == "attempt.same":
            state.hooks.pop(record["body"]["attempt"], None)


def _recorded(
    log: Reading,
    seen: Mapping[str, Seen],
    rows: Sequence[tuple[JobRow, str]],
    options: SlurmOptions,
) -> dict[str, dict[str, Any]]:
    """Give the rows that earlier polls recorded of these attempts, by the id of their records."""
    keys = {
        identity_key(row_producer(row, options), seen[key].record): seen[key].record
        for row, key in rows
        if key in seen
    }
    return {
        keys[identity]: msgspec.json.decode(leaf_record(leaf))["body"]["raw"]
        for identity, number in log.find(list(keys)).items()
        for leaf in log.leaves(number, number + 1)
    }


def _to_deliver(keyed: KeyedRows, compared: Compared, findings: list[InputFinding]) -> Collected:
    """Put together what a poll has to say.

    Lines of an answer that nobody kept are not named, so that a finding stays the same one from
    poll to poll; and that a poll gave nothing is how it should be between two jobs.
    """
    records = [each for each in keyed.collected.records if each["id"] not in compared.repeated]
    told = [
        replace(each, line=None)
        for each in keyed.collected.findings
        if each.code != "nothing_collected"
    ]
    return Collected([*records, *compared.corrections], [*findings, *told])


def poll_on(
    poller: Poller,
    *,
    every_s: float,
    wait: Callable[[float], bool],
    on_poll: Callable[[Admission], None],
    say: Callable[[str], None],
) -> None:
    """Poll until the wait is ended; a poll that fails is told once and tried again.

    A finding that the poll before had already is not told again.

    Args:
        poller: What to poll.
        every_s: Seconds between polls.
        wait: Waits some seconds; True ends it all.
        on_poll: Told of each poll that was answered.
        say: Told what goes wrong, and when it is well again.
    """
    failures = 0
    pause_s = 0.0
    told: set[InputFinding] = set()
    while not wait(pause_s):
        pause_s = every_s
        try:
            admission = poller.poll()
        except PollFailedError as error:
            if failures == 0:
                say(str(error))
            failures += 1
        else:
            if failures:
                say(f"answered again after {failures} failed polls")
            failures = 0
            found = admission.findings
            admission.findings = [each for each in found if each not in told]
            told = set(found)
            on_poll(admission)
