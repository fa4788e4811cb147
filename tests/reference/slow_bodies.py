"""Bodies of evidence, the slow and literal way: FORMATS 2 and rules 5 and 6.

A check gives None for what is good, else `bad_time` or `bad_body` (rule 4).
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIME = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{6})Z")
DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
AMOUNT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
RESOLUTION = re.compile(r"charge|exclude|(credit|share):([0-9]+)/([0-9]+)")

SCHEDULERS = ("slurm", "kubernetes", "skypilot", "local")
CAPACITIES = ("spot", "on_demand", "reserved", "unknown")
ENDED_BY = (
    "completed",
    "user",
    "scheduler",
    "provider",
    "hardware",
    "time_limit",
    "maintenance",
    "unknown",
)
WAITS = ("checkpoint_storage", "data", "collective", "compile", "other")


class RefusedError(Exception):
    """A line that is not admitted, for the first reason that applies (rule 4)."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


# -- times ---------------------------------------------------------------------------------


def time_us(text: str) -> int | None:
    """Rule 5: exactly YYYY-MM-DDTHH:MM:SS.ffffffZ and in the calendar; None otherwise."""
    match = TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, micro = (int(part) for part in match.groups())
    try:
        moment = datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC)
    except ValueError:
        return None
    delta = moment - EPOCH
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


def moment_us(text: str) -> int:
    """Convert a time that admission has already accepted."""
    moment = time_us(text)
    if moment is None:
        raise RefusedError("bad_time")
    return moment


# -- checks --------------------------------------------------------------------------------


Check = Callable[[Any], str | None]


def _verdict(*, good: bool) -> str | None:
    return None if good else "bad_body"


def string(value: Any) -> str | None:
    """Any string."""
    return _verdict(good=isinstance(value, str))


def integer(value: Any) -> str | None:
    """An integer, which a boolean is not."""
    return _verdict(good=isinstance(value, int) and not isinstance(value, bool))


def boolean(value: Any) -> str | None:
    """True or false."""
    return _verdict(good=isinstance(value, bool))


def mapping(value: Any) -> str | None:
    """An object."""
    return _verdict(good=isinstance(value, dict))


def key(value: Any) -> str | None:
    """Rule 6: attempt keys and run ids are 1 to 200 bytes, printable."""
    good = isinstance(value, str) and value.isprintable() and 1 <= len(value.encode()) <= 200
    return _verdict(good=good)


def time(value: Any) -> str | None:
    """A string that should be a time."""
    if not isinstance(value, str):
        return "bad_body"
    return None if time_us(value) is not None else "bad_time"


def amount(value: Any) -> str | None:
    """A signed decimal string."""
    return _verdict(good=isinstance(value, str) and AMOUNT.fullmatch(value) is not None)


def measure(value: Any) -> str | None:
    """A value of job_stats: an integer, a decimal string or null."""
    if isinstance(value, str):
        return _verdict(good=DECIMAL.fullmatch(value) is not None)
    return None if value is None else integer(value)


def resolution(value: Any) -> str | None:
    """Rules 48 and 57: charge, exclude, credit:n/d or share:n/d, never hold."""
    match = RESOLUTION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return "bad_body"
    if match.group(1) is None:
        return None
    return _verdict(good=0 <= int(match.group(2)) <= int(match.group(3)) > 0)


def word(*allowed: str) -> Check:
    """One of the allowed words."""
    return lambda value: _verdict(good=isinstance(value, str) and value in allowed)


def nullable(check: Check) -> Check:
    """Null, or what the check wants."""
    return lambda value: None if value is None else check(value)


def worst(verdicts: list[str | None]) -> str | None:
    """Rule 4: `bad_time` is stated before `bad_body`."""
    return next((code for code in ("bad_time", "bad_body") if code in verdicts), None)


def listed(check: Check) -> Check:
    """A list of what the check wants."""

    def each(value: Any) -> str | None:
        return worst([check(one) for one in value]) if isinstance(value, list) else "bad_body"

    return each


