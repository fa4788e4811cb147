"""Rating, the slow and literal way: FORMATS 6 and rules 49 to 63 and 65.

Every attempt is cut into elementary pieces for each GPU; each piece is judged alone.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.reference.slow_admission import Record
from tests.reference.slow_attempts import Attempt
from tests.reference.slow_bodies import Json, moment_us
from tests.reference.slow_contract import (
    MATCHED,
    Disposition,
    Rate,
    Rule,
    Version,
    disposition,
    in_force,
)
from tests.reference.slow_coverage import GpuCoverage, classes
from tests.reference.slow_lanes import Piece
from tests.reference.slow_money import (
    round_to,
    time_text,
)

SECOND = 1_000_000
HOUR = 3600 * SECOND
PRECEDENCE = ("charge", "credit", "share", "hold", "exclude")

Gpu = tuple[int, str, int]  # (0, uuid, 0) or (1, "", n): named ones first, then by UUID.
Moment = tuple[str, str, str]  # The classes of the three lanes: allocation, telemetry, progress.


@dataclass(frozen=True, slots=True)
class Rated:
    """One elementary piece of one GPU (rule 52), or of one node (rule 51)."""

    start: int
    end: int
    gpu: Gpu
    version: Version | None
    rate: Rate | None
    outcome: Disposition
    clause: str | None
    gpus: tuple[Gpu, ...]

    @property
    def rank(self) -> int:
        """Give the place of its disposition in the precedence of F6."""
        return PRECEDENCE.index(self.outcome.word)


# -- judging one moment --------------------------------------------------------------------


def matches(rule: Rule, attempt: Attempt, moment: Moment, start: int) -> bool:
    """Rule 49: all keys of `when` must hold for a piece that begins at `start`."""
    return all(word_holds(name, rule.words[name], attempt, moment) for name in rule.words) and all(
        seconds_hold(name, limit * SECOND, attempt, start) for name, limit in rule.seconds.items()
    )


def word_holds(name: str, wanted: list[str], attempt: Attempt, moment: Moment) -> bool:
    """Rule 49: a list means any of; what the attempt does not have matches nothing."""
    allocation, telemetry, progress = moment
    if name == "ended_by":
        return attempt.end is not None and attempt.ended_by in wanted  # Rule 14.
    if name in MATCHED:
        return attempt.stated[name] in wanted
    seen = {"allocation": allocation, "telemetry": telemetry, "progress": progress}[name]
    return seen in wanted or seen.partition(":")[0] in wanted


def seconds_hold(name: str, limit: int, attempt: Attempt, start: int) -> bool:
    """Rule 49: all comparisons are strict; rule 14: an open attempt has no whole length."""
    if name == "first_s":
        return attempt.start <= start < attempt.start + limit
    if attempt.end is None:
        return False
    if name == "attempt_shorter_than_s":
        return attempt.length < limit
    return attempt.ended_by in ("provider", "scheduler") and (attempt.notice_us or 0) < limit


def rate_for(version: Version, attempt: Attempt) -> Rate | None:
    """F5: the first match wins; rule 49: an absent field matches nothing."""
    for rate in version.rates:
        if all(attempt.stated[name] == value for name, value in rate.wants.items()):
            return rate
    return None


def judge(attempt: Attempt, version: Version | None, moment: Moment, span: Piece) -> Rated:
    """F5 and rule 50: the first rule that matches decides; without one, charge."""
    gpu: Gpu = (1, "", 0)
    if version is None:
        attempt.codes.add("no_contract")
        return Rated(span.start, span.end, gpu, None, None, Disposition("hold"), None, ())
    rate = rate_for(version, attempt)
    rule = next((one for one in version.rules if matches(one, attempt, moment, span.start)), None)
    outcome = Disposition("charge") if rule is None else rule.then
    clause = None if rule is None else rule.clause
    if rate is None and outcome.word != "exclude":
        attempt.codes.add("no_rate")
        outcome = Disposition("hold")
    return Rated(span.start, span.end, gpu, version, rate, outcome, clause, ())


# -- pieces --------------------------------------------------------------------------------


def cut_moments(
    attempt: Attempt,
    lanes: list[list[Any]],
    versions: list[Version],
    resolutions: list[Record],
) -> list[int]:
    """Rule 52: where the pieces of an attempt are cut, for all its GPUs."""
    moments = {attempt.start, attempt.stop}
    moments |= {at for lane in lanes for piece in lane for at in piece[:2]}
    for version in versions:
        moments.add(version.effective_from)
        if version.effective_to is not None:
            moments.add(version.effective_to)
        for rule in version.rules:
            if "first_s" in rule.seconds:
                moments.add(attempt.start + rule.seconds["first_s"] * SECOND)
    for one in resolutions:
        moments |= {moment_us(one.body["from"]), moment_us(one.body["to"])}
    return sorted(at for at in moments if attempt.start <= at <= attempt.stop)


def class_at(lane: list[Any], at: int) -> str:
    """Give the class of a lane at a moment."""
    return next(str(name) for start, end, name in lane if start <= at < end)


def pieces_of(
    attempt: Attempt,
    lanes: tuple[list[Piece], list[Piece], list[GpuCoverage]],
    versions: list[Version],
    resolutions: list[Record],
) -> list[Rated]:
    """Rule 52: every elementary piece of every GPU, before any resolution."""
    if attempt.length <= 0:
        return []  # Rule 15.
    allocation, progress, coverages = lanes
    telemetry = [classes(one, attempt) for one in coverages]
    moments = cut_moments(attempt, [allocation, progress, *telemetry], versions, resolutions)
    pieces = []
    for start, end in pairwise(moments):
        version = in_force(versions, start)
        for index, lane in enumerate(telemetry):
            uuid = coverages[index].gpu
            gpu: Gpu = (1, "", index) if uuid is None else (0, uuid, 0)
            moment = (class_at(allocation, start), class_at(lane, start), class_at(progress, start))
            piece = judge(attempt, version, moment, Piece(start, end, ""))
            pieces.append(replace(piece, gpu=gpu, gpus=(gpu,)))
    return pieces


def resolve(pieces: list[Rated], resolutions: list[Record], attempt: Attempt) -> set[str]:
    """Rules 57 and 58: apply decisions in canonical order; give the ids of those that did."""
    used = set()
    for one in resolutions:
        outcome = disposition(one.body["disposition"])
        begin, stop, gpus = moment_us(one.body["from"]), moment_us(one.body["to"]), one.body["gpus"]
        if one.attempt != attempt.key:
            continue
        for index, piece in enumerate(pieces):
            meant = gpus is None or (piece.gpu[0] == 0 and piece.gpu[1] in gpus)
            priced = piece.rate is not None or outcome.word == "exclude"
            within = begin <= piece.start and piece.end <= stop
            if piece.outcome.word == "hold" and meant and priced and within:
                pieces[index] = replace(piece, outcome=outcome, clause=one.body["clause"])
                used.add(one.name + "\n" + one.id)
    return used


# -- nodes ---------------------------------------------------------------------------------


def nodes_of(attempt: Attempt, versions: list[Version]) -> list[set[Gpu]]:
    """Rule 51: the nodes of an attempt, each as the set of its GPUs."""
    unnamed = {(1, "", len(attempt.uuids) + index) for index in range(attempt.unnamed)}
    by_name: dict[str, set[Gpu]] = {}
    for uuid in attempt.uuids:
        by_name.setdefault(attempt.node_of[uuid], set()).add((0, uuid, 0))
    if unnamed:
        empty = [name for name in attempt.nodes if name not in by_name]
        every = sorted({*attempt.nodes, *by_name})
        per_node = versions[-1].gpus_per_node or 1
        if empty:
            by_name |= {name: set(unnamed) for name in empty}
        elif every:
            by_name[every[0]] |= unnamed
        else:
            count = -(-len(unnamed) // per_node)
            return [set(unnamed) for _ in range(count)]
    return list(by_name.values())


def node_pieces(pieces: list[Rated], nodes: list[set[Gpu]]) -> list[Rated]:
    """Rule 51: a node takes disposition and clause of its GPU first by precedence, then UUID."""
    result = []
    for start in sorted({piece.start for piece in pieces}):
        for node in nodes:
            own = [piece for piece in pieces if piece.start == start and piece.gpu in node]
            first = min(own, key=lambda piece: (piece.rank, piece.gpu))
            result.append(replace(first, gpus=tuple(sorted(node))))
    return result


# -- lines ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A line before it is printed; `quantity` is in microseconds of the unit."""

    kind: str
    attempt: str
    like: Rated
    quantity: int
    pieces: tuple[Json, ...]

    @property
    def value(self) -> Fraction | None:
        """Give quantity x per_hour / 3600, exact; None where no price is known."""
        if self.like.rate is None:
            return None
        return Fraction(self.like.rate.per_hour) * self.quantity / HOUR


