"""Refuse anything from core to receipt that reads the world.

import-linter forbids the imports (see ``pyproject.toml``); this catches what needs no
import or hides behind an allowed one: ``open``, ``print``, ``datetime.now`` and the like.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PURE = ("core", "evidence", "contract", "ledger", "tree", "timeline", "rating", "receipt")
BUILTINS = frozenset({"open", "print", "input", "breakpoint", "exec", "eval", "__import__"})
CALLS = frozenset({"now", "utcnow", "today", "fromtimestamp", "localtime", "astimezone"})
NUMPY_READERS = frozenset({"random", "load", "loadtxt", "fromfile", "memmap", "save", "savez"})


def impurities(source: str) -> Iterator[tuple[int, str]]:
    """Give line and name of each use that depends on more than its arguments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) if name in BUILTINS:
                    yield node.lineno, f"{name}()"
                case ast.Attribute(attr=name) if name in CALLS:
                    yield node.lineno, f".{name}()"
        elif isinstance(node, ast.Attribute):
            match node.value:
                case ast.Name(id="np" | "numpy" as module) if node.attr in NUMPY_READERS:
                    yield node.lineno, f"{module}.{node.attr}"


def main() -> int:
    """Print one line for each impure use, and fail if there is one or nothing was looked at."""
    checked = found = 0
    for folder in PURE:
        for path in sorted((ROOT / "src" / "tallystick" / folder).rglob("*.py")):
            checked += 1
            for line, name in impurities(path.read_text(encoding="utf-8")):
                found += 1
                print(f"{path.relative_to(ROOT)}:{line}: {name} in a pure layer")
    print(f"{checked} pure files, {found} impure uses")
    return 0 if checked and not found else 1


if __name__ == "__main__":
    sys.exit(main())
