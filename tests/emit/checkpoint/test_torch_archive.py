"""Archives of torch: cut at any byte, changed in any byte, and hostile."""

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from tallystick.emit.checkpoint import torch_archive, zip_archive
from tallystick.emit.checkpoint.judge import Checkpoint, judge, see
from tallystick.emit.checkpoint.verdict import COMPLETE, TORN, UNKNOWN
from tests.emit.checkpoint.made import WEIGHTS, storages, torch_bytes


def judged(path: Path, data: bytes) -> Checkpoint:
    """Write a file and read every byte of it."""
    path.write_bytes(data)
    return judge(see(path), lambda _: None)


def test_a_whole_archive_is_complete(tmp_path: Path) -> None:
    """Every record has its CRC-32, and every storage its record."""
    found = judged(tmp_path / "a.pt", torch_bytes())

    assert (found.state, found.kind, found.unchecked) == (COMPLETE, "torch", ())


def test_an_archive_that_is_cut_anywhere_is_torn(tmp_path: Path) -> None:
    """The directory comes last, so no part of a file passes for the whole."""
    data = torch_bytes({"0": b"1234"})
    states = {judged(tmp_path / "a.pt", data[:end]).state for end in range(len(data))}

    assert states == {TORN}


def test_a_byte_that_changed_in_a_record_is_found(tmp_path: Path) -> None:
    """Whichever it is."""
    data = torch_bytes()
    at = data.index(WEIGHTS["0"])

    for offset in (0, 500, len(WEIGHTS["0"]) - 1):
        changed = bytearray(data)
        changed[at + offset] ^= 1
        found = judged(tmp_path / "a.pt", bytes(changed))

        assert found.state == TORN
        assert "CRC-32" in found.reason
        assert found.file == "a.pt"


def test_the_structure_alone_does_not_tell_of_a_changed_byte(tmp_path: Path) -> None:
    """Who reads no bytes is told that none were read."""
    data = torch_bytes()
    at = data.index(WEIGHTS["0"])
    (tmp_path / "a.pt").write_bytes(data[:at] + b"X" + data[at + 1 :])

    found = judge(see(tmp_path / "a.pt"))

    assert found.state == COMPLETE
    assert "not read" in found.reason


def test_a_storage_without_a_record_is_torn(tmp_path: Path) -> None:
    """The pickle names what the archive must hold."""
    data = torch_bytes({"0": WEIGHTS["0"]}, pickled=storages(WEIGHTS))

    found = judged(tmp_path / "a.pt", data)

    assert found.state == TORN
    assert "lacks the record of storage '1'" in found.reason


def test_a_record_of_another_size_than_its_storage_is_torn(tmp_path: Path) -> None:
    """A record can be whole and still be that of another save."""
    data = torch_bytes({"0": WEIGHTS["0"][:-4]}, pickled=storages({"0": WEIGHTS["0"]}))

    found = judged(tmp_path / "a.pt", data)

    assert found.state == TORN
    assert "1020 bytes" in found.reason


def test_a_pickle_that_would_call_something_does_not(tmp_path: Path) -> None:
    """It is looked at like any other."""
    made = tmp_path / "made"
    pickled = b"cos\nmkdir\n(X" + struct.pack("<I", len(str(made))) + str(made).encode() + b"tR."

    found = judged(tmp_path / "a.pt", torch_bytes({}, pickled=pickled))

    assert found.state == COMPLETE
    assert not made.exists()


def test_a_broken_pickle_is_torn(tmp_path: Path) -> None:
    """Nothing says then which storages belong."""
    found = judged(tmp_path / "a.pt", torch_bytes({}, pickled=b"\x80\x02}("))

    assert (found.state, found.file) == (TORN, "a.pt")


def test_an_archive_without_checksums_says_so(tmp_path: Path) -> None:
    """Torch can leave them out; then zero stands for none."""
    data = bytearray(torch_bytes())
    for signature, offset in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset : at + offset + 4] = b"\0\0\0\0"
            at = data.find(signature, at + 4)

    found = judged(tmp_path / "a.pt", bytes(data))

    assert found.state == COMPLETE
    assert found.unchecked == (torch_archive.NO_CHECKSUMS,)


