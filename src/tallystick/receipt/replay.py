"""Whether a receipt follows from the evidence: computed again, compared byte for byte."""

from dataclasses import dataclass
from typing import Any

from tallystick.receipt.statement import Statement, statement_payload


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two JSON values differ; None is what one of them lacks."""

    path: str
    stated: Any
    computed: Any


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome: no difference means that the payloads are the same bytes."""

    run: str
    difference: Difference | None

    @property
    def identical(self) -> bool:
        """Whether the evidence gives this very receipt."""
        return self.difference is None

    def to_json(self) -> dict[str, Any]:
        """Give the outcome with stable keys."""
        difference = self.difference
        return {
            "run": self.run,
            "identical": self.identical,
            "path": None if difference is None else difference.path,
            "stated": None if difference is None else difference.stated,
            "computed": None if difference is None else difference.computed,
        }


def compare_receipt(statement: Statement, computed: dict[str, Any] | None) -> Replay:
    """Compare a stated receipt with the one that was computed; None is that there is none."""
    run = statement.receipt.run.id
    if computed is None:
        return Replay(run, Difference("$", "a receipt of this run", None))
    if statement_payload(computed) == statement.payload:
        return Replay(run, None)
    found = first_difference(statement.predicate, computed)
    # A statement may have members beside its predicate that this version does not write.
    return Replay(run, found or Difference("$ (outside the predicate)", None, None))


def first_difference(stated: Any, computed: Any, path: str = "$") -> Difference | None:
    """Find the first difference, members in order of name, as in canonical bytes."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        for name in sorted(stated.keys() | computed.keys()):
            inner = f"{path}.{name}"
            if name not in stated or name not in computed:
                return Difference(inner, stated.get(name), computed.get(name))
            found = first_difference(stated[name], computed[name], inner)
            if found is not None:
                return found
        return None
    if isinstance(stated, list) and isinstance(computed, list):
        return _first_in_lists(stated, computed, path)
    same = type(stated) is type(computed) and stated == computed
    return None if same else Difference(path, stated, computed)


def _first_in_lists(stated: list[Any], computed: list[Any], path: str) -> Difference | None:
    for index, (one, other) in enumerate(zip(stated, computed, strict=False)):
        found = first_difference(one, other, f"{path}[{index}]")
        if found is not None:
            return found
    if len(stated) == len(computed):
        return None
    index = min(len(stated), len(computed))
    rest = [None if index >= len(entries) else entries[index] for entries in (stated, computed)]
    return Difference(f"{path}[{index}]", *rest)
