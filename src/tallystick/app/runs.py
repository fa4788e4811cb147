"""The runs in a store: what the log knows of each, before any contract."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tallystick.app.errors import RunNotFoundError
from tallystick.app.store import OpenStore
from tallystick.app.stored_receipts import Issue, issues
from tallystick.evidence.admission import admit_leaves
from tallystick.timeline.attempt import Attempt, build_attempt
from tallystick.timeline.grouping import RunRecords, group_records


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run: its attempts in order of time, how many records of each kind, its receipts."""

    run: str
    attempts: tuple[Attempt, ...]
    records: Mapping[str, int]
    issues: tuple[Issue, ...]


def list_runs(store: OpenStore) -> tuple[StoredRun, ...]:
    """Give every run in the store, in order of its id.

    Raises:
        TallystickError: the store cannot be read.
    """
    with store.log.reading() as log:
        evidence = admit_leaves(log.leaves(0, log.size))
        found = group_records(evidence.records).runs
        return tuple(_stored_run(each, tuple(issues(log, each.run))) for each in found)


def find_run(store: OpenStore, run: str) -> StoredRun:
    """Give one run.

    Raises:
        RunNotFoundError: the evidence does not name it.
        TallystickError: the store cannot be read.
    """
    runs = list_runs(store)
    for each in runs:
        if each.run == run:
            return each
    raise RunNotFoundError(run, tuple(each.run for each in runs))


def _stored_run(records: RunRecords, issued: tuple[Issue, ...]) -> StoredRun:
    attempts = (build_attempt(each) for each in records.attempts if each.started)
    of_attempts = (record for each in records.attempts for record in each.all)
    kinds = Counter(record.kind for record in (*records.own, *of_attempts))
    return StoredRun(
        run=records.run,
        attempts=tuple(sorted(attempts, key=lambda each: (each.start_us, each.key))),
        records=dict(sorted(kinds.items())),
        issues=issued,
    )
