"""Pickles are read and never run."""

import datetime as dt
import decimal
import os
import pickle
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.emit.checkpoint import inert
from tallystick.emit.checkpoint.inert import StandIn, read_pickle
from tallystick.emit.checkpoint.reading import TornError, UntoldError

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.binary()
    | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=20,
)


class Evil:
    """Calls something when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@given(PLAIN, st.integers(0, 5))
def test_plain_values_are_read_as_what_they_are(value: Any, protocol: int) -> None:
    """Whatever the protocol, text keys included."""
    found = read_pickle(pickle.dumps(value, protocol))

    assert _lists(found) == _lists(value)


def _lists(value: Any) -> Any:
    """Take what protocol 0 to 2 write as a call for what it is: bytes."""
    if isinstance(value, (StandIn, bytes, bytearray)):
        return "bytes"
    if isinstance(value, (list, tuple)):
        return [_lists(each) for each in value]
    if isinstance(value, dict):
        return {key: _lists(each) for key, each in value.items()}
    return value


@pytest.mark.parametrize("protocol", range(6))
def test_nothing_is_called(tmp_path: Path, protocol: int) -> None:
    """What a pickle would call is named and left alone."""
    data = pickle.dumps({"a": Evil(tmp_path / "made")}, protocol)

    found = read_pickle(data)

    assert isinstance(found["a"], StandIn)
    assert "mkdir" in found["a"].name
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("protocol", range(6))
def test_objects_are_stand_ins(protocol: int) -> None:
    """Of classes, instances, sets and ordered dictionaries nothing is built."""
    value = [dt.timedelta(1), decimal.Decimal(1), OrderedDict(a=1), {1, 2}, frozenset({3})]

    found = read_pickle(pickle.dumps(value, protocol))

    assert len(found) == 5
    assert isinstance(found[0], StandIn)
    assert isinstance(found[2], StandIn)


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'touch /tmp/evil'\ntR.",
        b"(S'touch /tmp/evil'\nios\nsystem\n.",
        b"(cos\nsystem\nS'touch /tmp/evil'\no.",
        b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x8c\x02id\x85R.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02cbuiltins\neval\n)}\x92.",
    ],
)
def test_every_way_to_call_is_inert(data: bytes) -> None:
    """REDUCE, INST, OBJ, STACK_GLOBAL, extensions and NEWOBJ_EX give stand-ins."""
    assert isinstance(read_pickle(data), StandIn)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b".",
        b"\x80\x04",
        b"garbage",
        b"t.",
        b"R.",
        b"b.",
        b"0.",
        b"h\x00.",
        b"(",
        b"\x8d" + struct.pack("<Q", 2**63),
        b"\x8d" + struct.pack("<Q", 2**62) + b"x",
        b"B" + struct.pack("<I", 2**31) + b"x.",
        b"\x8b" + struct.pack("<i", -1) + b".",
        b"I" + b"9" * 10_000 + b"\n.",
        b"K\x01K\x02a.",
        b"N" + b"\x85" * 10**5 + b"X\x01\x00\x00\x00a\x93.",
        b"K\x01K\x02(K\x03e.",
        b"K\x01\x85K\x02\x86u.",
    ],
)
def test_what_makes_no_sense_is_torn(data: bytes) -> None:
    """An absurd length, an empty stack and a text that ends early are one thing."""
    with pytest.raises(TornError):
        read_pickle(data)


@given(st.binary(max_size=60))
def test_any_bytes_end(data: bytes) -> None:
    """No bytes make anything but a value or one of the two errors."""
    try:
        read_pickle(data)
    except (TornError, UntoldError):
        return


@pytest.mark.parametrize(
    "deep",
    [b"N" + b"\x85" * 10**5, b"]" * 10**5 + b"a" * (10**5 - 1), b"(" * 10**5 + b"l" * 10**5],
    ids=["tuples", "lists", "marks"],
)
def test_depth_is_no_danger(deep: bytes) -> None:
    """Nested values are neither hashed nor compared, also not as a key."""
    assert read_pickle(b"}" + deep + b"Ns.") == {}


def test_an_index_of_the_memo_costs_nothing() -> None:
    """The memo is no array that grows to the largest index."""
    assert read_pickle(b"Nr\xff\xff\xff\x7f.") is None


def test_more_objects_than_are_read_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is no proof that the pickle is bad."""
    monkeypatch.setattr(inert, "CONTAINERS_MAX", 10)

    with pytest.raises(UntoldError, match="more than 10 objects"):
        read_pickle(b"}" * 20 + b".")


def test_a_larger_pickle_than_is_read_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As above."""
    monkeypatch.setattr(inert, "PICKLE_BYTES_MAX", 10)

    with pytest.raises(UntoldError):
        read_pickle(pickle.dumps("x" * 20))


def test_persistent_ids_are_shown() -> None:
    """Those of text pickles, too."""
    seen: list[Any] = []

    read_pickle(b"Pname\n.", on_persistent=seen.append)
    read_pickle(b"(K\x01K\x02tQ.", on_persistent=seen.append)

    assert seen == ["name", (1, 2)]


def test_the_state_of_an_object_can_be_let_go() -> None:
    """So a large pickle of many objects costs little."""
    data = b"cmodule\nname\n)\x81}X\x01\x00\x00\x00aK\x01sb."

    kept = read_pickle(data)
    dropped = read_pickle(data, on_state=lambda _: False)

    assert kept.state == {"a": 1}
    assert dropped.state is None
