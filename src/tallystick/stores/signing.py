"""Issuing tree heads: nothing is signed that was not read again, and no history twice.

One flipped bit in a signed leaf hash cannot be repaired, so the stored bytes are hashed anew
before they are signed. And a log that is behind the last issued head, or does not contain
it, is not signed at all.
"""

from collections.abc import Iterator, Sequence

from tallystick.core.keys import SigningKey, VerifyKey
from tallystick.stores.errors import (
    StoreBehindHeadError,
    StoreDamagedError,
    StoreForkedError,
)
from tallystick.stores.issued_head import IssuedHead
from tallystick.stores.protocol import Reading, Store
from tallystick.stores.tiles import keep_nodes, kept_leaves, subtree_reader
from tallystick.tree.head import TreeHead, open_head, sign_head
from tallystick.tree.merkle import EMPTY_ROOT, leaf_hash, tree_root


def first_head(origin: str, key: SigningKey) -> bytes:
    """Sign the head of the empty log."""
    return sign_head(TreeHead(origin, 0, EMPTY_ROOT), [key])


def issue_head(
    store: Store, issued: IssuedHead, key: SigningKey, trusted: Sequence[VerifyKey]
) -> bytes:
    """Sign the head of all that is in the log; without news it is the last one again.

    Args:
        store: The log.
        issued: Where its last issued head is kept.
        key: Signs for the log.
        trusted: The keys that sign or signed for it.

    Raises:
        StoreBehindHeadError: the log is shorter than its last issued head.
        StoreForkedError: it is not the log of that head.
        StoreDamagedError: a stored leaf is not what was admitted.
        HeadMissingError: the last issued head is gone.
        TreeError: what is kept as the last head is none of this log.
    """
    with issued.locked(), store.writing() as log:
        note = issued.read()
        last = open_head(note, [each for each in trusted if each.name == store.origin])
        check_contains(log, last.head)
        name = f"{log.size}/{key.verify_key.keyid}"
        if log.size == last.head.size and key.verify_key.keyid in last.signers:
            if log.document("head", name) is None:  # A crash came between the file and the log.
                log.put("head", name, note)
            return note
        start = kept_leaves(log, last.head.size)  # Of a head that was lost in a crash none are.
        keep_nodes(log, start, (each for _, each in read_again(log, start, log.size, store.origin)))
        head = TreeHead(store.origin, log.size, tree_root(log.size, subtree_reader(log)))
        note = sign_head(head, [key])
        issued.replace(note)  # Before anybody can see it: whatever happens now, it was issued.
        log.put("head", name, note)
    return note


def check_contains(log: Reading, head: TreeHead) -> None:
    """Check that a log goes on from a head.

    Raises:
        StoreBehindHeadError: it is shorter.
        StoreForkedError: it has other leaves.
    """
    if log.size < head.size:
        raise StoreBehindHeadError(log.size, head.size)
    if tree_root(head.size, subtree_reader(log)) != head.root:
        raise StoreForkedError(head.size)


def read_again(log: Reading, start: int, stop: int, name: str) -> Iterator[tuple[bytes, bytes]]:
    """Give stored leaves and their hashes, computed anew.

    Raises:
        StoreDamagedError: one has another hash than at its admission.
    """
    pairs = zip(log.leaves(start, stop), log.hashes(start, stop), strict=True)
    for number, (data, expected) in enumerate(pairs, start=start):
        hashed = leaf_hash(data)
        if hashed != expected:
            raise StoreDamagedError(name, f"leaf {number} is not the one that was admitted")
        yield data, hashed
