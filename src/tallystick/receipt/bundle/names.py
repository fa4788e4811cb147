"""The names that members of a bundle have; no bundle has others."""

import re
from typing import Final

MANIFEST: Final = "manifest.json"
RECEIPT: Final = "receipt.json"
HEAD: Final = "head.txt"
LEAVES: Final = "leaves.jsonl"
PROOF: Final = "proof.json"
CONSISTENCY: Final = "consistency.json"
ISSUE_PROOF: Final = "receipt.tlog-proof"

ALWAYS: Final = frozenset({RECEIPT, HEAD, LEAVES, PROOF})
"""Members that every bundle has beside its manifest."""
SOMETIMES: Final = frozenset({CONSISTENCY, ISSUE_PROOF})
"""Members that a bundle has if the log went on after the receipt, or recorded its issue."""

_SEGMENT = re.compile(r"segments/([0-9a-f]{64})\.parquet", re.ASCII)


def segment_name(sha256: str) -> str:
    """Name the member that is the segment with this SHA-256, in hexadecimal."""
    return f"segments/{sha256}.parquet"


def segment_of(name: str) -> str | None:
    """Give the SHA-256 in the name of a segment, None for the name of anything else."""
    match = _SEGMENT.fullmatch(name)
    return None if match is None else match[1]


def is_known(name: str) -> bool:
    """Tell whether a member beside the manifest may have this name."""
    return name in ALWAYS or name in SOMETIMES or segment_of(name) is not None
