"""Admission, the slow and literal way: FORMATS 1 and 2, rules 1 to 7 and the aliases of 9.1.

Lines of JSON go in; records in canonical order and line findings come out. Nothing of
tallystick is imported: this is a second reading of the rules.
"""

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from tests.reference.slow_bodies import (
    KINDS,
    Json,
    RefusedError,
    integer,
    moment_us,
    nullable,
    time,
    worst,
)

SAFE_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Record:
    """One admitted record; `attempt` is the attempt that it counts as naming (9.1)."""

    name: str
    id: str
    boot: str | None
    seq: int | None
    kind: str
    at: int | None
    body: Json
    content: str
    digest: str
    attempt: str | None = None

    def order(self) -> tuple[bool, int, str, str]:
        """Rule 7: by `at` (null last), producer name, id, by code point."""
        return (self.at is None, self.at or 0, self.name, self.id)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What one call's evidence amounts to."""

    records: tuple[Record, ...]
    numbers: dict[tuple[str, str | None], set[int]]
    line_findings: tuple[Json, ...]
    alias_conflicts: tuple[str, ...]
    same_as: dict[str, str]


class Real:
    """A JSON number with a fraction or an exponent, which is refused wherever it stands."""


class Huge:
    """A JSON integer too long to be worth converting; out of range in any case."""


# -- one line of JSON ----------------------------------------------------------------------


def parse(line: bytes) -> Any:
    """Rule 4, `bad_json` to `integer_out_of_range`, in that order."""
    duplicates: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> Json:
        names = [name for name, _ in items]
        duplicates.extend(name for name in names if names.count(name) > 1)
        return dict(items)

    def constant(token: str) -> None:
        raise ValueError(token)

    def integer(token: str) -> Any:
        return Huge() if len(token) > 20 else int(token)

    try:
        value = json.loads(
            line.decode("utf-8"),  # Strict: a lone surrogate in the bytes is not UTF-8.
            object_pairs_hook=pairs,
            parse_constant=constant,
            parse_float=lambda _: Real(),
            parse_int=integer,
        )
    except (ValueError, RecursionError):
        raise RefusedError("bad_json") from None
    if not isinstance(value, dict):
        raise RefusedError("not_an_object")
    if duplicates:
        raise RefusedError("duplicate_key")
    refuse_parts(value)
    return value


def refuse_parts(value: Json) -> None:
    """Rule 4, `bad_key`, `bad_string`, `float_refused`, `integer_out_of_range`."""
    found: set[str] = set()
    todo: list[Any] = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if any(not " " <= char <= "~" for key in part for char in key):
                found.add("bad_key")
            todo.extend(part.values())
        elif isinstance(part, list):
            todo.extend(part)
        elif isinstance(part, str):
            if any("\ud800" <= char <= "\udfff" for char in part):
                found.add("bad_string")
        elif isinstance(part, Real):
            found.add("float_refused")
        elif isinstance(part, Huge) or (isinstance(part, int) and abs(part) > SAFE_INTEGER):
            found.add("integer_out_of_range")
    for code in ("bad_key", "bad_string", "float_refused", "integer_out_of_range"):
        if code in found:
            raise RefusedError(code)


# -- one record ----------------------------------------------------------------------------


def envelope_is_good(value: Json) -> bool:
    """Rule 6: the envelope's fields and their types; times are judged after this."""
    producer = value.get("producer")
    return (
        value.get("schema") == "tallystick.evidence/1"
        and isinstance(value.get("id"), str)
        and isinstance(producer, dict)
        and isinstance(producer.get("name"), str)
        and isinstance(producer.get("boot"), str | None)
        and (producer.get("seq") is None or (integer(producer["seq"]) is None))
        and (producer.get("seq") or 0) >= 0
        and isinstance(value.get("kind"), str)
        and "at" in value
        and isinstance(value["at"], str | None)
        and isinstance(value.get("observed"), str)
        and isinstance(value.get("body"), dict)
    )


