"""Admission to a log: each record once, each delivery answered.

``accepted``: it is in the log now. ``exists``: an equal record was there, nothing is added.
``conflict``: a record of that identity and other content was there, and stays. ``refused``:
it cannot be admitted. What the log has to say of deliveries it says as records of its own, in
the same log: which sequence number an equal record came with, what conflicted, what was
refused. So the log alone gives every finding and every gap in the numbers again.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

import msgspec

from tallystick.core.canonical import canonical_bytes, sha256_digest
from tallystick.core.finding import InputFinding
from tallystick.evidence.admission import conflict_message
from tallystick.evidence.codec import Delivery, RefusedLineError, read_delivery
from tallystick.evidence.draft import draft_record
from tallystick.evidence.leaf import LOG_PRODUCER, identity_key, leaf_bytes, leaf_record
from tallystick.evidence.record import content_digest
from tallystick.stores.protocol import NewLeaf, Reading, Store, Writing
from tallystick.stores.signing import read_again
from tallystick.tree.merkle import leaf_hash

Word = Literal["accepted", "exists", "conflict", "refused"]


class Answer(NamedTuple):
    """What became of one delivery; ``leaf`` is the number of the record that is in the log."""

    word: Word
    leaf: int | None = None
    finding: InputFinding | None = None


class _Candidate(NamedTuple):
    place: int
    key: bytes
    canonical: bytes


def deliver(
    store: Store, lines: Sequence[bytes | None], clock_us: Callable[[], int]
) -> tuple[Answer, ...]:
    """Admit a batch of lines in one transaction; when it returns, the answers are durable.

    Args:
        store: Where to.
        lines: Records, one JSON object each; None is a line too long to be held.
        clock_us: Gives the time, which is read once the log is ours to write.

    Raises:
        StoreBusyError: others kept writing for too long; nothing was admitted.
        StoreWriteError: the disk failed; nothing was admitted.
        StoreDamagedError: a stored record that came again is not what was admitted.
    """
    answers: dict[int, Answer] = {}
    candidates = []
    for place, line in enumerate(lines):
        try:
            producer, record_id, canonical = _read_foreign(line)
        except RefusedLineError as error:
            finding = InputFinding(error.code, error.message, digest=_digest(line))
            answers[place] = Answer("refused", finding=finding)
            continue
        candidates.append(_Candidate(place, identity_key(producer, record_id), canonical))
    with store.writing() as log:
        now_us = clock_us()
        remarks = [_refused(answer.finding) for answer in answers.values() if answer.finding]
        remarks += _admit(log, candidates, answers, now_us, store.origin)
        if remarks:
            _remark(log, remarks, now_us)
    return tuple([answers[place] for place in range(len(lines))])


def write_own(
    log: Writing, kind: str, body: dict[str, Any], now_us: int, *, at_us: int | None = None
) -> int:
    """Put a record of the log's own into it, once; give the number of its leaf."""
    draft = draft_record(kind, body, producer=LOG_PRODUCER, at_us=at_us, observed_us=now_us)
    key = identity_key(LOG_PRODUCER, draft["id"])
    found = log.find([key])
    return found[key] if found else log.append([_leaf(canonical_bytes(draft), key, now_us)])


def _read_foreign(line: bytes | None) -> Delivery:
    delivery = read_delivery(line)
    if delivery.producer == LOG_PRODUCER:
        message = f"expected another producer: {LOG_PRODUCER} is the log itself"
        raise RefusedLineError("reserved_producer", message)
    return delivery


def _digest(line: bytes | None) -> str | None:
    return None if line is None else sha256_digest(line)


def _leaf(canonical: bytes, key: bytes, now_us: int) -> NewLeaf:
    data = leaf_bytes(canonical, now_us)
    return NewLeaf(data, leaf_hash(data), key)


def _admit(
    log: Writing,
    candidates: Sequence[_Candidate],
    answers: dict[int, Answer],
    now_us: int,
    origin: str,
) -> list[tuple[str, dict[str, Any]]]:
    """Append what is new, answer everything, and give the remarks to make about the rest."""
    stored = log.find([candidate.key for candidate in candidates])
    fresh: dict[bytes, _Candidate] = {}
    again = []
    for candidate in candidates:
        key = candidate.key
        if key in stored or key in fresh:
            again.append(candidate)
        else:
            fresh[key] = candidate
    leaves = [_leaf(canonical, key, now_us) for _, key, canonical in fresh.values()]
    first = log.append(leaves) if leaves else log.size
    for number, (place, key, _) in enumerate(fresh.values(), start=first):
        answers[place] = Answer("accepted", number)
        stored[key] = number
    if not again:
        return []
    records = _envelopes(log, {stored[candidate.key] for candidate in again}, origin)
    remarks = []
    for candidate in again:
        leaf = stored[candidate.key]
        answers[candidate.place], remark = _compare(records[leaf], candidate.canonical, leaf)
        remarks += remark
    return remarks


def _envelopes(log: Reading, numbers: Iterable[int], origin: str) -> dict[int, dict[str, Any]]:
    """Read some records of the log, neighbours at once: what came together often comes again.

    They were checked at admission, perhaps by other rules than today's, and are not again.
    """
    envelopes: dict[int, dict[str, Any]] = {}
    ordered = enumerate(sorted(numbers))
    for _, run in groupby(ordered, key=lambda each: each[1] - each[0]):
        start, *rest = [number for _, number in run]
        leaves = read_again(log, start, start + len(rest) + 1, origin)
        envelopes.update(
            (number, msgspec.json.decode(leaf_record(data)))
            for number, (data, _) in enumerate(leaves, start=start)
        )
    return envelopes


def _compare(
    first: dict[str, Any], canonical: bytes, leaf: int
) -> tuple[Answer, list[tuple[str, dict[str, Any]]]]:
    """Compare a delivery with the record of the same identity."""
    envelope: dict[str, Any] = msgspec.json.decode(canonical)
    producer = envelope["producer"]
    number = {"boot": producer.get("boot"), "seq": producer.get("seq")}
    named = {"producer": producer["name"], "id": envelope["id"], **number}
    digest = content_digest(envelope)
    if digest == content_digest(first):
        known = {name: first["producer"].get(name) for name in number}
        is_new = number["seq"] is not None and number != known
        return Answer("exists", leaf), [("delivery.repeated", named)] if is_new else []
    message = conflict_message(producer["name"], envelope["id"])
    finding = InputFinding("record_conflict", message, digest=digest)
    return Answer("conflict", leaf, finding), [("delivery.conflict", {**named, "digest": digest})]


def _refused(finding: InputFinding) -> tuple[str, dict[str, Any]]:
    body = {"code": finding.code, "message": finding.message, "digest": finding.digest}
    return "delivery.refused", body


def _remark(log: Writing, remarks: Iterable[tuple[str, dict[str, Any]]], now_us: int) -> None:
    """Write down what the log has to say, each thing once however often it happens."""
    drafts = {
        identity_key(LOG_PRODUCER, draft["id"]): draft
        for kind, body in remarks
        for draft in [
            draft_record(kind, body, producer=LOG_PRODUCER, at_us=None, observed_us=now_us)
        ]
    }
    known = log.find(list(drafts))
    leaves = [
        _leaf(canonical_bytes(draft), key, now_us)
        for key, draft in drafts.items()
        if key not in known
    ]
    if leaves:
        log.append(leaves)
