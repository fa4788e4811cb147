"""The picture of a run: its attempts on one line of time, what they did, and what struck them.

Places are per cent of the whole, from whole numbers, so that the picture has the same bytes
everywhere and fits any width. Hatched is what nobody knows, and nothing else is.
"""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from tallystick.core.instant import parse_instant
from tallystick.receipt.columns import visible
from tallystick.receipt.wording import clock, duration

Json = dict[str, Any]

HEIGHT = 116
_PARTS = 10**6
_WIDTH_MIN = 1500
_CLASSES = {
    "advancing": ("adv", "advancing"),
    "replaying": ("rep", "replaying: run again and kept"),
    "discarded": ("lost", "lost: run, then rolled back"),
    "saving": ("soft", "saving"),
    "starting": ("soft", "starting or restoring"),
    "mixed": ("unk", "unknown: kept or lost is not told apart"),
    "unknown": ("unk", "unknown"),
}
_MARKS = {
    "fault": '<path class="fault" d="M0 18V94M-5 13l10 10M-5 23l10-10"/>',
    "committed": '<path class="notch" d="M-5 55.5h10l-5 9z"/>',
    "restored": '<path class="back" d="M0 94V80M-4 85l4-5 4 5"/>',
    "notice": '<path class="notice" d="M0 22v22"/>',
}
_WORDS = {
    "fault": "interrupted",
    "committed": "checkpoint committed, step",
    "restored": "went on from step",
    "notice": "notice",
}


class _Axis(NamedTuple):
    start_us: int
    end_us: int

    def place(self, at_us: int) -> str:
        """Give a moment's place in per cent."""
        return _percent((at_us - self.start_us) * _PARTS // (self.end_us - self.start_us))

    def width(self, start_us: int, end_us: int) -> str:
        """Give a length in per cent; what would not be seen is widened, and labelled exactly."""
        length = (end_us - start_us) * _PARTS // (self.end_us - self.start_us)
        return _percent(max(length, _WIDTH_MIN))


def timeline_svg(packet: Json) -> str:
    """Draw a packet's run; an empty text if it has no time to show."""
    lanes = [lane for lane in packet["timeline"] if lane["allocation"]]
    spans = [_span(each) for lane in lanes for each in lane["allocation"]]
    if not spans:
        return ""
    axis = _Axis(min(start for start, _ in spans), max(end for _, end in spans))
    body = "".join((*_lanes(lanes, axis), *_gaps(lanes, axis), *_marks(packet["marks"], axis)))
    title = f"Timeline of run {_text(packet['run'])}"
    told = f"{clock(axis.start_us)} to {clock(axis.end_us)} UTC, {len(lanes)} attempts"
    return (
        f'<svg class="run" role="img" aria-labelledby="tt td" width="100%" height="{HEIGHT}">'
        f'<title id="tt">{title}</title><desc id="td">{told}. The tables say the same.</desc>'
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect class="h-bg" width="6" height="6"/>'
        '<path class="h-ln" d="M0 0V6"/></pattern><pattern id="stripe" width="5" height="5" '
        'patternUnits="userSpaceOnUse"><rect class="s-bg" width="5" height="5"/>'
        '<rect class="s-ln" width="2.2" height="5"/></pattern></defs>'
        f"{body}{_scale(axis)}</svg>"
    )


def _lanes(lanes: Sequence[Json], axis: _Axis) -> Iterator[str]:
    for number, lane in enumerate(lanes, start=1):
        first_us = _span(lane["allocation"][0])[0]
        yield f'<text class="lab" x="{axis.place(first_us)}" y="12">attempt {number}</text>'
        for each in lane["allocation"]:
            name = {"notice": "al-no", "suspended": "al-su"}.get(each["class"], "al")
            yield _bar(axis, each, name, (26, 8), each["class"])
        for each in lane["progress"]:
            name, label = _CLASSES.get(each["class"], ("wait", each["class"]))
            yield _bar(axis, each, name, (56, 26), label)


def _gaps(lanes: Sequence[Json], axis: _Axis) -> Iterator[str]:
    """Draw the waits between attempts as dots."""
    for left, right in pairwise(lanes):
        start_us, end_us = _span(left["allocation"][-1])[1], _span(right["allocation"][0])[0]
        if start_us < end_us:
            places = f'x1="{axis.place(start_us)}" x2="{axis.place(end_us)}"'
            label = f"waiting for a replacement, {duration(end_us - start_us)}"
            yield f'<line class="dots" {places} y1="30" y2="30"><title>{label}</title></line>'


def _marks(marks: Sequence[Json], axis: _Axis) -> Iterator[str]:
    for each in marks:
        at_us = parse_instant(each["at"])
        if not axis.start_us <= at_us <= axis.end_us:
            continue
        step = "" if each["step"] is None else f" {each['step']}"
        label = f"{clock(at_us, axis.start_us)} {_WORDS[each['mark']]}{step}"
        yield (
            f'<svg x="{axis.place(at_us)}" overflow="visible">'
            f"<g><title>{_text(label)}</title>{_MARKS[each['mark']]}</g></svg>"
        )


def _scale(axis: _Axis) -> str:
    middle_us = (axis.start_us + axis.end_us) // 2
    places = ((axis.start_us, "start"), (middle_us, "middle"), (axis.end_us, "end"))
    return "".join(
        f'<text class="tick {anchor}" x="{axis.place(at_us)}" y="110">'
        f"{clock(at_us, axis.start_us)[:19].partition('.')[0]}</text>"
        for at_us, anchor in places
    )


def _bar(axis: _Axis, span: Json, name: str, box: tuple[int, int], label: str) -> str:
    (top, height), (start_us, end_us) = box, _span(span)
    told = f"{label}, {clock(start_us)} to {clock(end_us, start_us)}, {duration(end_us - start_us)}"
    return (
        f'<rect class="{name}" x="{axis.place(start_us)}" y="{top}" '
        f'width="{axis.width(start_us, end_us)}" height="{height}">'
        f"<title>{_text(told)}</title></rect>"
    )


def _span(each: Json) -> tuple[int, int]:
    return parse_instant(each["start"]), parse_instant(each["end"])


def _percent(parts: int) -> str:
    whole, rest = divmod(parts, _PARTS // 100)
    return f"{whole}.{rest:04}%"


def _text(text: str) -> str:
    return escape(visible(text, ascii_only=False))
