"""Why a tree, a head, a proof or a signature over them is refused: one class per reason.

Each is a failed check. Nothing of what was refused may be relied on.
"""

from tallystick.core.errors import TallystickError
from tallystick.core.wording import quoted


class TreeError(TallystickError):
    """Something about the evidence log does not hold."""

    exit_status = 1


class MalformedHashError(TreeError):
    """A hash is not one of SHA-256: it has another length than 32 bytes."""

    code = "bad_tree_hash"

    def __init__(self, length: int) -> None:
        super().__init__(length)

    def __str__(self) -> str:
        return f"expected a hash of 32 bytes, got {self.args[0]}"


class MalformedFrontierError(TreeError):
    """A tree of that size has another number of complete subtrees."""

    code = "bad_frontier"

    def __init__(self, size: int, expected: int, found: int) -> None:
        super().__init__(size, expected, found)

    def __str__(self) -> str:
        size, expected, found = self.args
        return f"frontier of {size} leaves: expected {expected} hashes, got {found}"


class TreeSizeError(TreeError):
    """A size is not that of a tree, or an older tree is said to be larger than a newer one."""

    code = "bad_tree_size"

    def __init__(self, size: int, least: int, most: int) -> None:
        super().__init__(size, least, most)

    def __str__(self) -> str:
        size, least, most = self.args
        return f"tree size: expected {least} to {most}, got {size}"


class LeafIndexError(TreeError):
    """A tree has no leaf of that index."""

    code = "leaf_not_in_tree"

    def __init__(self, index: int, size: int) -> None:
        super().__init__(index, size)

    def __str__(self) -> str:
        index, size = self.args
        return f"expected the index of one of {size} leaves, got {index}"


class PathLengthError(TreeError):
    """A proof has more or fewer hashes than lie between its leaf, or old tree, and the root."""

    code = "bad_path_length"

    def __init__(self, size: int, found: int) -> None:
        super().__init__(size, found)

    def __str__(self) -> str:
        size, found = self.args
        return f"path: {found} hashes are too many or too few here in a tree of {size} leaves"


class InclusionError(TreeError):
    """A leaf is not in the tree at its place, as far as the proof shows."""

    code = "leaf_not_included"

    def __init__(self, index: int, expected: bytes, found: bytes) -> None:
        super().__init__(index, expected, found)

    def __str__(self) -> str:
        index, expected, found = self.args
        return f"leaf {index}: expected root {expected.hex()}, got {found.hex()}"


class ConsistencyError(TreeError):
    """A tree does not begin with an older one, as far as the proof shows."""

    code = "tree_not_consistent"

    def __init__(self, size: int, expected: bytes, found: bytes) -> None:
        super().__init__(size, expected, found)

    def __str__(self) -> str:
        size, expected, found = self.args
        return f"tree of {size} leaves: expected root {expected.hex()}, got {found.hex()}"


class MalformedSelectionError(TreeError):
    """A proof for many leaves has no leaf, a leaf out of order, or hashes too many or too few."""

    code = "bad_selection"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed proof for many leaves: {self.args[0]}"


class OversizedTextError(TreeError):
    """An input is larger than a note or a proof is allowed to be."""

    code = "note_too_large"

    def __init__(self, kind: str, bytes_max: int) -> None:
        super().__init__(kind, bytes_max)

    def __str__(self) -> str:
        kind, bytes_max = self.args
        return f"expected a {kind} of at most {bytes_max} bytes, got more"


class MalformedNoteError(TreeError):
    """An input is not a C2SP signed note."""

    code = "bad_note"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed note: {self.args[0]}"


class NoTrustedKeysError(TreeError):
    """No key is given, so there is nothing to check a note against."""

    code = "no_trusted_keys"

    def __str__(self) -> str:
        return "expected at least one public key to check a note against, got none"


