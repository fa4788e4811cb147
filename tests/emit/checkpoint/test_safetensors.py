"""Files of safetensors: exactly as long as their header says."""

import struct
from pathlib import Path
from typing import Any

import pytest

from tallystick.emit.checkpoint.judge import judge, see
from tallystick.emit.checkpoint.safetensors import NO_CHECKSUMS
from tallystick.emit.checkpoint.verdict import COMPLETE, TORN
from tests.emit.checkpoint.made import safetensors_bytes


def state(path: Path, data: bytes) -> str:
    """Judge a file of such bytes."""
    path.write_bytes(data)
    return judge(see(path), lambda _: None).state


def tensor(begin: Any = 0, end: Any = 8, shape: Any = (2,), dtype: Any = "F32") -> dict[str, Any]:
    """Describe a tensor."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_a_whole_file_is_complete_and_says_what_is_not_checked(tmp_path: Path) -> None:
    """The format has no checksum."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(safetensors_bytes())

    found = judge(see(path), lambda _: None)

    assert (found.state, found.unchecked) == (COMPLETE, (NO_CHECKSUMS,))


def test_a_file_that_is_cut_or_longer_is_torn(tmp_path: Path) -> None:
    """Its length is exactly that of its header and tensors."""
    data = safetensors_bytes()
    path = tmp_path / "a.safetensors"

    states = {state(path, data[:end]) for end in range(len(data))} | {state(path, data + b"x")}

    assert states == {TORN}


@pytest.mark.parametrize(
    "header",
    [
        {"a": tensor(0, 8), "b": tensor(16, 24)},
        {"a": tensor(0, 8), "b": tensor(0, 24, (6,))},
        {"a": tensor(8, 24, (4,))},
        {"a": tensor(24, 0)},
        {"a": tensor(0, 24, (7,))},
        {"a": tensor(0, 24, (2**40, 2**40))},
        {"a": tensor(-24, 0)},
        {"a": tensor(0, 24.0)},
        {"a": tensor(0, 24, ("6",))},
        {"a": tensor(0, 24, 6)},
        {"a": {"dtype": "F32"}},
        {"a": []},
        b"[]",
        b"[" * 100_000,
        b"{",
        b'{"a":\xff}',
    ],
)
def test_a_header_that_does_not_fit_is_torn(tmp_path: Path, header: Any) -> None:
    """A gap, an overlap, another size than the shape, or no description at all."""
    assert state(tmp_path / "a.safetensors", safetensors_bytes(header)) == TORN


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 10**8 + 1, 10**6])
def test_an_absurd_length_of_the_header_costs_nothing(tmp_path: Path, length: int) -> None:
    """It is compared with the file before anything is read."""
    data = struct.pack("<Q", length) + b'{"a":{}}'

    assert state(tmp_path / "a.safetensors", data) == TORN


def test_a_type_that_is_not_known_is_taken_at_its_word(tmp_path: Path) -> None:
    """New types of numbers appear; their offsets still have to fit."""
    header = {"a": tensor(0, 24, (3,), "F4_NEW")}

    assert state(tmp_path / "a.safetensors", safetensors_bytes(header)) == COMPLETE


def test_the_format_is_recognised_by_its_bytes(tmp_path: Path) -> None:
    """A file of another name is looked at, too."""
    data = safetensors_bytes()

    assert state(tmp_path / "weights", data) == COMPLETE
    assert state(tmp_path / "weights", data[:-1]) == TORN


def test_empty_tensors_are_in_nobodys_way(tmp_path: Path) -> None:
    """They begin and end where the next begins."""
    header = {"b": tensor(0, 0, (0,)), "a": tensor(0, 8), "c": tensor(8, 8, (0, 3))}

    assert state(tmp_path / "a.safetensors", safetensors_bytes(header, b"x" * 8)) == COMPLETE
