"""Reading a pickle without running it: every object that it would build is an inert stand-in.

The opcodes are those that ``pickletools`` disassembles. Nothing is imported, looked up, called or
built; what a pickle would call is remembered by name, what it would build is a `StandIn`, and
dictionaries keep their text keys only. Amounts are bounded, so a hostile pickle is an error and no
load.
"""

from __future__ import annotations

import io
import pickletools
from typing import Any, Callable

from tallystick.emit.checkpoint.reading import TornError, UntoldError

PICKLE_BYTES_MAX = 64 << 20
CONTAINERS_MAX = 8_000_000
Seen = Callable[[Any], None]

_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_SCALARS = frozenset(
    {
        *("FLOAT", "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE"),
        *("BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    }
)
_SILENT = frozenset({"PROTO", "FRAME", "READONLY_BUFFER"})
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": list}


class StandIn:
    """Something that a pickle would look up, call or build: its name, and what it would get."""

    __slots__ = ("arguments", "name", "state")

    def __init__(self, name: str, arguments: Any = None) -> None:
        self.name = name
        self.arguments = arguments
        self.state: Any = None


class _Mark:
    __slots__ = ()


_MARK = _Mark()


def _nothing(_value: Any) -> None:
    """Look at nothing."""


def _everything(_state: Any) -> bool:
    """Keep every state."""
    return True


def read_pickle(
    data: bytes, *, on_persistent: Seen = _nothing, on_state: Callable[[Any], bool] = _everything
) -> Any:
    """Read one pickle; what stands for its value is returned.

    Args:
        data: The pickle, perhaps with something behind it.
        on_persistent: Is shown each persistent id.
        on_state: Is shown the state of each object; where it says False, the state is let go.

    Raises:
        TornError: it is no whole pickle.
        UntoldError: it holds more than is read.
    """
    if len(data) > PICKLE_BYTES_MAX:
        raise UntoldError(f"holds a pickle of more than {PICKLE_BYTES_MAX} bytes")
    try:
        return _Machine(on_persistent, on_state).run(data)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise TornError(
            f"holds a pickle that ends early or makes no sense: {error!s:.60}"
        ) from error
    except (OverflowError, MemoryError) as error:
        raise TornError("holds a pickle with absurd lengths") from error


class _Machine:
    """The stack and memo of one pickle."""

    def __init__(self, on_persistent: Seen, on_state: Callable[[Any], bool]) -> None:
        self._on_persistent = on_persistent
        self._on_state = on_state
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._containers = 0

    def run(self, data: bytes) -> Any:
        """Go through the opcodes up to STOP."""
        for opcode, argument, _ in pickletools.genops(io.BytesIO(data)):
            name = opcode.name
            if name in _SCALARS:
                self._stack.append(argument)
            elif name in _CONSTANTS:
                self._stack.append(_CONSTANTS[name])
            elif name == "STOP":
                return self._stack.pop()
            elif name not in _SILENT:
                self._do(name, argument)
        raise ValueError("no end")  # Not reached: genops itself misses the STOP.

    def _do(self, name: str, argument: Any) -> None:
        stack = self._stack
        if name in {"BINGET", "LONG_BINGET", "GET"}:
            stack.append(self._memo[int(argument)])
        elif name in {"BINPUT", "LONG_BINPUT", "PUT"}:
            self._memo[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = stack[-1]
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "POP":
            stack.pop()
        elif name == "POP_MARK":
            self._to_mark()
        elif name == "DUP":
            stack.append(stack[-1])
        elif name in {"PERSID", "BINPERSID"}:
            identity = argument if name == "PERSID" else stack.pop()
            self._on_persistent(identity)
            stack.append(StandIn("persistent", identity))
        else:
            self._count()
            self._build(name, argument)

    def _build(self, name: str, argument: Any) -> None:
        """Do what makes or fills a container or an object."""
        stack = self._stack
        if name in _TUPLES:
            size = _TUPLES[name]
            stack.append(tuple(self._last(size)))
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in {"TUPLE", "LIST", "FROZENSET"}:
            items = self._to_mark()
            stack.append(items if name == "LIST" else tuple(items))
        elif name == "DICT":
            pairs = self._to_mark()
            stack.append({})
            _fill(stack[-1], pairs)
        elif name in {"APPEND", "SETITEM"}:
            items = self._last(1 if name == "APPEND" else 2)
            _fill(stack[-1], items)
        elif name in {"APPENDS", "SETITEMS", "ADDITEMS"}:
            items = self._to_mark()
            _fill(stack[-1], items)
        else:
            self._object(name, argument)

    def _object(self, name: str, argument: Any) -> None:
        """Do what would import, call or build something."""
        stack = self._stack
        if name == "GLOBAL":
            stack.append(StandIn(str(argument)))
        elif name == "STACK_GLOBAL":
            module, attribute = self._last(2)
            if not isinstance(module, str) or not isinstance(attribute, str):
                raise TypeError("a name that is no text")
            stack.append(StandIn(f"{module} {attribute}"))
        elif name in {"EXT1", "EXT2", "EXT4"}:
            stack.append(StandIn(f"extension {argument}"))
        elif name in {"REDUCE", "NEWOBJ"}:
            made, arguments = self._last(2)
            stack.append(StandIn(_name_of(made), arguments))
        elif name == "NEWOBJ_EX":
            made, arguments, _ = self._last(3)
            stack.append(StandIn(_name_of(made), arguments))
        elif name == "INST":
            stack.append(StandIn(str(argument), self._to_mark()))
        elif name == "OBJ":
            made, *arguments = self._to_mark()
            stack.append(StandIn(_name_of(made), arguments))
        elif name == "BUILD":
            state = stack.pop()
            if self._on_state(state) and isinstance(stack[-1], StandIn):
                stack[-1].state = state
        elif name == "NEXT_BUFFER":
            stack.append(StandIn("buffer"))
        else:
            raise ValueError(f"unknown opcode {name}")

    def _count(self) -> None:
        self._containers += 1
        if self._containers > CONTAINERS_MAX:
            raise UntoldError(f"holds a pickle of more than {CONTAINERS_MAX} objects")

    def _last(self, count: int) -> list[Any]:
        """Take the last few values off the stack."""
        stack = self._stack
        if len(stack) < count:
            raise IndexError("nothing on the stack")
        items = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        return items

    def _to_mark(self) -> list[Any]:
        """Take everything down to the last mark off the stack."""
        stack = self._stack
        at = len(stack) - 1
        while stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise IndexError("no mark")
        items = stack[at + 1 :]
        del stack[at:]
        return items


def _fill(container: Any, items: list[Any]) -> None:
    """Put items into a list, or pairs into a dictionary, whose keys must be text to be kept.

    Other keys might be anything, and hashing a tuple of hostile depth would end the process.
    """
    if isinstance(container, dict):
        pairs = zip(items[::2], items[1::2])
        container.update((key, value) for key, value in pairs if isinstance(key, str))
    elif isinstance(container, list):
        container.extend(items)
    elif not isinstance(container, StandIn):  # An ordered dictionary is a stand-in, too.
        raise TypeError("items for what holds none")
    elif isinstance(container.state, dict):
        _fill(container.state, items)
    else:
        container.state = {}
        _fill(container.state, items)


def _name_of(made: Any) -> str:
    return made.name if isinstance(made, StandIn) else "nothing"
