"""A receipt as a page of text: at most 80 columns, plain ASCII but for other people's names.

Usage, money and progress are blocks of their own. Unknown time is drawn with ``?`` and
nothing else is; a held amount has no value, only a bound. The page is the same in every
time zone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tallystick.receipt.amounts import line_rows, total_rows, usage_rows
from tallystick.receipt.columns import (
    PAGE_COLUMNS,
    Column,
    fit,
    labelled,
    table,
    visible,
    visible_json,
)
from tallystick.receipt.picture import timeline_rows
from tallystick.receipt.reader import Progress, Receipt, read_receipt
from tallystick.receipt.statement import Statement
from tallystick.receipt.wording import (
    UNKNOWN,
    bounds,
    duration,
    duration_of,
    seconds_wording,
)

_ACCEPTED: Final = {True: "yes", False: "no, rejected", None: "not judged"}
_ATTEMPT_COLUMNS: Final = (
    Column("no", 4, "right"),
    Column("attempt", 24),
    Column("lasted", 10, "right"),
    Column("ended by", 10),
    Column("notice", 9, "right"),
    Column("next after", 10, "right"),
)
# Microseconds need four columns more each; the whole key stands in the timeline below.
_FINE_ATTEMPT_COLUMNS: Final = (
    Column("no", 4, "right"),
    Column("attempt", 12),
    Column("lasted", 14, "right"),
    Column("ended by", 10),
    Column("notice", 14, "right"),
    Column("next after", 14, "right"),
)
_INTERRUPTION_COLUMNS: Final = (
    Column("attempt", 7, "right"),
    Column("last step", 9, "right"),
    Column("restored", 9, "right"),
    Column("lost steps", 32),
    Column("avoidable", 9, "right"),
)


def page(statement: Statement, *, parties: str | None, ascii_only: bool) -> list[str]:
    """Write a receipt as rows of text.

    Args:
        statement: The receipt; one without signers is shown as not checked.
        parties: Who the contract is between, if the contract is at hand.
        ascii_only: Escape what is not ASCII, for terminals that have nothing else.
    """
    receipt = read_receipt(visible_json(statement.predicate, ascii_only=ascii_only))
    signers = [visible(signer, ascii_only=ascii_only) for signer in statement.signers]
    between = None if parties is None else visible(parties, ascii_only=ascii_only)
    numbers = {attempt.attempt: str(n) for n, attempt in enumerate(receipt.attempts, start=1)}
    unit = receipt.usage.unit.replace("gpu_", "GPU-").replace("node_", "node-")
    currency = receipt.totals.currency
    rows = [
        *_header_rows(receipt, statement.payload_digest, signers, between),
        *_section("ATTEMPTS", _attempt_rows(receipt)),
        *_section("TIMELINE (UTC)", timeline_rows(receipt)),
        *_section("PROGRESS", _progress_rows(receipt.progress, numbers)),
        *_section(f"USAGE ({unit})", usage_rows(receipt)),
        *_section(f"LINES ({unit}, {currency})", line_rows(receipt, numbers)),
        *_section(f"TOTALS ({currency})", total_rows(receipt)),
        *_section("FINDINGS", _finding_rows(receipt, numbers)),
    ]
    return [fit(row, PAGE_COLUMNS).rstrip() for row in rows]


def _section(head: str, rows: Iterable[str]) -> list[str]:
    return ["", head, *(list(rows) or ["  none"])]


def _header_rows(
    receipt: Receipt, digest: str, signers: Sequence[str], parties: str | None
) -> Iterator[str]:
    contracts = ", ".join(f"{each.id}@{each.version}" for each in receipt.contracts)
    fields = (
        ("revision", str(receipt.revision)),
        ("class", receipt.run.job_class),
        ("accepted", _ACCEPTED[receipt.run.accepted]),
        ("contract", contracts or "none rated a part of this run"),
        ("parties", parties),
        ("net", f"{receipt.totals.currency} {bounds(receipt.totals.net)}"),
        ("signed by", ", ".join(signers) or "not checked: no key was given"),
        ("sha256", digest.removeprefix("sha256:")),
    )
    yield f"RECEIPT  {receipt.run.id}"
    for label, text in fields:
        if text is not None:
            yield from labelled(label, text)


def _attempt_rows(receipt: Receipt) -> list[str]:
    rows = [
        (
            str(number),
            attempt.attempt,
            "open" if attempt.end is None else duration(attempt.end - attempt.start),
            "still open" if attempt.end is None else attempt.ended_by or UNKNOWN,
            duration_of(attempt.notice_seconds, "-" if attempt.end is None else "none"),
            duration_of(attempt.replacement_wait_seconds, "-"),
        )
        for number, attempt in enumerate(receipt.attempts, start=1)
    ]
    is_fine = any("." in cell for row in rows for cell in (row[2], row[4], row[5]))
    return table(_FINE_ATTEMPT_COLUMNS if is_fine else _ATTEMPT_COLUMNS, rows) if rows else []


def _progress_rows(progress: Progress, numbers: Mapping[str, str]) -> Iterator[str]:
    saved = progress.last_valid_checkpoint
    checkpoint = (
        "none known"
        if saved is None
        else f"{saved.checkpoint} at step {saved.step}, "
        f"of attempt {numbers.get(saved.attempt, saved.attempt)}"
    )
    yield from labelled("steps completed", bounds(progress.steps_completed), label_columns=16)
    yield from labelled("last checkpoint", checkpoint, label_columns=16)
    yield from labelled("replayed steps", bounds(progress.replayed_steps), label_columns=16)
    if progress.lost_gpu_seconds is not None:
        lost = bounds(progress.lost_gpu_seconds, seconds_wording)
        yield from labelled("lost GPU-seconds", lost, label_columns=16)
    yield from labelled("GPU-seconds", _class_seconds(progress), label_columns=16)
    rows = [
        (
            numbers[each.attempt],
            bounds(each.last_step),
            bounds(each.restored_step),
            bounds(each.lost_steps),
            bounds(each.avoidable_lost_steps),
        )
        for each in progress.interruptions
    ]
    if rows:
        yield "  interruptions"
        yield from table(_INTERRUPTION_COLUMNS, rows)


def _class_seconds(progress: Progress) -> str:
    stated = progress.gpu_seconds
    words = [
        f"{name} {seconds_wording(getattr(stated, name))}"
        for name in stated.__struct_fields__
        if getattr(stated, name) != "0.000000"
    ]
    return ", ".join(words) or "none"


def _finding_rows(receipt: Receipt, numbers: Mapping[str, str]) -> Iterator[str]:
    for finding in receipt.findings:
        where = "" if finding.attempt is None else numbers.get(finding.attempt, finding.attempt)
        place = f" (attempt {where})" if where else ""
        yield from labelled(finding.code, f"{finding.message}{place}", label_columns=22)