def usage_lines(attempt: Attempt, units: list[Rated]) -> list[Line]:
    """F6 and rule 65: one per (version, rate clause, disposition with share, rule clause)."""
    groups: dict[Any, list[Rated]] = {}
    for unit in units:
        groups.setdefault(group_of(unit), []).append(unit)
    return [
        Line(
            "usage",
            attempt.key,
            group[0],
            sum(unit.end - unit.start for unit in group),
            printed_pieces(attempt, group),
        )
        for _, group in sorted(groups.items())
    ]


def group_of(unit: Rated) -> tuple[Any, ...]:
    """Rule 65, as a sort key: version, rate clause, disposition, rule clause, share."""
    version = (1, 0) if unit.version is None else (0, unit.version.version)
    rate = "" if unit.rate is None else unit.rate.clause
    clause = (0, "") if unit.clause is None else (1, unit.clause)
    return (version, rate, unit.rank, clause, unit.outcome.share or Fraction(0))


def printed_pieces(attempt: Attempt, group: list[Rated]) -> tuple[Json, ...]:
    """F7: a line's intervals, neighbours with the same GPUs merged; null is all of them."""
    at: dict[tuple[int, int], set[Gpu]] = {}
    for unit in group:
        at.setdefault((unit.start, unit.end), set()).update(unit.gpus)
    merged: list[tuple[int, int, set[Gpu]]] = []
    for (start, end), gpus in sorted(at.items(), key=lambda item: item[0]):
        if merged and merged[-1][1] == start and merged[-1][2] == gpus:
            merged[-1] = (merged[-1][0], end, gpus)
        else:
            merged.append((start, end, gpus))
    return tuple(
        {
            "start": time_text(start),
            "end": time_text(end),
            "gpus": None
            if len(gpus) == attempt.gpus
            else [None if unnamed else uuid for unnamed, uuid, _ in sorted(gpus)],
        }
        for start, end, gpus in merged
    )