def admit_line(line: bytes) -> Record:
    """Rule 4: the record of a line, or its one refusal."""
    value = parse(line)
    if not envelope_is_good(value):
        raise RefusedError("bad_record")
    at_matters, check = KINDS.get(value["kind"], (False, lambda _: None))
    verdicts = [time(value["observed"]), nullable(time)(value["at"]), check(value["body"])]
    verdict = worst(verdicts)
    if verdict is not None:
        raise RefusedError(verdict)
    if at_matters and value["at"] is None:
        raise RefusedError("time_missing")
    producer = value["producer"]
    whole = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Record(
        name=producer["name"],
        id=value["id"],
        boot=producer.get("boot"),
        seq=producer.get("seq"),
        kind=value["kind"],
        at=None if value["at"] is None else moment_us(value["at"]),
        body=value["body"],
        content=content_of(value),
        digest="sha256:" + hashlib.sha256(whole.encode()).hexdigest(),
    )


def content_of(value: Json) -> str:
    """Rule 2: canonical JSON without `observed`, `producer.boot` and `producer.seq`."""
    rest = {name: part for name, part in value.items() if name != "observed"}
    rest["producer"] = {
        name: part for name, part in value["producer"].items() if name not in ("boot", "seq")
    }
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# -- all files -----------------------------------------------------------------------------


def admit(files: list[bytes]) -> Admitted:
    """Rules 1 to 7: every file, in the order given."""
    kept: dict[tuple[str, str], Record] = {}
    numbers: dict[tuple[str, str | None], set[int]] = defaultdict(set)
    findings: list[Json] = []
    for file_number, data in enumerate(files, start=1):
        for line_number, line in enumerate(data.split(b"\n"), start=1):  # Rule 1: LF only.
            if not line.strip(b" \t\r"):
                continue
            place = {"line": line_number, "file": file_number}
            try:
                record = admit_line(line)
            except RefusedError as refusal:
                findings.append({"code": refusal.code, "message": "refused", **place})
                continue
            if record.seq is not None:  # Rule 10: copies and conflicts count, refusals do not.
                numbers[(record.name, record.boot)].add(record.seq)
            first = kept.setdefault((record.name, record.id), record)
            if first.content != record.content:  # Rule 3: the first in input order stays.
                findings.append(
                    {
                        "code": "record_conflict",
                        "message": "another record has this identity",
                        "digest": record.digest,
                        **place,
                    }
                )
    ordered = sorted(kept.values(), key=Record.order)
    targets, conflicts = aliases(ordered)
    return Admitted(
        records=tuple(
            replace(record, attempt=named_attempt(record, targets)) for record in ordered
        ),
        numbers=dict(numbers),
        line_findings=tuple(findings),
        alias_conflicts=tuple(conflicts),
        same_as=targets,
    )


def named_attempt(record: Record, targets: dict[str, str]) -> str | None:
    """Give the attempt that a record counts as naming, for kinds whose body is checked."""
    if record.kind not in KINDS or "attempt" not in record.body:
        return None
    if record.kind == "allocation.row":
        return None
    return follow(record.body["attempt"], targets)


def follow(name: str, targets: dict[str, str]) -> str:
    """Follow a chain of aliases (9.1); cycles have been taken out."""
    while name in targets:
        name = targets[name]
    return name


def aliases(records: list[Record]) -> tuple[dict[str, str], list[str]]:
    """FORMATS 9.1: `attempt.same`; a cycle or two different targets is ignored and found."""
    stated: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.kind == "attempt.same":
            stated[record.body["attempt"]].add(record.body["same_as"])
    conflicts = {name for name, targets in stated.items() if len(targets) > 1}
    single = {name: min(targets) for name, targets in stated.items() if len(targets) == 1}
    in_cycle = set()
    for name in single:
        seen = [name]
        while seen[-1] in single and single[seen[-1]] not in seen:
            seen.append(single[seen[-1]])
        if single.get(seen[-1]) == name:
            in_cycle.add(name)
    good = {name: target for name, target in single.items() if name not in in_cycle}
    return good, sorted(conflicts | in_cycle)
