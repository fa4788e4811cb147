"""A store as a folder: made whole, found by its settings, refused where it cannot be."""

import stat
from pathlib import Path

import pytest

from tallystick.app.errors import (
    BadSettingsError,
    NoKeysInFolderError,
    UnwritableFileError,
)
from tallystick.app.keys import keys_in
from tallystick.app.store import find_store, init_store, open_store
from tallystick.core.errors import BadKeyNameError
from tallystick.stores.errors import HeadMissingError, StoreExistsError, StoreNotFoundError
from tallystick.tree.head import open_head
from tallystick.tree.merkle import EMPTY_ROOT
from tests.app.stores import ORIGIN, new_store


def test_a_new_store_has_the_head_of_an_empty_log(tmp_path: Path) -> None:
    """Its two keys differ, and the head is kept beside the folder, not in it."""
    folder = init_store(tmp_path / "store", ORIGIN)

    head = open_head(folder.issued.read(), folder.verify_keys()).head
    assert (head.origin, head.size, head.root) == (ORIGIN, 0, EMPTY_ROOT)
    assert folder.issued.path == tmp_path / "store.head"
    names = sorted(key.name for key in folder.verify_keys())
    assert names == [ORIGIN, f"{ORIGIN}/receipt"]


def test_private_keys_and_log_are_closed_to_others(tmp_path: Path) -> None:
    """Only the owner reads what signs, and what was said."""
    folder = init_store(tmp_path / "store", ORIGIN)

    paths = [folder.path, folder.keys, folder.log, *folder.keys.glob("*.key")]
    modes = [stat.S_IMODE(path.stat().st_mode) & 0o077 for path in paths]
    assert modes == [0] * 5


def test_the_head_may_be_kept_anywhere(tmp_path: Path) -> None:
    """Quotes and backslashes in its path are kept as they are."""
    place = tmp_path / 'an "odd\\ place'
    place.mkdir()
    init_store(tmp_path / "store", ORIGIN, place / "head")

    with open_store(tmp_path / "store") as store:
        store.issue_head()

    assert (place / "head").exists()


def test_nothing_is_made_where_something_is(tmp_path: Path) -> None:
    """A folder with files, a file, and the head of another log stay what they are."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "other.head").write_text("a head", encoding="utf-8")

    for name in ("full", "other"):
        with pytest.raises(StoreExistsError) as refused:
            init_store(tmp_path / name, ORIGIN)
        assert refused.value.code == "store_exists"

    assert (tmp_path / "other.head").read_text(encoding="utf-8") == "a head"


def test_what_could_not_be_made_whole_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can be tried again in the same place."""

    def fail(*_: object, **__: object) -> None:
        raise UnwritableFileError("store.toml", "disk full")

    with monkeypatch.context() as patched:
        patched.setattr("tallystick.app.store.write_file", fail)
        with pytest.raises(UnwritableFileError):
            init_store(tmp_path / "store", ORIGIN)

    assert list((tmp_path / "store").iterdir()) == []
    assert init_store(tmp_path / "store", ORIGIN).log.exists()


def test_an_origin_has_to_be_the_name_of_a_key(tmp_path: Path) -> None:
    """Otherwise nothing is made."""
    with pytest.raises(BadKeyNameError):
        init_store(tmp_path / "store", "two words")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_settings_is_no_store(tmp_path: Path) -> None:
    """The settings are written last, so half a store is none."""
    folder = init_store(tmp_path / "store", ORIGIN)
    (folder.path / "store.toml").unlink()

    for path in (folder.path, tmp_path / "nowhere"):
        with pytest.raises(StoreNotFoundError) as refused:
            find_store(path)
        assert refused.value.code == "store_not_found"


@pytest.mark.parametrize(
    "text",
    [
        "schema = ",
        "\ufeff",
        'schema = "tallystick.store/2"\nissued_head = "x"',
        'schema = "tallystick.store/1"',
        'schema = "tallystick.store/1"\nissued_head = 7',
    ],
)
def test_settings_have_to_be_right(tmp_path: Path, text: str) -> None:
    """What is wrong is said in one line."""
    folder = init_store(tmp_path / "store", ORIGIN)
    (folder.path / "store.toml").write_text(text, encoding="utf-8")

    with pytest.raises(BadSettingsError) as refused:
        find_store(folder.path)

    assert refused.value.code == "bad_settings"
    assert len(str(refused.value).splitlines()) == 1


def test_without_the_head_that_was_issued_nothing_is_signed(tmp_path: Path) -> None:
    """It is not made anew, and the log can be read still."""
    with new_store(tmp_path) as store:
        store.folder.issued.path.unlink()

        with pytest.raises(HeadMissingError):
            store.issue_head()
        with store.log.reading() as log:
            assert log.size == 0


def test_a_folder_of_trusted_keys_has_one(tmp_path: Path) -> None:
    """An empty folder trusts nobody, which is said."""
    with pytest.raises(NoKeysInFolderError) as refused:
        keys_in(tmp_path)

    assert refused.value.code == "no_keys_in_folder"