class AmbiguousTrustError(TreeError):
    """Two different trusted keys have one name and one short id."""

    code = "ambiguous_trusted_key"

    def __init__(self, keyid: str) -> None:
        super().__init__(keyid)

    def __str__(self) -> str:
        return f"two different trusted keys are both named {self.args[0]}"


class UnknownNoteSignerError(TreeError):
    """No trusted key signed a note."""

    code = "no_trusted_signer"

    def __init__(self, trusted: tuple[str, ...], found: tuple[str, ...]) -> None:
        super().__init__(trusted, found)

    def __str__(self) -> str:
        trusted, found = self.args
        return f"note: expected a signature of {_listed(trusted)}, got {_listed(found)}"


class BadNoteSignatureError(TreeError):
    """A signature of a trusted key does not hold for the text of its note."""

    code = "bad_note_signature"

    def __init__(self, keyid: str) -> None:
        super().__init__(keyid)

    def __str__(self) -> str:
        return f"signature of {quoted(self.args[0])} does not hold for this note"


class MalformedHeadError(TreeError):
    """A text is not that of a tree head (C2SP tlog-checkpoint)."""

    code = "bad_tree_head"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed tree head: {self.args[0]}"


class WrongOriginError(TreeError):
    """A tree head is signed, but not by the key of the log that it names."""

    code = "wrong_origin"

    def __init__(self, origin: str, signers: tuple[str, ...]) -> None:
        super().__init__(origin, signers)

    def __str__(self) -> str:
        origin, signers = self.args
        return f"tree head of {quoted(origin)}: expected its own key, got {_listed(signers)}"


class BadCosignatureError(TreeError):
    """A cosignature of a known witness does not hold for the tree head and its time."""

    code = "bad_cosignature"

    def __init__(self, keyid: str, reason: str) -> None:
        super().__init__(keyid, reason)

    def __str__(self) -> str:
        keyid, reason = self.args
        return f"cosignature of {quoted(keyid)}: {reason}"


class MalformedProofError(TreeError):
    """An input is not a C2SP tlog-proof."""

    code = "bad_proof"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed proof: {self.args[0]}"


class MalformedUpdateError(TreeError):
    """An input is not a head with a proof from the head that is known."""

    code = "bad_update"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed update of a head: {self.args[0]}"


class SplitViewError(TreeError):
    """Two signed heads of one size have different roots: the log told two different stories."""

    code = "split_view"

    def __init__(self, size: int) -> None:
        super().__init__(size)

    def __str__(self) -> str:
        return (
            f"the log signed two different heads of {self.args[0]} records: keep both, they prove"
            " that it was forked"
        )


class UnprovenHeadError(TreeError):
    """Nothing shows that a head goes on from the one that is known, and nothing disproves it."""

    code = "head_not_proven"

    def __init__(self, known_size: int, new_size: int) -> None:
        super().__init__(known_size, new_size)

    def __str__(self) -> str:
        known_size, new_size = self.args
        return (
            f"the proof does not lead from the head of {known_size} records to that of"
            f" {new_size}: ask the log for another; if it has none, it was forked"
        )


class OlderHeadError(TreeError):
    """A head is of fewer records than the one that is known already."""

    code = "head_is_older"

    def __init__(self, known_size: int, new_size: int) -> None:
        super().__init__(known_size, new_size)

    def __str__(self) -> str:
        known_size, new_size = self.args
        return f"expected a head of at least {known_size} records, got one of {new_size}"


class RotationError(TreeError):
    """A key is not the successor that a trusted key of this log named."""

    code = "bad_key_rotation"

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(position, reason)

    def __str__(self) -> str:
        position, reason = self.args
        return f"key rotation {position + 1}: {reason}"


def _listed(texts: tuple[str, ...], limit: int = 8) -> str:
    shown = ", ".join(quoted(text) for text in texts[:limit]) or "none"
    return f"{shown} and {len(texts) - limit} more" if len(texts) > limit else shown
