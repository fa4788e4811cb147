"""The hashes of the tree as a store keeps them: one for each 256, 65,536 … complete leaves.

A *tile* is 256 neighbouring hashes of one level: leaf hashes on level 0, hashes of tiles
above. With the hash of every full tile on the shelf ``node`` any subtree takes at most a few
hundred hashes, and a log of ten million leaves has 40,000 nodes. A node that is not there
yet is computed from the level below.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from tallystick.stores.errors import NoSuchLeafError
from tallystick.stores.protocol import Reading, Writing
from tallystick.tree.merkle import SubtreeHash, subtrees_of

TILE_HASHES = 256
TILE_BITS = 8
_TILES_CACHED = 512


def subtree_reader(log: Reading) -> SubtreeHash:
    """Read complete subtrees of a log; good as long as the reading is."""

    @lru_cache(maxsize=_TILES_CACHED)
    def tile(level: int, first: int, last: int) -> SubtreeHash:
        """Hold the tree over neighbouring hashes of a level, of one tile at the most."""
        return subtrees_of(entries(level, first, last))

    def entries(level: int, start: int, stop: int) -> Iterable[bytes]:
        if level == 0:
            return log.hashes(start, stop)
        return [node(level, place) for place in range(start, stop)]

    def node(level: int, place: int) -> bytes:
        kept = log.document("node", node_name(level, place))
        if kept is not None:
            return kept
        first = place * TILE_HASHES
        return tile(level - 1, first, first + TILE_HASHES)(0, TILE_HASHES)

    def subtree(start: int, end: int) -> bytes:
        if not 0 <= start < end <= log.size:
            raise NoSuchLeafError(end - 1, log.size)
        level = ((end - start).bit_length() - 1) // TILE_BITS
        width = 1 << level * TILE_BITS
        first = start // width // TILE_HASHES * TILE_HASHES
        last = min(first + TILE_HASHES, log.size // width)
        return tile(level, first, last)(start // width - first, end // width - first)

    return subtree


def keep_nodes(log: Writing, start: int, hashes: Iterable[bytes]) -> None:
    """Keep the hash of every tile that these leaf hashes complete, on all levels.

    Args:
        log: Where to.
        start: Number of the first leaf, a multiple of 256; all tiles before it are kept.
        hashes: Leaf hashes up to the end of the log.
    """
    place = start // TILE_HASHES
    for tile in _full_tiles(hashes):
        _keep(log, 1, place, _root(tile))
        place += 1


def kept_leaves(log: Reading, size: int) -> int:
    """Give the number of leaves, at most ``size``, whose full tiles are all kept."""
    place = size // TILE_HASHES
    while place and log.document("node", node_name(1, place - 1)) is None:
        place -= 1
    return place * TILE_HASHES


def node_name(level: int, place: int) -> str:
    """Name a node on its shelf."""
    return f"{level}/{place}"


def _full_tiles(hashes: Iterable[bytes]) -> Iterator[list[bytes]]:
    tile: list[bytes] = []
    for each in hashes:
        tile.append(each)
        if len(tile) == TILE_HASHES:
            yield tile
            tile = []


def _root(tile: list[bytes]) -> bytes:
    return subtrees_of(tile)(0, TILE_HASHES)


def _keep(log: Writing, level: int, place: int, hashed: bytes) -> None:
    log.put("node", node_name(level, place), hashed)
    if place % TILE_HASHES == TILE_HASHES - 1:
        first = place + 1 - TILE_HASHES
        names = [node_name(level, each) for each in range(first, place + 1)]
        below = [log.document("node", name) or b"" for name in names]
        _keep(log, level + 1, place // TILE_HASHES, _root(below))
