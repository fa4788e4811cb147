"""Stretches of one verdict, and how a line shows them as intervals with GPUs."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tallystick.core.interval import union
from tallystick.rating.verdict import Verdict
from tallystick.timeline.attempt import Attempt


class Stretch(NamedTuple):
    """An interval in which some GPUs have one verdict; ``units`` GPUs or nodes are counted.

    ``speaker`` is the last of those whose verdict it is, by place in the attempt.
    """

    start_us: int
    end_us: int
    verdict: Verdict
    members: tuple[int, ...]
    units: int
    speaker: int


class LinePiece(NamedTuple):
    """An interval of a line; ``gpus`` None is all of the attempt, a None in it an unnamed one."""

    start_us: int
    end_us: int
    gpus: tuple[str | None, ...] | None


def line_pieces(attempt: Attempt, stretches: Sequence[Stretch]) -> tuple[LinePiece, ...]:
    """Lay the stretches of a line side by side and join neighbours with the same GPUs."""
    members = stretches[0].members
    if all(stretch.members == members for stretch in stretches):
        spans = union([stretch[:2] for stretch in stretches])
        return tuple(LinePiece(*span, _names(attempt, frozenset(members))) for span in spans)
    edges = sorted({edge for stretch in stretches for edge in stretch[:2]})
    opening: dict[int, list[tuple[int, ...]]] = {at_us: [] for at_us in edges}
    closing: dict[int, list[tuple[int, ...]]] = {at_us: [] for at_us in edges}
    for stretch in stretches:
        opening[stretch.start_us].append(stretch.members)
        closing[stretch.end_us].append(stretch.members)
    pieces: list[tuple[int, int, frozenset[int]]] = []
    active: dict[tuple[int, ...], None] = {}
    for start_us, end_us in pairwise(edges):
        for members in closing[start_us]:
            active.pop(members, None)
        active.update(dict.fromkeys(opening[start_us]))
        gpus = frozenset(member for members in active for member in members)
        if not gpus:
            continue
        if pieces and pieces[-1][1:] == (start_us, gpus):
            pieces[-1] = (pieces[-1][0], end_us, gpus)
        else:
            pieces.append((start_us, end_us, gpus))
    return tuple(LinePiece(a, b, _names(attempt, gpus)) for a, b, gpus in pieces)


def _names(attempt: Attempt, members: frozenset[int]) -> tuple[str | None, ...] | None:
    """Name GPUs by UUID, in the order of the attempt, which has the unnamed ones last."""
    if len(members) == len(attempt.gpus):
        return None
    return tuple(attempt.gpus[member].uuid for member in sorted(members))