def test_records_are_checked_in_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large archive is work for many threads, and nothing of it is left out."""
    monkeypatch.setattr(torch_archive, "JOB_BYTES", 100)
    path = tmp_path / "a.pt"
    path.write_bytes(torch_bytes())
    seen = see(path)

    assert len(seen.jobs) > 2
    assert judge(seen, lambda _: None, threads=3).state == COMPLETE


def test_what_is_packed_is_inflated(tmp_path: Path) -> None:
    """Torch packs the code in its archives, others everything."""
    found = judged(tmp_path / "a.pt", torch_bytes(method=zipfile.ZIP_DEFLATED))

    assert found.state == COMPLETE


def test_a_bomb_is_not_inflated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What states more than is inflated is left alone."""
    monkeypatch.setattr(zip_archive, "INFLATED_BYTES_MAX", 1000)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"\0" * 10_000_000)

    found = judged(tmp_path / "a.npz", stream.getvalue())

    assert (found.state, found.kind) == (UNKNOWN, "zip")


def test_a_bomb_that_states_little_stops_there(tmp_path: Path) -> None:
    """No more is inflated than a record states."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"\0" * 10_000_000)
    data = stream.getvalue().replace(struct.pack("<I", 10_000_000), struct.pack("<I", 10))

    found = judged(tmp_path / "a.npz", data)

    assert found.state == TORN
    assert "larger than it states" in found.reason


def test_records_that_lie_in_each_other_are_refused(tmp_path: Path) -> None:
    """One stretch of bytes is one record, so an archive cannot cost more than it has."""
    data = torch_bytes({"0": b"1234" * 30, "1": b"1234" * 30})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        first, second = (archive.getinfo(f"t/data/{key}").header_offset for key in "01")
    directory = data.index(b"PK\x01\x02")
    twisted = data[:directory] + data[directory:].replace(
        struct.pack("<I", second), struct.pack("<I", first)
    )

    assert judged(tmp_path / "a.pt", twisted).state == TORN


@pytest.mark.parametrize(
    ("field", "value"),
    [(10, 0xFFFF), (12, 0xFFFFFFFE), (16, 0xFFFFFFFE), (4, 1)],
    ids=["count", "size", "start", "disk"],
)
def test_absurd_numbers_of_the_directory_cost_nothing(
    tmp_path: Path, field: int, value: int
) -> None:
    """They are compared with the file before anything is read."""
    data = bytearray(torch_bytes())
    width = 2 if field in {4, 10} else 4
    end = data.rindex(b"PK\x05\x06")
    data[end + field : end + field + width] = value.to_bytes(width, "little")

    assert judged(tmp_path / "a.pt", bytes(data)).state in {TORN, UNKNOWN}


def test_absurd_numbers_of_zip64_cost_nothing(tmp_path: Path) -> None:
    """As above, with numbers of 64 bits."""
    wide = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 9, 2**63, 2**63, 2**63)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 4, 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 9, 9, 0xFFFFFFFF, 0xFFFFFFFF, 0)

    found = judged(tmp_path / "a.pt", b"PK\x03\x04" + wide + locator + end)

    assert (found.state, found.kind) == (TORN, "file")


def wide_archive(tmp_path: Path, **changed: int) -> Path:
    """Write an archive of one record whose numbers are all wide, some of them changed."""
    numbers = {"size": 4, "packed": 4, "start": 0, **changed}
    name, data = b"a", b"1234"
    header = b"PK\x03\x04" + struct.pack(
        "<5H3L2H", 45, 0, 0, 0, 0, zlib.crc32(data), 4, 4, len(name), 0
    )
    narrow = 0xFFFFFFFF
    extra = struct.pack("<2HH", 7, 2, 0) + struct.pack("<2H", 1, numbers.pop("field", 24))
    extra += struct.pack("<3Q", numbers["size"], numbers["packed"], numbers["start"])
    entry = b"PK\x01\x02" + struct.pack(
        "<6H3L5H2L", 45, 45, changed.get("flags", 0), 0, 0, 0, zlib.crc32(data), narrow, narrow,
        len(name), len(extra), 0, 0, 0, 0, narrow,
    )  # fmt: skip
    start = len(header + name + data)
    body = header + name + data + entry + name + extra
    size = len(body) - start
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(body), 1)
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, narrow, narrow, 0)
    path = tmp_path / "a.npz"
    path.write_bytes(body + end + locator + last)
    return path


@pytest.mark.parametrize(
    ("changed", "state"),
    [
        ({}, COMPLETE),
        ({"size": 5}, TORN),
        ({"start": 1}, TORN),
        ({"start": 2**63}, TORN),
        ({"packed": 2**63}, TORN),
        ({"field": 8}, TORN),
        ({"flags": 1}, UNKNOWN),
    ],
)
def test_wide_numbers_are_read_and_compared(
    tmp_path: Path, changed: dict[str, int], state: str
) -> None:
    """Those of a record stand in a field of their own; an encrypted one cannot be checked."""
    found = judge(see(wide_archive(tmp_path, **changed)), lambda _: None)

    assert found.state == state


def test_a_record_that_is_packed_in_an_unknown_way_is_unknown(tmp_path: Path) -> None:
    """It may be whole."""
    found = judged(tmp_path / "a.npz", torch_bytes(method=zipfile.ZIP_BZIP2))

    assert found.state == UNKNOWN


def test_a_record_that_cannot_be_inflated_is_torn(tmp_path: Path) -> None:
    """So is one that ends early."""
    data = bytearray(torch_bytes({"0": bytes(1000)}, method=zipfile.ZIP_DEFLATED))
    at = data.index(b"t/data/0") + len(b"t/data/0")
    data[at] = 0xFF

    assert judged(tmp_path / "a.npz", bytes(data)).state == TORN


def test_more_records_than_are_looked_at_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is no proof that the archive is torn."""
    monkeypatch.setattr(zip_archive, "RECORDS_MAX", 3)

    assert judged(tmp_path / "a.pt", torch_bytes()).state == UNKNOWN


