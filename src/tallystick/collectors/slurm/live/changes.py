"""What changed between two polls: rows that were final and differ, and rows that are gone.

Nothing is overwritten. A changed row is recorded beside the old one, and a correction names
both; of a row that is gone a correction says that. One poll without a row proves nothing: the
database may have been busy, so a row is lost when two polls in a row, a minute apart, should
have shown it. Two readings of a row differ only in fields that both have: another reader, or
another version of Slurm, offers others.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tallystick.collectors.slurm.attempts import row_record
from tallystick.collectors.slurm.options import SlurmOptions
from tallystick.collectors.slurm.row import JobRow
from tallystick.core.instant import SECOND_US
from tallystick.evidence.draft import draft_record

LOST_S: Final = 60
"""How long a row must be missing: just after its end a window may not show it for a second."""
_PASSING: Final = frozenset(
    ("Elapsed", "ElapsedRaw", "steps", "time.elapsed", "time.system", "time.total", "time.user")
)
"""What differs from poll to poll while nothing happens, and steps, which are no rows of jobs."""


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
    """Corrections to record, rows to leave out, and what to compare the next poll with.

    ``repeated`` are the ids of rows that are not final and say what the last poll has recorded.
    """

    corrections: tuple[dict[str, Any], ...]
    repeated: frozenset[str]
    seen: dict[str, Seen]


def see_row(row: JobRow, record: str) -> Seen:
    """Keep what has to be known of a row; it is final with a last state and a known end."""
    is_final = row.state.is_terminal and row.end_s is not None
    return Seen(record, row.job_id, row.submit_s, row.end_s if is_final else None)


def open_jobs(seen: Mapping[str, Seen], shown: Collection[str]) -> list[str]:
    """Name the jobs of which a row is not final or was missing, and is not shown by a window."""
    return sorted(
        {
            each.job_id
            for key, each in seen.items()
            if key not in shown and (each.end_s is None or each.missing_s is not None)
        }
    )


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """Give ``[was, now]`` of each field in which two readings differ; None if they share none."""
    names = sorted(was.keys() & now.keys())
    if not names:
        return None
    pairs = ((field, pair) for name in names for field, pair in _parts(name, was[name], now[name]))
    return {field: pair for field, pair in pairs if field not in _PASSING and pair[0] != pair[1]}


def _parts(name: str, was: Any, now: Any) -> Iterator[tuple[str, list[Any]]]:
    """Look one level into what JSON groups."""
    if isinstance(was, dict) and isinstance(now, dict):
        for inner in sorted(was.keys() | now.keys()):
            yield f"{name}.{inner}", [was.get(inner), now.get(inner)]
    else:
        yield name, [was, now]


def compare(
    before: Mapping[str, Seen],
    rows: Sequence[tuple[JobRow, str]],
    recorded: Mapping[str, Mapping[str, Any]],
    *,
    from_s: int,
    options: SlurmOptions,
) -> Compared:
    """Compare a poll with the one before.

    Args:
        before: What was seen, by attempt key.
        rows: The rows of this poll with their keys; none at all is no answer to anything.
        recorded: The rows that ``before`` names, by the id of their record.
        from_s: Start of the window; older final rows are not looked at any more.
        options: Declared facts about the cluster.
    """
    now: dict[str, Seen] = {}
    repeated = set()
    corrections = []
    for row, key in rows:
        was, is_now = before.get(key), see_row(row, row_record(row, options))
        raw = recorded.get(was.record) if was is not None else None
        changed = None if raw is None else differences(raw, row.raw)
        if was is not None and is_now.record != was.record:
            if was.end_s is not None and changed:
                corrections.append(_correction(key, was, is_now.record, changed, options))
            elif was.end_s is None and is_now.end_s is None and changed == {}:
                repeated.add(is_now.record)
                is_now = is_now._replace(record=was.record)
        now[key] = is_now
    seen = {key: each for key, each in now.items() if _is_of_interest(each, from_s)}
    missing, gone = _missing(before, now, from_s, options.observed_us // SECOND_US)
    corrections += [_correction(key, before[key], None, None, options) for key in gone]
    return Compared(tuple(corrections), frozenset(repeated), seen | missing)


def _missing(
    before: Mapping[str, Seen], now: Mapping[str, Seen], from_s: int, now_s: int
) -> tuple[dict[str, Seen], list[str]]:
    """Find rows that a poll should have shown: those to wait for, and the keys of the lost."""
    waited: dict[str, Seen] = {}
    gone = []
    for key, each in before.items():
        if key in now or not _is_of_interest(each, from_s):
            continue
        if not now:
            waited[key] = each
        elif each.missing_s is None:
            waited[key] = each._replace(missing_s=now_s)
        elif now_s - each.missing_s < LOST_S:
            waited[key] = each
        elif not _went_on(each, now.values()):
            gone.append(key)
    return waited, gone


def _is_of_interest(seen: Seen, from_s: int) -> bool:
    return seen.end_s is None or seen.end_s >= from_s


def _went_on(seen: Seen, rows: Iterable[Seen]) -> bool:
    """Tell whether a pending row is gone because its job was submitted anew (B3)."""
    return seen.end_s is None and any(
        each.job_id == seen.job_id and each.submit_s > seen.submit_s for each in rows
    )


def _correction(
    key: str,
    was: Seen,
    now: str | None,
    changed: dict[str, list[Any]] | None,
    options: SlurmOptions,
) -> dict[str, Any]:
    body = {
        "scheduler": "slurm",
        "cluster": options.cluster,
        "attempt": key,
        "was": was.record,
        "now": now,
        "reason": "the row is gone" if now is None else "the row was final and has changed",
        "changed": changed,
    }
    return draft_record(
        "allocation.correction",
        body,
        producer=f"slurm-poll/{options.cluster}",
        at_us=None,
        observed_us=options.observed_us,
    )
