"""What a record says of devices, with when and which: the unit of every index of them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

_Body_co = TypeVar("_Body_co", covariant=True)


class Seen(NamedTuple, Generic[_Body_co]):
    """What a record says, from when it holds, and the digest that names the record."""

    at_us: int
    digest: str
    body: _Body_co


def between(
    seen: Sequence[Seen[_Body_co]], from_us: int | None, to_us: int
) -> Sequence[Seen[_Body_co]]:
    """Give what was seen from one moment (None: ever) to another, both included."""
    first = 0 if from_us is None else bisect_left(seen, from_us, key=moment_us)
    return seen[first : bisect_right(seen, to_us, key=moment_us)]


def moment_us(seen: Seen[Any]) -> int:
    """Give the moment, by which such lists are ordered."""
    return seen.at_us
