"""What a metadata service answered, recognised by content.

A notice says that a machine will be taken. Other things that providers announce (that it may be,
that it will stand still for a while) are kept as signals and are no notices: counting them would
lengthen the warning that a customer is said to have had. How long a provider promises to wait is
never read as how long it waited.
"""

import re
from collections.abc import Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from tallystick.collectors.collected import Place, Source
from tallystick.collectors.json_text import NotJsonError, part, read_json
from tallystick.collectors.kubernetes.nodes import PROVIDER, signals_of
from tallystick.collectors.local_time import epoch_s
from tallystick.core.errors import BadInstantError
from tallystick.core.finding import InputFinding
from tallystick.core.instant import SECOND_US, parse_rfc3339

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")
_GCP_NOTHING = frozenset({"FALSE", "NONE"})
_GCP_WORDS = {
    "TRUE": ("preempted", True),
    "TERMINATE_ON_HOST_MAINTENANCE": ("maintenance-event", True),
    "MIGRATE_ON_HOST_MAINTENANCE": ("maintenance-event", False),
}
_AWS_WARNING = "EC2 Spot Instance Interruption Warning"
_AWS_REBALANCE = "EC2 Instance Rebalance Recommendation"


class Announced(NamedTuple):
    """Something that a provider announced.

    ``is_notice`` tells the taking of the machine from other things; ``at_us`` is when it was
    announced if the document says so; ``resources`` are the machines that it names.
    """

    provider: str
    signal: str
    is_notice: bool
    raw: dict[str, Any]
    place: Place
    at_us: int | None = None
    deadline_us: int | None = None
    resources: tuple[str, ...] = ()


def read_announced(source: Source) -> Iterator[Announced | InputFinding]:
    """Give what an input announces; an answer that there is nothing gives nothing."""
    text = source.data.decode(errors="replace").removeprefix("\ufeff").strip()
    place = source.place
    word = text.strip('"').upper()
    if word in _GCP_NOTHING:
        return
    if word in _GCP_WORDS:
        signal, is_notice = _GCP_WORDS[word]
        yield Announced("gcp", signal, is_notice, {"value": word}, place)
    elif _TIME.fullmatch(text):
        deadline_us = _rfc3339(text)
        yield Announced(
            provider="aws",
            signal="spot/termination-time",
            is_notice=True,
            raw={"value": text},
            place=place,
            deadline_us=deadline_us,
        )
    elif text.startswith("{"):
        yield from _read_document(text, place)
    else:
        message = f"expected an answer of a metadata service, got {text[:40]!r}"
        yield place.finding("unrecognised_input", message)


def _read_document(text: str, place: Place) -> Iterator[Announced | InputFinding]:
    try:
        value, rest = read_json(text)
    except NotJsonError as error:
        yield place.finding("bad_json", str(error))
        return
    if rest:
        yield place.finding("trailing_text", f"ignored {rest[:40]!r} after the document")
    events = value.get("Events")
    if isinstance(events, list):
        yield from _azure([event for event in events if isinstance(event, dict)], place)
    elif isinstance(value.get("action"), str) and "time" in value:
        yield _aws_action(value, place)
    elif "noticeTime" in value:
        signal = "events/recommendations/rebalance"
        at_us = _rfc3339(value["noticeTime"])
        yield Announced("aws", signal, is_notice=False, raw=value, place=place, at_us=at_us)
    elif value.get("detail-type") in (_AWS_WARNING, _AWS_REBALANCE):
        yield _aws_event(value, place)
    elif value.get("kind") == "Node":
        yield from _kubernetes_node(value, place)
    else:
        found = ", ".join(sorted(value)[:5]) or "an empty object"
        message = f"expected an answer of a metadata service, got {found[:80]!r}"
        yield place.finding("unrecognised_input", message)


def _aws_action(value: dict[str, Any], place: Place) -> Announced:
    return Announced(
        provider="aws",
        signal="spot/instance-action",
        is_notice=True,
        raw=value,
        place=place,
        deadline_us=_rfc3339(value["time"]),
    )


def _aws_event(value: dict[str, Any], place: Place) -> Announced:
    """Read an event of the bus: it says when it was sent, and no deadline."""
    instance = part(value, "detail", "instance-id")
    is_notice = value["detail-type"] == _AWS_WARNING
    resources = (instance,) if isinstance(instance, str) else ()
    at_us, signal = _rfc3339(value.get("time")), str(value["detail-type"])
    return Announced("aws", signal, is_notice, value, place, at_us, None, resources)


def _kubernetes_node(node: dict[str, Any], place: Place) -> Iterator[Announced]:
    """Read the marks of a cluster's node, on which Slurm may run as pods do.

    There the requeue of a job does not say why; the mark on its node does. The node has another
    name to Slurm, so which one is meant is the caller's to say.
    """
    for mark in signals_of(node):
        yield Announced(
            provider="kubernetes",
            signal=mark.name,
            is_notice=mark.by == PROVIDER,
            raw={"node": part(node, "metadata", "name"), "mark": mark.name},
            place=place,
            at_us=mark.at_us,
        )


def _azure(events: list[dict[str, Any]], place: Place) -> Iterator[Announced]:
    for event in events:
        kind = event.get("EventType")
        is_taken = kind == "Preempt" or (kind == "Terminate" and event.get("EventSource") != "User")
        names = event.get("Resources")
        resources = tuple(
            name for name in (names if isinstance(names, list) else ()) if isinstance(name, str)
        )
        yield Announced(
            provider="azure",
            signal=f"scheduledevents/{kind}",
            is_notice=is_taken and event.get("EventStatus") in ("Scheduled", "Started"),
            raw=event,
            place=place,
            deadline_us=_not_before(event.get("NotBefore")),
            resources=resources,
        )


def _not_before(value: Any) -> int | None:
    """Read a time as mail has it, or as RFC 3339; an event that began has none."""
    if not isinstance(value, str) or not value.strip():
        return None
    at_us = _rfc3339(value)
    if at_us is not None:
        return at_us
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        seconds = epoch_s(moment)
    except OverflowError:
        return None
    return seconds * SECOND_US if seconds > 0 else None


def _rfc3339(value: Any) -> int | None:
    try:
        return parse_rfc3339(value) if isinstance(value, str) else None
    except BadInstantError:
        return None
