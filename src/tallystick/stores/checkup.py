"""Whether a log is what was admitted and signed: everything is read and computed again.

Each check gives one sentence for each damage that it finds, and none if it finds none.
"""

from collections.abc import Iterator, Sequence

from tallystick.core.errors import TallystickError
from tallystick.core.keys import VerifyKey
from tallystick.evidence.codec import RefusedLineError, read_line
from tallystick.evidence.leaf import BadLeafError, identity_key, leaf_record, leaf_recorded
from tallystick.stores.errors import StoreBehindHeadError, StoreForkedError
from tallystick.stores.issued_head import IssuedHead
from tallystick.stores.protocol import Reading
from tallystick.stores.signing import check_contains
from tallystick.stores.tiles import TILE_HASHES, node_name
from tallystick.tree.head import open_head
from tallystick.tree.merkle import leaf_hash, root_of

_BLOCK = 1024


def check_leaves(log: Reading) -> Iterator[str]:
    """Check every leaf: its hash, its shape, and that it is found by its identity."""
    for start in range(0, log.size, _BLOCK):
        stop = min(start + _BLOCK, log.size)
        keys: dict[int, bytes] = {}
        pairs = zip(log.leaves(start, stop), log.hashes(start, stop), strict=True)
        for number, (leaf, admitted) in enumerate(pairs, start=start):
            if leaf_hash(leaf) != admitted:
                yield f"leaf {number} is not the one that was admitted"
                continue
            try:
                record = read_line(leaf_record(leaf))
            except (BadLeafError, RefusedLineError) as error:
                yield f"leaf {number} is no record: {error}"
                continue
            keys[number] = identity_key(record.producer, record.id)
        found = log.find(list(keys.values()))
        for number, key in keys.items():
            if found.get(key) != number:
                yield f"leaf {number} is not found by the identity of its record"


def check_nodes(log: Reading) -> Iterator[str]:
    """Check every hash of the tree that is kept against the hashes below it."""
    below: list[bytes] = list(log.hashes(0, log.size))
    level = 1
    while len(below) >= TILE_HASHES:
        tiles = range(0, len(below) - TILE_HASHES + 1, TILE_HASHES)
        above = [root_of(below[first : first + TILE_HASHES]) for first in tiles]
        for place, hashed in enumerate(above):
            kept = log.document("node", node_name(level, place))
            if kept is not None and kept != hashed:
                yield f"node {node_name(level, place)} of the tree is not that of its leaves"
        below, level = above, level + 1


def check_heads(log: Reading, issued: IssuedHead, trusted: Sequence[VerifyKey]) -> Iterator[str]:
    """Check that the log goes on from every head that was signed of it."""
    notes = [(f"head {document.key}", document.data) for document in log.documents("head")]
    try:
        notes.append(("the last issued head", issued.read()))
    except TallystickError as error:
        yield str(error)
    for name, note in notes:
        try:
            check_contains(log, open_head(note, trusted).head)
        except (StoreBehindHeadError, StoreForkedError) as error:
            yield f"{name}: {error}"
        except TallystickError as error:
            yield f"{name} is not one of this log: {error}"


def clock_steps_back(log: Reading) -> int:
    """Count the leaves that were recorded at an earlier time than the one before."""
    steps, before = 0, ""
    for leaf in log.leaves(0, log.size):
        recorded = leaf_recorded(leaf)
        steps += recorded < before
        before = recorded
    return steps