def granularity_line(attempt: Attempt, units: list[Rated], count: int) -> Line | None:
    """Rules 54 and 55: the governing piece's terms, for each GPU or node."""
    if not units:
        return None
    best = min(unit.rank for unit in units)
    governing = max(
        (unit for unit in units if unit.rank == best), key=lambda unit: (unit.end, unit.gpu)
    )
    terms = governing.version
    if terms is None:
        return None
    step = terms.granularity_s * SECOND
    steps = round_to(Fraction(attempt.length, step), 0, terms.quantity_rounding)
    rounded = max(int(steps) * step, terms.minimum_s * SECOND)
    quantity = (rounded - attempt.length) * count
    return Line("granularity", attempt.key, governing, quantity, ()) if quantity else None


def rate_attempt(
    attempt: Attempt,
    lanes: tuple[list[Piece], list[Piece], list[GpuCoverage]],
    versions: list[Version],
    resolutions: list[Record],
) -> tuple[list[Line], set[str]]:
    """Give the lines of one attempt, and which resolutions changed something."""
    pieces = pieces_of(attempt, lanes, versions, resolutions)
    used = resolve(pieces, resolutions, attempt)
    count, units = attempt.gpus, pieces
    if versions[-1].unit == "node":
        nodes = nodes_of(attempt, versions)
        count, units = len(nodes), node_pieces(pieces, nodes)
    lines = usage_lines(attempt, units)
    extra = granularity_line(attempt, units, count)
    return (lines if extra is None else [*lines, extra]), used
