"""Billing by the node: a node counts once for each piece (rule 51).

In each piece a node takes the verdict of one of its GPUs: the first by disposition, then by
UUID. GPUs without a name are on the attempt's nodes that have no named GPU.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tallystick.contract.terms import Contract
from tallystick.rating.pieces import AttemptPieces, Piece
from tallystick.rating.stretches import Stretch
from tallystick.rating.verdict import PRECEDENCE, Verdict
from tallystick.timeline.attempt import Attempt


@dataclass(frozen=True, slots=True)
class Node:
    """A node, or ``units`` nodes of which nothing but the number is known."""

    members: tuple[int, ...]
    units: int


def nodes_of(attempt: Attempt, contract: Contract) -> tuple[Node, ...]:
    """Place an attempt's GPUs on nodes."""
    named: dict[str, list[int]] = {}
    unnamed = []
    for index, gpu in enumerate(attempt.gpus):
        if gpu.uuid is None:
            unnamed.append(index)
        else:
            named.setdefault(gpu.node or "", []).append(index)
    bare = [node for node in attempt.nodes if node not in named]
    if not unnamed:
        bare = []
    elif not bare and named:
        named[min(named)] += unnamed
    nodes = [Node(tuple(members), 1) for _, members in sorted(named.items())]
    nodes += [Node(tuple(unnamed), 1) for _ in bare]
    if unnamed and not nodes:
        per_node = contract.gpus_per_node or 1
        nodes.append(Node(tuple(unnamed), -(-len(unnamed) // per_node)))
    return tuple(nodes)


def node_stretches(attempt: Attempt, cut: AttemptPieces, contract: Contract) -> Iterator[Stretch]:
    """Give the stretches of every node, each with the verdict that stands for the node."""
    cohort_of = {member: cohort for cohort in cut.cohorts for member in cohort.members}
    for node in nodes_of(attempt, contract):
        speakers: dict[tuple[int, ...], int] = {}
        for member in node.members:  # In order of UUID, so each cohort is spoken for by its first.
            speakers.setdefault(cohort_of[member].members, member)
        rows = [cohort_of[member].pieces for member in speakers.values()]
        for start_us, end_us, at_once in _side_by_side(rows):
            verdict, speaker = min(
                zip(at_once, speakers.values(), strict=True),
                key=lambda each: PRECEDENCE[each[0].effect.disposition],
            )
            yield Stretch(start_us, end_us, verdict, node.members, node.units, speaker)


def _side_by_side(
    rows: list[tuple[Piece, ...]],
) -> Iterator[tuple[int, int, list[Verdict]]]:
    """Walk rows of pieces that cover the same time together, cut wherever any is."""
    places = [0] * len(rows)
    start_us = rows[0][0].start_us
    last_us = rows[0][-1].end_us
    while start_us < last_us:
        current = [row[place] for row, place in zip(rows, places, strict=True)]
        end_us = min(piece.end_us for piece in current)
        yield start_us, end_us, [piece.verdict for piece in current]
        places = [
            place + (piece.end_us == end_us) for place, piece in zip(places, current, strict=True)
        ]
        start_us = end_us
