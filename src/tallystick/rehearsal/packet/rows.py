"""What both pages of a packet say, as titled rows of text, each with the evidence behind it."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from tallystick.core.money import Rounding, money_text, round_money
from tallystick.receipt.wording import plural, seconds_wording

Json = dict[str, Any]

_DETECT = (
    ("notice_given_seconds", "notice given", "seconds"),
    ("notice_promised_seconds", "notice promised", "seconds"),
    ("save_on_notice", "save on notice", "word"),
    ("detection_seconds", "seen after", "seconds"),
)
_RESTORE = (
    ("last_valid_checkpoint", "last valid checkpoint", "checkpoint"),
    ("restored", "restored", "checkpoint"),
    ("lost_steps", "lost steps", "word"),
    ("avoidable_lost_steps", "of them avoidable", "word"),
    ("replacement_wait_seconds", "wait for a replacement", "seconds"),
    ("until_restored_seconds", "until restored", "seconds"),
    ("until_first_step_seconds", "until its first step", "seconds"),
)
_WHEN = {
    "step": "at a step",
    "saving": "in the middle of a save",
    "before_first_save": "before the first save",
    "restoring": "while restoring",
    "time": "after a time",
}


class Row(NamedTuple):
    """A label, what it comes to, and what proves it; ``is_known`` is False where nobody knows."""

    label: str
    text: str
    evidence: tuple[str, ...] = ()
    is_known: bool = True


class Section(NamedTuple):
    """Rows under a title."""

    title: str
    rows: tuple[Row, ...]


def sections(packet: Json) -> Iterator[Section]:
    """Give the parts of a packet in the order in which they are read."""
    for each in packet["interruptions"]:
        name = f"interruption {each['number']}"
        yield Section(f"Detect: {name}", tuple(_detect_rows(each)))
        yield Section(f"Restore: {name}", tuple(_rows(each["restore"], _RESTORE)))
    yield Section("Finish", tuple(_finish_rows(packet)))
    yield Section("Reconcile", tuple(_reconcile_rows(packet)))


def summary(packet: Json) -> str:
    """Say in one sentence how it ended."""
    result = packet["finish"]["result"]["value"]
    count = plural(len(packet["interruptions"]), "interruption")
    if result is None:
        return f"{count}; the result was not compared."
    if result["equal"]:
        exact = "bit for bit" if result["tolerance"] == "0" else f"within {result['tolerance']}"
        return f"{count}; the result equals the uninterrupted one {exact}."
    return f"{count}; the result differs from the uninterrupted one."


def bounded_text(value: Any, unit: str = "") -> str:
    """Write a value that may be a range."""
    if isinstance(value, dict):
        least, most = (value[key] for key in ("at_least", "at_most"))
        parts = [] if least is None else [f"at least {_one(least, unit)}"]
        parts += [] if most is None else [f"at most {_one(most, unit)}"]
        return ", ".join(parts) or "unknown"
    return _one(value, unit)


def _one(value: Any, unit: str) -> str:
    text = str(value)
    if unit == "s":
        text = seconds_wording(text) if "." in text else text
    return f"{text} {unit}".strip()


def _rows(part: Json, names: tuple[tuple[str, str, str], ...]) -> Iterator[Row]:
    for key, label, form in names:
        yield _row(label, part[key], form)


def _row(label: str, number: Json, form: str = "word") -> Row:
    value, evidence = number["value"], tuple(number["evidence"])
    if value is None:
        return Row(label, f"unknown: {number['unknown']}", evidence, is_known=False)
    if form == "seconds":
        return Row(label, bounded_text(value, "s"), evidence)
    if form == "checkpoint":
        name = value["checkpoint"]
        text = "none: a fresh start" if name is None else f"{name}, step {value['step']}"
        return Row(label, text, evidence)
    return Row(label, bounded_text(value), evidence)


def _detect_rows(interruption: Json) -> Iterator[Row]:
    detect = interruption["detect"]
    yield Row("attempt", interruption["attempt"])
    fault = detect["fault"]
    if fault is None:
        yield Row("fault", "unknown: nobody claims it", is_known=False)
    else:
        yield Row("fault", _fault_text(fault), tuple(fault["evidence"]))
    yield _row("ended by", detect["ended_by"])
    yield _row("ended", detect["ended"])
    yield from _rows(detect, _DETECT)


def _fault_text(fault: Json) -> str:
    when = _WHEN.get(fault["when"], fault["when"])
    counted = Counter(act["act"] for act in fault["acts"] or ())
    acts = ", ".join(f"{count} × {act}" for act, count in counted.items())
    return f"{when}, {fault['target']}, route {fault['route']}: {acts or 'no act stated'}"


def _finish_rows(packet: Json) -> Iterator[Row]:
    finish = packet["finish"]
    yield _row("attempts", finish["attempts"])
    yield _row("steps completed", finish["steps_completed"])
    yield _row("replayed steps", finish["replayed_steps"])
    yield _row("lost GPU time", finish["lost_gpu_seconds"], "seconds")
    result = finish["result"]
    if result["value"] is None:
        yield _row("result", result)
    else:
        yield Row("result", _result_text(result["value"]), tuple(result["evidence"]))
        yield Row("its digest", result["value"]["digest"] or "unknown", tuple(result["evidence"]))
    accepted = finish["accepted"]
    words = {True: "yes", False: "no"}
    if accepted["value"] is None:
        yield _row("accepted", accepted)
    else:
        yield Row("accepted", words[accepted["value"]], tuple(accepted["evidence"]))
    for finding in finish["findings"]:
        yield Row(f"finding {finding['code']}", finding["message"])


def _result_text(result: Json) -> str:
    if result["equal"]:
        within = "" if result["tolerance"] == "0" else f", within {result['tolerance']}"
        return f"equal to the uninterrupted one{within}"
    by = "" if result["difference"] is None else f" by {result['difference']}"
    return f"differs from the uninterrupted one{by}; allowed was {result['tolerance']}"


def _reconcile_rows(packet: Json) -> Iterator[Row]:
    reconcile = packet["reconcile"]
    usage, currency = reconcile["usage"], reconcile["currency"]
    unit = usage["unit"].replace("gpu_seconds", "GPU-s").replace("node_seconds", "node-s")
    proof = tuple(reconcile["evidence"])
    for key in ("metered", "net_billed", "excluded", "credited", "held"):
        yield Row(key.replace("_", " "), f"{seconds_wording(usage[key])} {unit}", proof)
    yield Row("net", bounded_text(reconcile["net"], currency), proof)
    for line in reconcile["held"]:
        clause = line["rule_clause"] or "no clause"
        most = "unknown" if line["at_most"] is None else f"{line['at_most']} {currency}"
        text = f"at most {most}, {seconds_wording(line['quantity'])} {unit}, clause {clause}"
        yield Row(f"held in line {line['line']}", text, is_known=False)
    other = reconcile["uninterrupted"]
    if other is not None:
        metered = seconds_wording(other["usage"]["metered"])
        yield Row("uninterrupted metered", f"{metered} {unit}")
        yield Row("uninterrupted net", bounded_text(other["net"], other["currency"]))
    yield _with_unit("net difference", reconcile["net_difference"], currency)
    yield _with_unit("metered difference", reconcile["metered_difference"], unit)
    ratio = reconcile["metered_ratio"]
    if ratio["value"] is None:
        yield _row("metered ratio", ratio)
    else:
        rounded = round_money(Fraction(ratio["value"]), Rounding(4, "half_even"))
        yield Row("metered ratio", f"{money_text(rounded, 4)}, rounded from {ratio['value']}")


def _with_unit(label: str, number: Json, unit: str) -> Row:
    if number["value"] is None:
        return _row(label, number)
    return Row(label, bounded_text(number["value"], unit), tuple(number["evidence"]))