def fields(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Rule 6: required fields, and optional ones for which null means absent."""
    others = optional or {}

    def each(value: Any) -> str | None:
        if not isinstance(value, dict):
            return "bad_body"
        verdicts = [check(value[name]) for name, check in required.items() if name in value]
        verdicts += ["bad_body" for name in required if name not in value]
        verdicts += [
            check(value[name]) for name, check in others.items() if value.get(name) is not None
        ]
        return worst(verdicts)

    return each


def point(value: Any) -> str | None:
    """One `[time, value]`: the value is a string or null (rule 6)."""
    if not isinstance(value, list) or len(value) != 2:
        return "bad_body"
    return worst([time(value[0]), nullable(string)(value[1])])


def started(value: Any) -> str | None:
    """Check an `allocation.started`: rule 13 wants `gpus` or `gpu_count`.

    `gpu_type` may be absent, because 9.2 has collectors leave it out where no type is named.
    """
    gpu = fields({"uuid": string, "node": string}, {"index": integer})
    verdict = fields(
        {
            "attempt": key,
            "scheduler": word(*SCHEDULERS),
            "cluster": string,
            "job_id": string,
            "nodes": listed(string),
            "capacity": word(*CAPACITIES),
        },
        {
            "run": key,
            "gpus": listed(gpu),
            "gpu_count": integer,
            "gpu_type": string,
            "zone": string,
            "tier": string,
        },
    )(value)
    if verdict is None and value.get("gpus") is None and value.get("gpu_count") is None:
        return "bad_body"
    return verdict


_AT: dict[str, Check] = {"attempt": key}
_CHECKPOINT = {"attempt": key, "checkpoint": string, "step": integer}
_CHECKPOINT_OPTIONAL = {"blocking": boolean, "digest": string, "bytes": integer}
_VERDICT = fields(
    {"run": key, "by": string, "criterion": string}, {"step": integer, "digest": string}
)
_DEVICE = fields(
    {"uuid": string, "index": integer},
    {"pci_bus_id": string, "minor": integer, "mig": boolean},
)

#: F2: kind -> (whether `at` has a meaning, how the body is checked).
KINDS: dict[str, tuple[bool, Check]] = {
    "run.declared": (
        True,
        fields(
            {"run": key},
            {
                "job_class": string,
                "customer": string,
                "provider": string,
                "target_steps": integer,
                "labels": mapping,
            },
        ),
    ),
    "attempt.linked": (False, fields({"run": key, "attempt": key})),
    "attempt.same": (False, fields({"attempt": key, "same_as": key})),
    "allocation.started": (True, started),
    "allocation.suspended": (True, fields(_AT)),
    "allocation.resumed": (True, fields(_AT)),
    "allocation.notice": (
        True,
        fields(_AT | {"by": word("provider", "scheduler"), "deadline": nullable(time)}),
    ),
    "allocation.ended": (
        True,
        fields(
            _AT | {"ended_by": word(*ENDED_BY)},
            {"state": string, "exit_code": integer, "signal": integer},
        ),
    ),
    "allocation.row": (
        False,
        fields({"scheduler": string, "cluster": string, "raw": mapping, "resolution_us": integer}),
    ),
    "device.inventory": (True, fields({"node": string, "devices": listed(_DEVICE)})),
    "telemetry.watch": (
        True,
        fields(
            {
                "node": string,
                "source": string,
                "engine": string,
                "cadence_us": nullable(integer),
                "keep_us": nullable(integer),
                "gpus": nullable(listed(string)),
            }
        ),
    ),
    "telemetry.engine_started": (True, fields({"node": string, "engine": string})),
    "telemetry.points": (
        False,
        fields({"gpu": string, "metric": string, "cadence_us": integer, "points": listed(point)}),
    ),
    "telemetry.samples": (
        False,
        fields(
            {
                "segment": string,
                "path": string,
                "rows": integer,
                "from": time,
                "to": time,
                "gpus": listed(string),
                "cadence_us": integer,
                "metric": string,
            }
        ),
    ),
    "telemetry.job_stats": (
        True,
        fields(
            _AT
            | {"gpu": string, "start": time, "end": time, "keep_us": nullable(integer)}
            | dict.fromkeys(("energy_mj", "power_w", "sm_util", "mem_util", "processes"), measure)
        ),
    ),
    "telemetry.scrape_failed": (
        False,
        fields({"node": string, "from": time, "to": time, "reason": string}),
    ),
    "progress.started": (True, fields(_AT | {"writer": string})),
    "progress.step": (True, fields(_AT | {"step": integer, "every": integer})),
    "progress.waiting": (True, fields(_AT | {"reason": word(*WAITS)})),
    "progress.resumed": (True, fields(_AT)),
    "checkpoint.begun": (True, fields(_CHECKPOINT, _CHECKPOINT_OPTIONAL)),
    "checkpoint.committed": (True, fields(_CHECKPOINT, _CHECKPOINT_OPTIONAL)),
    "checkpoint.verified": (True, fields(_AT | {"checkpoint": string, "ok": boolean})),
    "checkpoint.restored": (
        True,
        fields(_AT | {"checkpoint": nullable(string), "step": integer}),
    ),
    "output.accepted": (True, _VERDICT),
    "output.rejected": (True, _VERDICT),
    "decision.resolution": (
        True,
        fields(
            {
                "run": key,
                "attempt": key,
                "from": time,
                "to": time,
                "gpus": nullable(listed(string)),
                "clause": string,
                "disposition": resolution,
                "by": string,
                "note": string,
            }
        ),
    ),
    "decision.adjustment": (
        True,
        fields(
            {
                "run": key,
                "amount": amount,
                "currency": string,
                "clause": string,
                "by": string,
                "note": string,
            }
        ),
    ),
}
