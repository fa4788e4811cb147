"""Golden files: output as it should read, compared whole.

``UPDATE_GOLDEN=1 pytest tests/receipt`` writes them again; the difference is then reviewed.
"""

import os
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def golden(name: str, text: str) -> str:
    """Give what a golden file holds, after writing it if that is asked for."""
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def without_digests(text: str) -> str:
    """Replace digests: they change with every record, and other tests compare them."""
    return re.sub(r"\b[0-9a-f]{64}\b", "<digest>", text)
