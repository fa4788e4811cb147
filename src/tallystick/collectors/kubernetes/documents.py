"""Inputs become things seen: versions of objects, and dumps of what the kubelet gave to pods.

An input is one JSON document (an object, a list of objects, a dump), several after another, or
one a line, such as the events of a watch. Its content says which, never its name.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tallystick.collectors.collected import Place, Source
from tallystick.collectors.json_text import NotJsonError, part, read_json
from tallystick.collectors.kubernetes.objects import Json, items_at, kind_of, text_at, time_at
from tallystick.core.finding import InputFinding

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
ERROR, BOOKMARK = "ERROR", "BOOKMARK"
_WANTED = "API objects of kubectl -o json, watch events, or a dump of pod resources"


class Seen(NamedTuple):
    """A version of an object: what happened to it, and when it was seen, if that is known."""

    event: str
    value: Json
    place: Place
    seen_us: int | None = None


class Given(NamedTuple):
    """What the kubelet of a node said of one pod: the ids of its devices, and when it was asked."""

    namespace: str
    name: str
    node: str | None
    read_us: int | None
    devices: tuple[tuple[str, str], ...]
    place: Place


Read = Seen | Given | InputFinding


def read_source(source: Source) -> Iterator[Read]:
    """Give what an input holds."""
    text = source.data.decode(errors="replace").removeprefix("\ufeff")
    place = source.place
    if not text.strip():
        yield place.finding("unrecognised_input", f"expected {_WANTED}, got an empty input")
        return
    head, _, tail = text.lstrip().partition("\n")
    if tail.strip() and _is_whole(head):
        yield from _read_lines(source)
        return
    rest = text
    while rest:
        try:
            value, rest = read_json(rest)
        except NotJsonError as error:
            yield place.finding("bad_json", str(error))
            return
        yield from _read_value(value, place)


def _is_whole(line: str) -> bool:
    try:
        value, rest = read_json(line)
    except NotJsonError:
        return False
    return isinstance(value, dict) and not rest


def _read_lines(source: Source) -> Iterator[Read]:
    for place, line in source.lines():
        try:
            value, rest = read_json(line.decode(errors="replace").removeprefix("\ufeff"))
        except NotJsonError as error:
            yield place.finding("bad_line", str(error))
            continue
        if rest:
            yield place.finding("trailing_text", f"ignored {rest[:40]!r} after the object")
        yield from _read_value(value, place)


def _read_value(value: Any, place: Place) -> Iterator[Read]:
    if isinstance(value, dict):
        yield from read_object(value, place)
    else:
        message = f"expected {_WANTED}, got {type(value).__name__}"
        yield place.finding("unrecognised_input", message)


def read_object(
    value: Json, place: Place, event: str = ADDED, seen_us: int | None = None
) -> Iterator[Read]:
    """Give the objects in a JSON object: itself, those of a list, that of an event, or a dump."""
    inner = value.get("object")
    kind = kind_of(value)
    if isinstance(value.get("type"), str) and isinstance(inner, dict) and not kind:
        event = str(value["type"])
        if event != BOOKMARK:
            yield from read_object(inner, place, event, time_at(value, "seen"))
    elif kind.endswith("List") and isinstance(value.get("items"), list):
        for item in items_at(value, "items"):
            yield from read_object(_typed(item, value, kind), place, event, seen_us)
    elif kind == "Status":
        message = text_at(value, "message") or text_at(value, "reason") or "no message"
        yield place.finding("source_error", f"the API answered: {message}")
    elif isinstance(part(value, "metadata"), dict) and kind:
        yield Seen(event, value, place, seen_us)
    elif "podResources" in value or "pod_resources" in value:
        yield from _read_dump(value, place)
    else:
        found = ", ".join(sorted(value)[:5]) or "an empty object"
        yield place.finding("unrecognised_input", f"expected {_WANTED}, got {found[:80]!r}")


def _typed(item: Json, whole: Json, kind: str) -> Json:
    """Say of an item what only its list says."""
    stated = {"kind": kind.removesuffix("List"), "apiVersion": whole.get("apiVersion")}
    known = {name: value for name, value in stated.items() if value}
    return known | item


def _read_dump(value: Json, place: Place) -> Iterator[Read]:
    pods = [*items_at(value, "podResources"), *items_at(value, "pod_resources")]
    for pod in pods:
        devices = tuple(
            (resource, device)
            for container in items_at(pod, "containers")
            for entry in items_at(container, "devices")
            for resource in [text_at(entry, "resourceName") or text_at(entry, "resource_name")]
            if resource is not None
            for device in _ids(entry)
        )
        name, namespace = text_at(pod, "name"), text_at(pod, "namespace")
        if name and namespace and devices:
            node, read_us = text_at(value, "node"), time_at(value, "read")
            yield Given(namespace, name, node, read_us, devices, place)


def _ids(entry: Json) -> list[str]:
    ids = entry.get("deviceIds", entry.get("device_ids", entry.get("deviceIDs")))
    return [each for each in ids if isinstance(each, str)] if isinstance(ids, list) else []
