"""From the events of a task to its attempts: each stretch of RUNNING is one.

What the controller wrote it found by polling, so an end is when it noticed. A recovery of the
controller itself says nothing of the machines, which may have gone on: the attempt does too.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tallystick.collectors.skypilot.values import read_epoch_us

RUNNING = frozenset({"RUNNING", "WINDING_DOWN", "CANCELLING"})
_OPENS = "RUNNING"
_RECOVERING = "RECOVERING"
_OWN_SOURCES = frozenset({"EMERGENCY", "HA", "RESTART"})
_BEGINS = frozenset({"PENDING", "SUBMITTED", "STARTING"})
ENDED_BY = {
    "SUCCEEDED": "completed",
    "CANCELLED": "user",
    "FAILED": "user",
    "FAILED_SETUP": "user",
    "FAILED_PRECHECKS": "unknown",
    "FAILED_NO_RESOURCE": "unknown",
    "FAILED_CONTROLLER": "unknown",
}


class Event(NamedTuple):
    """A change of a task's status, and its place among those of one moment."""

    at_us: int
    number: int
    status: str
    source: str = ""


class Stretch(NamedTuple):
    """A stretch of RUNNING; an end of None is open, ``state`` is what ended it."""

    start_us: int
    end_us: int | None = None
    state: str | None = None

    @property
    def ended_by(self) -> str:
        """Name whose act the end was; a recovery does not say whether it was taken or broke."""
        return ENDED_BY.get(self.state or "", "unknown")


class Story(NamedTuple):
    """The attempts of a task, and what is not known of them."""

    stretches: tuple[Stretch, ...]
    is_incomplete: bool = False
    own_recoveries: int = 0


class Task(NamedTuple):
    """What the row of a task says of its time."""

    status: str
    start_us: int | None
    end_us: int | None
    recovered_us: int | None
    recovery_count: int


def read_story(task: Task, events: Sequence[Event]) -> Story:
    """Give the attempts of a task.

    The row's own start and end count for the first and the last attempt: they are never cleaned
    up, as events are.
    """
    if not events:
        return _without_events(task)
    stretches = list(_stretches(events))
    own = sum(event.status == _RECOVERING and event.source in _OWN_SOURCES for event in events)
    is_incomplete = _is_cut(task, events)
    if stretches and task.start_us is not None and not is_incomplete:
        first = stretches[0]
        if first.end_us is None or task.start_us <= first.end_us:
            stretches[0] = first._replace(start_us=task.start_us)
    if stretches and task.status in ENDED_BY and task.end_us is not None:
        last = stretches[-1]
        if last.end_us is None or last.state in ENDED_BY:
            stretches[-1] = last._replace(end_us=task.end_us, state=task.status)
    return Story(tuple(stretches), is_incomplete, own)


def _stretches(events: Iterable[Event]) -> Iterator[Stretch]:
    start_us: int | None = None
    for event in events:
        goes_on = event.status in RUNNING or (
            event.status == _RECOVERING and event.source in _OWN_SOURCES
        )
        if start_us is None and event.status == _OPENS:
            start_us = event.at_us
        elif start_us is not None and not goes_on:
            yield Stretch(start_us, event.at_us, event.status)
            start_us = None
    if start_us is not None:
        yield Stretch(start_us)


def _is_cut(task: Task, events: Sequence[Event]) -> bool:
    """Tell whether events are gone: they begin in the middle, or show too few recoveries."""
    shown = sum(
        event.status == _RECOVERING and event.source not in _OWN_SOURCES for event in events
    )
    return events[0].status not in _BEGINS or task.recovery_count > shown


def _without_events(task: Task) -> Story:
    """Give the only stretch of a task that never recovered, else the latest."""
    end_us = task.end_us if task.status in ENDED_BY else None
    state = task.status if end_us is not None else None
    if task.start_us is None:
        return Story(())
    has_recovered = task.recovery_count > 0 or (
        task.recovered_us is not None and task.recovered_us > task.start_us
    )
    if not has_recovered:
        is_over = task.status in RUNNING or end_us is not None
        return Story((Stretch(task.start_us, end_us, state),), is_incomplete=not is_over)
    if task.recovered_us is None:
        return Story((), is_incomplete=True)
    return Story((Stretch(task.recovered_us, end_us, state),), is_incomplete=True)


def make_task(row: dict[str, Any]) -> Task:
    """Put together what the row of a task says."""
    status, count = row.get("status"), row.get("recovery_count")
    return Task(
        status=status if isinstance(status, str) else "",
        start_us=read_epoch_us(row.get("start_at")),
        end_us=read_epoch_us(row.get("end_at")),
        recovered_us=read_epoch_us(row.get("last_recovered_at")),
        recovery_count=count if type(count) is int else 0,
    )
