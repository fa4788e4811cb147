"""Reading parts of API objects, whatever shape they have.

What is absent, or of another type than the API says, is None or empty; nothing here raises.
"""

from typing import Any

from tallystick.collectors.json_text import part
from tallystick.core.canonical import canonical_bytes, sha256_digest
from tallystick.core.errors import BadInstantError
from tallystick.core.instant import parse_rfc3339

Json = dict[str, Any]

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})


def text_at(value: Any, *path: str) -> str | None:
    """Give a text that is not empty."""
    found = part(value, *path)
    return found if isinstance(found, str) and found else None


def integer_at(value: Any, *path: str) -> int | None:
    """Give an integer; true and false are none."""
    found = part(value, *path)
    return found if type(found) is int else None


def time_at(value: Any, *path: str) -> int | None:
    """Give a time in microseconds."""
    text = text_at(value, *path)
    try:
        return None if text is None else parse_rfc3339(text)
    except BadInstantError:
        return None


def items_at(value: Any, *path: str) -> list[Json]:
    """Give the objects of a list."""
    found = part(value, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def texts_at(value: Any, *path: str) -> dict[str, str]:
    """Give the texts of an object, such as its labels."""
    found = part(value, *path)
    pairs = found.items() if isinstance(found, dict) else ()
    return {name: text for name, text in pairs if isinstance(text, str)}


def labels_of(value: Json) -> dict[str, str]:
    """Give the labels of an object."""
    return texts_at(value, "metadata", "labels")


def kind_of(value: Json) -> str:
    """Give the kind of an object, empty if it has none."""
    return text_at(value, "kind") or ""


def name_of(value: Json) -> str:
    """Give the name of an object, empty if it has none."""
    return text_at(value, "metadata", "name") or ""


def place_of(value: Json) -> str:
    """Give namespace and name of an object."""
    return f"{text_at(value, 'metadata', 'namespace') or ''}/{name_of(value)}"


def uid_of(value: Json) -> str | None:
    """Give the UID of an object, if it can stand in a key."""
    uid = text_at(value, "metadata", "uid")
    is_plain = uid is not None and uid.isprintable() and " " not in uid
    return uid if uid is not None and is_plain and len(uid.encode()) <= 100 else None


def version_of(value: Json) -> int | None:
    """Give the resource version, where it is a number that orders the versions of an object."""
    text = text_at(value, "metadata", "resourceVersion") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None


def condition_of(value: Json, kind: str) -> Json | None:
    """Give a condition that is True."""
    conditions = items_at(value, "status", "conditions")
    met = (each for each in conditions if each.get("type") == kind and each.get("status") == "True")
    return next(met, None)


def owners_of(value: Json) -> list[Json]:
    """Give the references to owners, the controller first."""
    owners = items_at(value, "metadata", "ownerReferences")
    return sorted(owners, key=lambda owner: owner.get("controller") is not True)


def digest_of(value: Json) -> str:
    """Name the content of an object, without who manages which of its fields."""
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        kept = {name: part for name, part in metadata.items() if name != "managedFields"}
        value = value | {"metadata": kept}
    return sha256_digest(canonical_bytes(value))
