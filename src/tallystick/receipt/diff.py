"""What differs between two receipts, field by field.

Entries of a list are laid side by side by what they are about (an attempt, a GPU, a clause),
not by their place, so that one more line does not make all later ones look changed. Two
receipts without a change are equal in every byte.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from tallystick.receipt.columns import PAGE_COLUMNS, fit, visible

SECTIONS: Final = (
    "run",
    "totals",
    "usage",
    "lines",
    "attempts",
    "coverage",
    "progress",
    "timeline",
    "findings",
    "contracts",
)
"""The order in which changes are told; other members follow by name."""

Kind = Literal["changed", "added", "removed"]

_SIGNS: Final[dict[Kind, str]] = {"changed": " ", "added": "+", "removed": "-"}


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs, or an entry that only one receipt has."""

    section: str
    entry: str | None
    """What the entry of a list is about, None outside lists."""
    field: str | None
    """The field within the section or entry, None for a whole entry."""
    kind: Kind
    before: Any
    after: Any

    def to_json(self) -> dict[str, Any]:
        """Give the change with stable keys."""
        return {
            "section": self.section,
            "entry": self.entry,
            "field": self.field,
            "change": self.kind,
            "before": self.before,
            "after": self.after,
        }


def diff_receipts(before: dict[str, Any], after: dict[str, Any]) -> tuple[Change, ...]:
    """Compare two predicates; no change means that they are equal."""
    others = sorted((before.keys() | after.keys()) - set(SECTIONS))
    return tuple(
        change
        for section in (*SECTIONS, *others)
        for change in _section_changes(section, before, after)
    )


def diff_rows(changes: Sequence[Change], *, ascii_only: bool) -> list[str]:
    """Write changes as rows of text, at most 80 columns wide."""
    rows: list[str] = []
    section: str | None = None
    entry: str | None = None
    for change in changes:
        if change.section != section:
            rows += ["", change.section.upper()]
            section, entry = change.section, None
        if change.entry is not None and change.entry != entry:
            sign = " " if change.field is not None else _SIGNS[change.kind]
            rows.append(f"{sign} {visible(change.entry, ascii_only=ascii_only)}")
        entry = change.entry
        rows += [visible(row, ascii_only=ascii_only) for row in _change_rows(change)]
    return [fit(row, PAGE_COLUMNS) for row in rows[1:]]


def _section_changes(
    section: str, before: dict[str, Any], after: dict[str, Any]
) -> Iterator[Change]:
    if section not in before and section not in after:
        return
    if section not in before or section not in after:
        kind: Kind = "added" if section in after else "removed"
        yield Change(section, None, None, kind, before.get(section), after.get(section))
        return
    old, new = before[section], after[section]
    key_of = _KEYS.get(section)
    if key_of is None or not isinstance(old, list) or not isinstance(new, list):
        for field, how, one, other in _field_changes(old, new, None):
            yield Change(section, None, field, how, one, other)
        return
    changes = tuple(_entry_changes(section, _by_key(old, key_of), _by_key(new, key_of)))
    if not changes and old != new:
        changes = (Change(section, None, "order", "changed", "one order", "another order"),)
    yield from changes


def _entry_changes(section: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for key in dict.fromkeys([*before, *after]):
        if key not in after:
            yield Change(section, key, None, "removed", before[key], None)
        elif key not in before:
            yield Change(section, key, None, "added", None, after[key])
        else:
            for field, kind, old, new in _field_changes(before[key], after[key], None):
                if (section, field) != ("lines", "line"):
                    yield Change(section, key, field, kind, old, new)


def _field_changes(
    before: Any, after: Any, path: str | None
) -> Iterator[tuple[str | None, Kind, Any, Any]]:
    """Walk objects down to the fields that differ; lists are compared as wholes."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            inner = name if path is None else f"{path}.{name}"
            if name not in after:
                yield inner, "removed", before[name], None
            elif name not in before:
                yield inner, "added", None, after[name]
            else:
                yield from _field_changes(before[name], after[name], inner)
    elif before != after:
        yield path, "changed", before, after


def _by_key(entries: list[Any], key_of: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    """Index entries by what they are about; equal ones are told apart by a number."""
    seen: Counter[str] = Counter()
    indexed: dict[str, Any] = {}
    for entry in entries:
        key = key_of(entry)
        seen[key] += 1
        indexed[key if seen[key] == 1 else f"{key} ({seen[key]})"] = entry
    return indexed


def _line_key(line: dict[str, Any]) -> str:
    if line["kind"] == "adjustment":
        return f"adjustment, clause {line['rule_clause']}"
    outcome = (line["disposition"], line.get("share"))
    words = [
        f"attempt {line['attempt']}",
        f"{line['contract'] or 'no contract'}",
        f"rate {line['rate_clause'] or 'none'}",
        f"rule {line['rule_clause'] or 'none'}",
        " ".join(str(word) for word in outcome if word is not None),
    ]
    return ", ".join(words if line["kind"] == "usage" else [*words, f"{line['kind']}"])


def _about(*names: str) -> Callable[[dict[str, Any]], str]:
    def key(entry: dict[str, Any]) -> str:
        return ", ".join(str(entry[name]) for name in names if entry[name] is not None)

    return key


_KEYS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "lines": _line_key,
    "attempts": _about("attempt"),
    "coverage": _about("attempt", "gpu"),
    "timeline": _about("attempt"),
    "findings": _about("code", "attempt"),
    "contracts": _about("id", "version"),
}


_IN_KEY: Final = frozenset(
    {"line", "kind", "attempt", "contract", "rate_clause", "rule_clause", "disposition", "share"}
)
"""Fields of a line that its name tells already."""


def _change_rows(change: Change) -> Iterator[str]:
    label = "value" if change.field is None else change.field
    if change.kind == "changed":
        before, after = _text(change.before), _text(change.after)
        if before == after:  # Lists of equal length, told by their length.
            after = f"other {after}"
        yield f"    {label:<22} {before} -> {after}"
        return
    value = change.after if change.kind == "added" else change.before
    fields = value if change.field is None and isinstance(value, dict) else {label: value}
    for name, item in fields.items():
        told = change.entry is not None and name in _IN_KEY
        if change.field is not None or (item is not None and not told):
            yield f"{_SIGNS[change.kind]}   {name:<22} {_text(item)}"


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "1 entry" if len(value) == 1 else f"{len(value)} entries"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
