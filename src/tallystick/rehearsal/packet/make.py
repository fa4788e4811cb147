"""The packet itself: detect, restore, finish, reconcile, for each interruption of a run."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from tallystick.core.instant import format_instant, parse_instant
from tallystick.rehearsal.packet.evidence import Evidence, Json, Seen, first, gather
from tallystick.rehearsal.packet.number import between, difference, from_receipt, known, unknown

SCHEMA: Final = "tallystick.packet/1"
_WORK: Final = ("checkpoint.restored", "progress.step", "checkpoint.begun", "checkpoint.committed")


def recovery_packet(
    run: str, receipts: Mapping[str, Mapping[str, Any]], records: Iterable[Json]
) -> Json:
    """Make the packet of a run that was interrupted.

    Args:
        run: The interrupted run.
        receipts: Receipt predicates by run id: its own, and that of its uninterrupted twin
            if there is one.
        records: The evidence of both runs, as envelopes, in any order.
    """
    evidence = gather(records)
    receipt = receipts[run]
    declared = first(evidence.of_run(run, "rehearsal.declared"))
    stated = {} if declared is None else declared.body
    twin = receipts.get(stated.get("uninterrupted", ""))
    interruptions = [
        _interruption(number, each, receipt, evidence, declared)
        for number, each in enumerate(receipt["progress"]["interruptions"], start=1)
    ]
    return {
        "schema": SCHEMA,
        "run": run,
        "uninterrupted": None if twin is None else twin["run"]["id"],
        "route": stated.get("route"),
        "plan": stated.get("plan"),
        "contracts": receipt["contracts"],
        "evidence": [] if declared is None else [declared.digest],
        "interruptions": interruptions,
        "finish": _finish(run, receipt, evidence),
        "reconcile": _reconcile(receipt, twin),
        "attempts": receipt["attempts"],
        "timeline": receipt["timeline"],
        "marks": _marks(receipt, evidence),
    }


def _interruption(
    number: int,
    lost: Json,
    receipt: Mapping[str, Any],
    evidence: Evidence,
    declared: Seen | None,
) -> Json:
    attempts: Sequence[Json] = receipt["attempts"]
    place = next(n for n, each in enumerate(attempts) if each["attempt"] == lost["attempt"])
    attempt, later = attempts[place], attempts[place + 1 :]
    follower = next((each for each in later if evidence.of_attempt(each["attempt"], *_WORK)), None)
    return {
        "number": number,
        "attempt": lost["attempt"],
        "detect": _detect(attempt, evidence, declared),
        "restore": _restore(lost, attempts[: place + 1], follower, evidence),
    }


def _detect(attempt: Json, evidence: Evidence, declared: Seen | None) -> Json:
    """Say what came, how much notice there was, what was done with it, and who saw it when."""
    key = attempt["attempt"]
    fault = first(evidence.of_attempt(key, "rehearsal.fault"))
    seen = first(evidence.of_attempt(key, "rehearsal.detected"))
    ended = evidence.of_attempt(key, "allocation.ended")
    notices = evidence.of_attempt(key, "allocation.notice")
    return {
        "fault": None if fault is None else {**_fault(fault), "evidence": [fault.digest]},
        "ended_by": known(attempt["ended_by"], ended),
        "ended": known(attempt["end"], ended),
        "notice_given_seconds": _given(attempt["notice_seconds"], notices, fault),
        "notice_promised_seconds": _promised(declared),
        "save_on_notice": _save_after(first(notices), key, evidence),
        "detection_seconds": between(fault, seen, "nobody says when it was seen"),
    }


def _fault(fault: Seen) -> Json:
    names = ("fault", "route", "when", "target", "step", "notice_seconds", "acts")
    return {name: fault.body.get(name) for name in names}


def _given(lead: str | None, notices: Sequence[Seen], fault: Seen | None) -> Json:
    """Say how long before the end notice was given; who struck without any says 0."""
    if lead is not None:
        return known(lead, notices)
    if fault is not None and fault.body.get("notice_seconds") is None:
        return known("0.000000", (fault,))
    return unknown("no notice is in the evidence")


def _promised(declared: Seen | None) -> Json:
    if declared is None:
        return unknown("nobody says what was promised")
    promised = declared.body.get("promised_notice_seconds")
    if promised is None:
        return unknown("the plan states no promise", (declared,))
    return known(promised, (declared,))


def _save_after(notice: Seen | None, attempt: str, evidence: Evidence) -> Json:
    """Say whether the notice was used: ``none``, ``begun`` or ``committed``."""
    if notice is None:
        return known("none")
    saves = evidence.of_attempt(attempt, "checkpoint.begun", "checkpoint.committed")
    late = [each for each in saves if each.moment_us >= notice.moment_us]
    words = {each.kind.removeprefix("checkpoint.") for each in late}
    best = next((word for word in ("committed", "begun") if word in words), "none")
    return known(best, (notice, *late))


def _restore(lost: Json, worked: Sequence[Json], follower: Json | None, evidence: Evidence) -> Json:
    """Say what there was to go on from, what was gone on from, and how long that took."""
    attempt = worked[-1]
    last = evidence.of_attempt(attempt["attempt"], "progress.step")[-1:]
    gone_on = evidence.of_attempt(follower["attempt"], "checkpoint.restored") if follower else ()
    ends = evidence.of_attempt(attempt["attempt"], "allocation.ended")
    base: Json = {
        "lost_steps": from_receipt(lost["lost_steps"], "nothing bounds it", (*last, *gone_on[:1])),
        "avoidable_lost_steps": from_receipt(
            lost["avoidable_lost_steps"], "what was restored is not stated", gone_on[:1]
        ),
        "replacement_wait_seconds": from_receipt(
            attempt["replacement_wait_seconds"], "no attempt followed, or two overlap", ends
        ),
    }
    if follower is None:
        why = "no attempt that worked followed"
        names = ("restored", "until_restored_seconds", "until_first_step_seconds")
        return {
            **base,
            "last_valid_checkpoint": _last_valid(evidence, worked, attempt["end"]),
            **{name: unknown(why) for name in names},
            "next_attempt": None,
        }
    key = follower["attempt"]
    restored = first(evidence.of_attempt(key, "checkpoint.restored"))
    begun = first(evidence.of_attempt(key, "allocation.started"))
    step = first(evidence.of_attempt(key, "progress.step"))
    is_stated = restored is not None and (step is None or restored.moment_us <= step.moment_us)
    return {
        **base,
        "last_valid_checkpoint": _last_valid(
            evidence,
            worked,
            follower["start"] if restored is None else format_instant(restored.moment_us),
        ),
        "restored": (
            known(_checkpoint(restored), (restored,))
            if is_stated and restored is not None
            else unknown("the next attempt does not say")
        ),
        "until_restored_seconds": between(begun, restored, "the next attempt does not say"),
        "until_first_step_seconds": between(begun, step, "no step was reported"),
        "next_attempt": key,
    }


def _last_valid(evidence: Evidence, worked: Sequence[Json], until: str) -> Json:
    """Find the checkpoint with the highest step of those that were whole at a moment (rule 40)."""
    until_us = parse_instant(until)
    best: Seen | None = None
    proof: list[Seen] = []
    for attempt in worked:
        names: dict[str, list[Seen]] = {}
        kinds = ("checkpoint.committed", "checkpoint.verified")
        for each in evidence.of_attempt(attempt["attempt"], *kinds):
            if each.kind == "checkpoint.verified" or each.moment_us <= until_us:
                names.setdefault(each.body["checkpoint"], []).append(each)
        for saved in names.values():
            commit, verdicts = _standing(saved)
            if commit is None or any(each.body["ok"] is False for each in verdicts[:1]):
                continue
            if best is None or _rank(commit) > _rank(best):
                best, proof = commit, [commit, *verdicts]
    if best is None:
        return unknown("no valid checkpoint was there")
    return known(_checkpoint(best), proof)


def _standing(saved: Sequence[Seen]) -> tuple[Seen | None, list[Seen]]:
    """Give the last commit of a name, and what was found out of it after, newest first.

    At one moment the verdict that it is bad comes first.
    """
    commits = [each for each in saved if each.kind == "checkpoint.committed"]
    if not commits:
        return None, []
    commit = commits[-1]
    verdicts = [
        each
        for each in saved
        if each.kind == "checkpoint.verified" and each.moment_us >= commit.moment_us
    ]
    return commit, sorted(verdicts, key=lambda each: (-each.moment_us, each.body["ok"]))


def _rank(commit: Seen) -> tuple[int, int]:
    return commit.body["step"], commit.moment_us


def _checkpoint(record: Seen) -> Json:
    return {"checkpoint": record.body["checkpoint"], "step": record.body["step"]}


def _finish(run: str, receipt: Mapping[str, Any], evidence: Evidence) -> Json:
    """Say how it ended, and whether the result is that of the run that nobody interrupted."""
    compared = evidence.of_run(run, "rehearsal.result")
    result = compared[-1] if compared else None
    verdicts = (*evidence.of_run(run, "output.accepted"), *evidence.of_run(run, "output.rejected"))
    progress = receipt["progress"]
    keys = [each["attempt"] for each in receipt["attempts"]]
    starts = [each for key in keys for each in evidence.of_attempt(key, "allocation.started")]
    lives = [each for key in keys for each in evidence.of_attempt(key, "checkpoint.restored")]
    last = [each for key in keys for each in evidence.of_attempt(key, "progress.step")[-1:]]
    names = ("digest", "uninterrupted_digest", "equal", "difference", "tolerance")
    return {
        "attempts": known(len(keys), starts),
        "steps_completed": from_receipt(
            progress["steps_completed"], "no step was reported", last[-1:]
        ),
        "replayed_steps": from_receipt(
            progress["replayed_steps"], "nothing bounds it", (*lives, *last)
        ),
        "lost_gpu_seconds": from_receipt(
            progress.get("lost_gpu_seconds"), "nothing bounds it", (*lives, *last)
        ),
        "result": (
            unknown("the results were not compared")
            if result is None
            else known({name: result.body.get(name) for name in names}, (result,))
        ),
        "accepted": (
            unknown("nobody accepted or rejected it")
            if receipt["run"]["accepted"] is None
            else known(receipt["run"]["accepted"], verdicts)
        ),
        "findings": receipt["findings"],
    }


def _reconcile(receipt: Mapping[str, Any], twin: Mapping[str, Any] | None) -> Json:
    """Lay metered beside billed usage, and the cost beside that of the uninterrupted run."""
    why = "the uninterrupted run has no receipt"
    totals, usage = receipt["totals"], receipt["usage"]
    proof = sorted({each for line in receipt["lines"] for each in line["evidence"]})
    own: Json = {
        "currency": totals["currency"],
        "net": totals["net"],
        "usage": usage,
        "evidence": proof,
    }
    held = [
        {key: line[key] for key in ("line", "rule_clause", "quantity", "at_most")}
        for line in receipt["lines"]
        if line["disposition"] == "hold"
    ]
    if twin is None:
        names = ("net_difference", "metered_difference", "metered_ratio")
        return {**own, "held": held, "uninterrupted": None, **{n: unknown(why) for n in names}}
    theirs, other = twin["totals"], twin["usage"]
    is_one_currency = theirs["currency"] == totals["currency"]
    is_one_unit = other["unit"] == usage["unit"]
    metered = Fraction(other["metered"])
    return {
        **own,
        "held": held,
        "uninterrupted": {"net": theirs["net"], "usage": other, "currency": theirs["currency"]},
        "net_difference": (
            from_receipt(difference(totals["net"], theirs["net"]), "a bound is unknown")
            if is_one_currency
            else unknown("the currencies differ")
        ),
        "metered_difference": (
            known(difference(usage["metered"], other["metered"]))
            if is_one_unit
            else unknown("the units differ")
        ),
        "metered_ratio": (
            known(str(Fraction(usage["metered"]) / metered))
            if is_one_unit and metered
            else unknown("the uninterrupted run metered nothing, or in another unit")
        ),
    }


def _marks(receipt: Mapping[str, Any], evidence: Evidence) -> list[Json]:
    """Give the moments that a picture shows: notices, faults, commits, restores."""
    kinds = {
        "allocation.notice": "notice",
        "rehearsal.fault": "fault",
        "checkpoint.committed": "committed",
        "checkpoint.restored": "restored",
    }
    found = [
        {
            "attempt": attempt["attempt"],
            "at": format_instant(each.moment_us),
            "mark": kinds[each.kind],
            "step": each.body.get("step"),
        }
        for attempt in receipt["attempts"]
        for each in evidence.of_attempt(attempt["attempt"], *kinds)
    ]
    return sorted(found, key=lambda mark: (mark["at"], mark["mark"], mark["attempt"]))
