"""What changed between two polls: rows that were final and differ, and rows that are gone.

Nothing is overwritten. A changed row is recorded beside the old one, and a correction names
both; of a row that is gone a correction says that. One poll without a row proves nothing: the
database may have been busy, so a row is lost when two polls in a row, a minute apart, should
have shown it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tallystick.collectors.slurm.options import SlurmOptions
from tallystick.collectors.slurm.row import JobRow
from tallystick.core.instant import SECOND_US
from tallystick.evidence.draft import draft_record

LOST_S: Final = 60
"""How long a row must be missing: just after its end a window may not show it for a second."""


class Seen(NamedTuple):
    """A row as the last poll saw it.

    ``record`` is the id of its ``allocation.row``; ``end_s`` is None while it is not final;
    ``missing_s`` is when a poll first did not show it, None while all do.
    """

    record: str
    job_id: str
    submit_s: int
    end_s: int | None
    missing_s: int | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """Corrections to record, and what to compare the next poll with."""

    corrections: tuple[dict[str, Any], ...]
    seen: dict[str, Seen]


def see_row(row: JobRow, record: str) -> Seen:
    """Keep what has to be known of a row; it is final with a last state and a known end."""
    is_final = row.state.is_terminal and row.end_s is not None
    return Seen(record, row.job_id, row.submit_s, row.end_s if is_final else None)


def open_jobs(seen: Mapping[str, Seen]) -> list[str]:
    """Name the jobs of which a row is not final, or was missing."""
    return sorted({each.job_id for each in seen.values() if each.end_s is None or each.missing_s})


def compare(
    before: Mapping[str, Seen],
    rows: Sequence[tuple[JobRow, str]],
    records: Mapping[str, str],
    *,
    from_s: int,
    options: SlurmOptions,
) -> Compared:
    """Compare a poll with the one before.

    Args:
        before: What was seen, by attempt key.
        rows: The rows of this poll with their keys; none at all is no answer to anything.
        records: Id of the ``allocation.row`` of each key in this poll.
        from_s: Start of the window; older final rows are not looked at any more.
        options: Declared facts about the cluster.
    """
    now_s = options.observed_us // SECOND_US
    now = {key: see_row(row, records[key]) for row, key in rows}
    corrections = [
        _correction(key, before[key], now[key].record, options)
        for key in now
        if key in before and before[key].end_s is not None and before[key].record != now[key].record
    ]
    seen = {key: each for key, each in now.items() if _is_of_interest(each, from_s)}
    for key, each in before.items():
        if key in now or not _is_of_interest(each, from_s):
            continue
        if not rows:
            seen[key] = each
        elif each.missing_s is None:
            seen[key] = each._replace(missing_s=now_s)
        elif now_s - each.missing_s < LOST_S:
            seen[key] = each
        elif not _went_on(each, now.values()):
            corrections.append(_correction(key, each, None, options))
    return Compared(tuple(corrections), seen)


def _is_of_interest(seen: Seen, from_s: int) -> bool:
    return seen.end_s is None or seen.end_s >= from_s


def _went_on(seen: Seen, rows: Iterable[Seen]) -> bool:
    """Tell whether a pending row is gone because its job was submitted anew (B3)."""
    return seen.end_s is None and any(
        each.job_id == seen.job_id and each.submit_s > seen.submit_s for each in rows
    )


def _correction(key: str, was: Seen, now: str | None, options: SlurmOptions) -> dict[str, Any]:
    body = {
        "scheduler": "slurm",
        "cluster": options.cluster,
        "attempt": key,
        "was": was.record,
        "now": now,
        "reason": "the row is gone" if now is None else "the row was final and has changed",
    }
    return draft_record(
        "allocation.correction",
        body,
        producer=f"slurm-poll/{options.cluster}",
        at_us=None,
        observed_us=options.observed_us,
    )
