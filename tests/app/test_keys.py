"""Key files: private to their owner, never overwritten, refused by name."""

import errno
import os
import stat
from pathlib import Path

import pytest

from tallystick.app.errors import UnreadableFileError, UnwritableFileError
from tallystick.app.keys import load_signing_keys, load_verify_keys, new_key
from tallystick.core.errors import BadKeyNameError, BadPrivateKeyError, BadPublicKeyError


def test_a_new_key_signs_and_its_public_half_verifies(tmp_path: Path) -> None:
    """The two files hold the two halves of one key."""
    made = new_key(tmp_path / "acme.key", "acme.example")

    (private,) = load_signing_keys([str(made.private_path)])
    (public,) = load_verify_keys([str(made.public_path)])

    assert public == private.verify_key == made.public_key
    assert public.signed(b"message", private.sign(b"message"))


def test_only_its_owner_can_read_a_private_key(tmp_path: Path) -> None:
    """The private file has mode 0600, and the public one can be read by anybody."""
    made = new_key(tmp_path / "acme.key")

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (made.private_path, made.public_path)]

    assert modes == [0o600, 0o644]


def test_a_key_is_called_after_its_file(tmp_path: Path) -> None:
    """Without a name the file's own, without its suffix, is taken."""
    made = new_key(tmp_path / "acme.key")

    assert made.public_key.name == "acme"
    assert made.public_path == tmp_path / "acme.key.vkey"


def test_two_new_keys_differ(tmp_path: Path) -> None:
    """Keys are drawn, not derived."""
    one, other = new_key(tmp_path / "a"), new_key(tmp_path / "b", "a")

    assert one.public_key.public_key != other.public_key.public_key


@pytest.mark.parametrize("existing", ["acme.key", "acme.key.vkey"])
def test_no_file_is_overwritten(tmp_path: Path, existing: str) -> None:
    """If either file exists it stays as it is, and no other is left behind."""
    (tmp_path / existing).write_text("mine", encoding="utf-8")

    with pytest.raises(UnwritableFileError, match="file exists"):
        new_key(tmp_path / "acme.key")

    assert [path.name for path in tmp_path.iterdir()] == [existing]
    assert (tmp_path / existing).read_text(encoding="utf-8") == "mine"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """A key is not written into a folder that is not there."""
    with pytest.raises(UnwritableFileError, match="no such file"):
        new_key(tmp_path / "missing" / "acme.key")


def test_a_failing_disk_leaves_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that may not have reached the disk is taken away again."""

    def failing(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(handle))

    monkeypatch.setattr(os, "fsync", failing)

    with pytest.raises(UnwritableFileError, match="input/output error"):
        new_key(tmp_path / "acme.key")

    assert list(tmp_path.iterdir()) == []


def test_a_bad_name_writes_nothing(tmp_path: Path) -> None:
    """The name is checked before anything is written."""
    with pytest.raises(BadKeyNameError):
        new_key(tmp_path / "my key")

    assert list(tmp_path.iterdir()) == []


def test_the_two_halves_are_not_taken_for_each_other(tmp_path: Path) -> None:
    """A private file is no public key, nor the other way round, and no secret is printed."""
    made = new_key(tmp_path / "acme.key")

    with pytest.raises(BadPublicKeyError) as public:
        load_verify_keys([str(made.private_path)])
    with pytest.raises(BadPrivateKeyError) as private:
        load_signing_keys([str(made.public_path)])

    assert "PRIVATE" not in str(public.value)
    assert str(private.value).startswith(str(made.public_path))


def test_a_folder_is_no_key(tmp_path: Path) -> None:
    """What cannot be read is said to be so."""
    with pytest.raises(UnreadableFileError, match="is a directory"):
        load_verify_keys([str(tmp_path)])