def test_large_records_use_the_wide_numbers(tmp_path: Path) -> None:
    """Torch writes zip64 whatever the size; Python does where it must."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, archive.open("a", "w", force_zip64=True) as file:
        file.write(b"1234")

    assert judged(tmp_path / "a.npz", stream.getvalue()).state == COMPLETE


def test_a_sparse_file_is_not_read_for_its_directory(tmp_path: Path) -> None:
    """A terabyte of holes has no directory at its end."""
    path = tmp_path / "a.pt"
    path.write_bytes(b"PK\x03\x04")
    os.truncate(path, 1 << 40)

    found = judge(see(path), lambda _: None)

    assert found.state == TORN


@pytest.mark.parametrize(
    ("name", "data", "state"),
    [
        ("a.pt", b"", TORN),
        ("a.bin", b"", TORN),
        ("a.pt", b"PK", TORN),
        ("a.pt", b"\0" * 5000, TORN),
        ("a.pt", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", UNKNOWN),
        ("a.pt", b"something else", UNKNOWN),
        ("a.bin", b"something else", UNKNOWN),
    ],
)
def test_what_is_no_archive_is_told_apart(
    tmp_path: Path, name: str, data: bytes, state: str
) -> None:
    """Nothing and zeros are what a crash leaves behind; the rest is not known here."""
    assert judged(tmp_path / name, data).state == state


def test_the_step_of_lightning_is_read_without_loading(tmp_path: Path) -> None:
    """Its name may say something else, which is remarked."""
    found = judged(tmp_path / "epoch=0-step=9.ckpt", torch_bytes(step=10))

    assert found.kind == "lightning"
    assert found.step == (10, "global_step")
    assert found.remarks == (
        "its step is told in several ways: 10 by its global_step, 9 by its name",
    )
