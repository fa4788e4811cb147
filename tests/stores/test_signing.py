"""Issuing heads: what is signed was read again, and there is one history, whatever happens."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.stores import tiles
from tallystick.stores.errors import (
    HeadMissingError,
    StoreBehindHeadError,
    StoreDamagedError,
    StoreForkedError,
)
from tallystick.stores.issued_head import IssuedHead
from tallystick.stores.memory import MemoryStore
from tallystick.stores.protocol import Store
from tallystick.stores.signing import check_contains, first_head, issue_head, read_again
from tallystick.stores.sqlite import create_sqlite_store, open_sqlite_store
from tallystick.stores.tiles import subtree_reader
from tallystick.tree.errors import (
    BadNoteSignatureError,
    MalformedNoteError,
    NoTrustedKeysError,
    TreeError,
    UnknownNoteSignerError,
    WrongOriginError,
)
from tallystick.tree.head import TreeHead, open_head, sign_head
from tallystick.tree.merkle import (
    EMPTY_ROOT,
    check_consistency,
    consistency_path,
    leaf_hash,
    root_of,
)
from tallystick.tree.note import add_signature, note_bytes, parse_note
from tests.stores.samples import LOG, ORIGIN, append, content_now, leaf, leaves
from tests.stores.writers import Task, is_locked, write_at_once
from tests.tree.trees import NEXT, OTHER, WITNESS

TRUSTED = [LOG.verify_key]


class CrashError(Exception):
    """The process ends here."""


class CrashingHead(IssuedHead):
    """A file whose next replacement is the last thing that the process does."""

    def __init__(self, path: Path, *, is_replaced: bool) -> None:
        super().__init__(path)
        self._is_replaced = is_replaced

    def replace(self, note: bytes) -> None:
        """Crash before or after the replacement."""
        if self._is_replaced:
            super().replace(note)
        raise CrashError


@pytest.fixture
def store() -> MemoryStore:
    """Give an empty log."""
    return MemoryStore(ORIGIN)


@pytest.fixture
def issued(tmp_path: Path) -> IssuedHead:
    """Give the file of its last issued head."""
    head = IssuedHead(tmp_path / "store.head")
    head.create(first_head(ORIGIN, LOG))
    return head


def issue(store: Store, issued: IssuedHead) -> TreeHead:
    """Issue a head of a log, with its own key, and read it."""
    return open_head(issue_head(store, issued, LOG, TRUSTED), TRUSTED).head


def naive_head(store: Store, size: int) -> TreeHead:
    """Give the head of a log at some size, computed from the bytes of its leaves."""
    hashes = [leaf_hash(data) for data in content_now(store).leaves[:size]]
    return TreeHead(ORIGIN, size, root_of(hashes))


def kept_heads(store: Store) -> dict[str, bytes]:
    """Give the heads that a log keeps of itself."""
    return {document.key: document.data for document in content_now(store).documents["head"]}


# -- signing -------------------------------------------------------------------------------


def test_the_first_head_is_that_of_the_empty_log() -> None:
    """Signed by the log's own key."""
    assert open_head(first_head(ORIGIN, LOG), TRUSTED).head == TreeHead(ORIGIN, 0, EMPTY_ROOT)


def test_heads_that_are_signed_step_by_step_have_the_defined_roots(
    store: MemoryStore, issued: IssuedHead
) -> None:
    """At any size, each goes on from the one before, and is kept at once in both places."""
    before = issue(store, issued)

    for size in (1, 2, 3, 255, 256, 257, 300, 511, 512, 1000, 1030):
        append(store, *leaves(*range(before.size, size)))
        head = issue(store, issued)

        assert head == naive_head(store, size)
        assert open_head(issued.read(), TRUSTED).head == head
        assert kept_heads(store)[f"{size}/{LOG.verify_key.keyid}"] == issued.read()
        with store.reading() as log:
            path = consistency_path(before.size, size, subtree_reader(log))
        check_consistency(before.size, before.root, size, head.root, path)
        before = head


def test_without_news_the_last_head_is_given_again(store: MemoryStore, issued: IssuedHead) -> None:
    """Byte for byte, and nothing is written."""
    append(store, *leaves(0, 1))
    first = issue_head(store, issued, LOG, TRUSTED)
    before, written_ns = content_now(store), issued.path.stat().st_mtime_ns

    second = issue_head(store, issued, LOG, TRUSTED)

    assert second == first
    assert content_now(store) == before
    assert issued.path.stat().st_mtime_ns == written_ns


def test_a_new_key_signs_the_same_head_again(store: MemoryStore, issued: IssuedHead) -> None:
    """Both are kept; the old key need not sign any more."""
    append(store, *leaves(0, 1))
    old = issue_head(store, issued, LOG, TRUSTED)
    both = [LOG.verify_key, NEXT.verify_key]

    new = issue_head(store, issued, NEXT, both)

    assert open_head(new, [NEXT.verify_key]).head == open_head(old, TRUSTED).head
    assert kept_heads(store) == {
        f"2/{LOG.verify_key.keyid}": old,
        f"2/{NEXT.verify_key.keyid}": new,
    }
    append(store, leaf(2))
    last = issue_head(store, issued, NEXT, both)
    assert open_head(last, [NEXT.verify_key]).head == naive_head(store, 3)


def test_a_witnessed_head_may_be_brought_back(store: MemoryStore, issued: IssuedHead) -> None:
    """It has one signature more than the one that was lost."""
    append(store, *leaves(0, 1))
    note = issue_head(store, issued, LOG, TRUSTED)
    witnessed = note_bytes(add_signature(parse_note(note), WITNESS))
    issued.path.write_bytes(witnessed)

    again = issue_head(store, issued, LOG, TRUSTED)

    assert again == witnessed
    assert list(kept_heads(store).values()) == [note]


def test_an_older_head_of_the_log_may_be_brought_back(
    store: MemoryStore, issued: IssuedHead
) -> None:
    """What was signed after it is signed again, word for word."""
    append(store, *leaves(*range(3)))
    older = issue_head(store, issued, LOG, TRUSTED)
    append(store, *leaves(*range(3, 600)))
    newer = issue_head(store, issued, LOG, TRUSTED)
    issued.path.write_bytes(older)

    again = issue_head(store, issued, LOG, TRUSTED)

    assert again == newer == issued.read()
    assert list(kept_heads(store).values()) == [older, newer]


def test_a_head_is_issued_under_the_lock_of_its_file(
    store: MemoryStore, issued: IssuedHead
) -> None:
    """Two copies of a log may share the file, and have no other lock in common."""
    locked = []

    class WatchedHead(IssuedHead):
        """A file that looks at its lock."""

        def read(self) -> bytes:
            """Look, and read."""
            locked.append(is_locked(self))
            return super().read()

        def replace(self, note: bytes) -> None:
            """Look, and replace."""
            locked.append(is_locked(self))
            super().replace(note)

    append(store, leaf(0))

    issue(store, WatchedHead(issued.path))

    assert locked == [True, True]
    assert not is_locked(issued)


# -- what is not signed --------------------------------------------------------------------


def test_a_log_behind_its_last_head_is_not_signed(store: MemoryStore, issued: IssuedHead) -> None:
    """It was restored from a backup, and the records that are missing are somewhere."""
    append(store, *leaves(*range(5)))
    issue(store, issued)
    note = issued.read()
    restored = MemoryStore(ORIGIN)
    append(restored, *leaves(*range(4)))

    with pytest.raises(StoreBehindHeadError) as refused:
        issue(restored, issued)

    assert refused.value.args == (4, 5)
    assert issued.read() == note


@pytest.mark.parametrize("size", [5, 6, 300])
def test_another_log_of_that_name_is_not_signed(
    store: MemoryStore, issued: IssuedHead, size: int
) -> None:
    """It was restored from a backup and went on, to the same size or beyond."""
    append(store, *leaves(*range(5)))
    issue(store, issued)
    note = issued.read()
    forked = MemoryStore(ORIGIN)
    append(forked, *leaves(*range(4)), *leaves(*range(100, 96 + size)))

    with pytest.raises(StoreForkedError) as refused:
        issue(forked, issued)

    assert refused.value.args == (5,)
    assert issued.read() == note
    assert kept_heads(forked) == {}


def test_a_backup_is_signed_when_the_missing_records_are_back(
    store: MemoryStore, issued: IssuedHead
) -> None:
    """The same leaves in the same order are the same log."""
    append(store, *leaves(*range(5)))
    issue(store, issued)
    restored = MemoryStore(ORIGIN)
    append(restored, *leaves(*range(3)))
    append(restored, *leaves(3, 4, 5))

    assert issue(restored, issued) == naive_head(restored, 6)


def test_without_the_last_head_nothing_is_signed(store: MemoryStore, issued: IssuedHead) -> None:
    """It is not made anew, even if the log is empty."""
    issued.path.unlink()

    with pytest.raises(HeadMissingError):
        issue(store, issued)

    assert not issued.path.exists()


def other_log(head: TreeHead) -> bytes:
    """Write the head of another log, by its own key."""
    return sign_head(TreeHead(OTHER.name, head.size, head.root), [OTHER])


def flipped(head: TreeHead) -> bytes:
    """Write a head whose signature is of something else."""
    return sign_head(head, [LOG]).replace(f"\n{head.size}\n".encode(), b"\n1\n")


def cut(head: TreeHead) -> bytes:
    """Write a head by half."""
    return sign_head(head, [LOG])[:-20]


def nothing(head: TreeHead) -> bytes:
    """Write nothing."""
    del head
    return b""


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (other_log, UnknownNoteSignerError),
        (flipped, BadNoteSignatureError),
        (cut, MalformedNoteError),
        (nothing, MalformedNoteError),
    ],
)
def test_with_something_else_for_the_last_head_nothing_is_signed(
    store: MemoryStore,
    issued: IssuedHead,
    write: Callable[[TreeHead], bytes],
    error: type[TreeError],
) -> None:
    """Not even the head of another log whose key is trusted, and that has the same leaves."""
    append(store, *leaves(0, 1))
    issued.path.write_bytes(write(naive_head(store, 2)))
    before = issued.read()
    append(store, leaf(2))

    with pytest.raises(error):
        issue_head(store, issued, LOG, [*TRUSTED, OTHER.verify_key])

    assert issued.read() == before
    assert kept_heads(store) == {}


def test_a_log_is_signed_by_keys_of_its_name_only(store: MemoryStore, issued: IssuedHead) -> None:
    """Another key, or no key to check the last head with, leaves all as it is."""
    append(store, *leaves(*range(300)))
    before, note = content_now(store), issued.read()

    with pytest.raises(WrongOriginError):
        issue_head(store, issued, OTHER, [*TRUSTED, OTHER.verify_key])
    with pytest.raises(NoTrustedKeysError):
        issue_head(store, issued, LOG, [OTHER.verify_key])

    assert content_now(store) == before
    assert issued.read() == note


# -- damage --------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the file of a log with 3 leaves and their head, and 300 more that no head has yet."""
    create_sqlite_store(tmp_path / "log.db", ORIGIN)
    IssuedHead(tmp_path / "log.head").create(first_head(ORIGIN, LOG))
    with closing(open_sqlite_store(tmp_path / "log.db")) as store:
        append(store, *leaves(0, 1, 2))
        issue(store, IssuedHead(tmp_path / "log.head"))
        append(store, *leaves(*range(3, 303)))
    return tmp_path / "log.db"


def flip(path: Path, first: int, column: str, byte: int, bits: int = 1) -> None:
    """Change a byte of a stored batch, past the triggers."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("DROP TRIGGER batch_update")
        stored = connection.execute(f"SELECT {column} FROM batch WHERE first = ?", (first,)).get  # noqa: S608
        changed = bytearray(stored)
        changed[byte] ^= bits
        connection.execute(
            f"UPDATE batch SET {column} = ? WHERE first = ?",  # noqa: S608
            (bytes(changed), first),
        )


@pytest.mark.parametrize(
    ("first", "column", "byte", "bits", "number"),
    [
        (3, "leaves", 0, 1, 3),
        (3, "leaves", -1, 1, 302),
        (3, "leaves", len(b"leaf 3\nleaf 4\nlea"), 0x80, 5),
        (3, "leaves", len(b"leaf 3"), 0x2A, 3),
        (3, "leaves", len(b"leaf"), 0x2A, 3),
        (3, "hashes", 32, 1, 4),
        (3, "hashes", -1, 0x80, 302),
        (0, "leaves", 0, 1, 0),
        (0, "leaves", len(b"leaf 0\nleaf"), 0x2A, 1),
    ],
)
def test_a_changed_leaf_is_not_signed(
    path: Path, first: int, column: str, byte: int, bits: int, number: int
) -> None:
    """The error names it: its bytes, a line end made or lost, or its hash; old or new."""
    issued = IssuedHead(path.with_name("log.head"))
    note = issued.read()
    flip(path, first, column, byte, bits)

    with closing(open_sqlite_store(path)) as store:
        with pytest.raises(StoreDamagedError) as refused:
            issue(store, issued)
        heads = kept_heads(store)
        nodes = content_now(store).documents["node"]

    assert refused.value.args == (ORIGIN, f"leaf {number} is not the one that was admitted")
    assert issued.read() == note
    assert list(heads.values()) == [note]
    assert nodes == []


def test_a_changed_hash_of_a_signed_leaf_is_not_signed(path: Path) -> None:
    """The log is not that of its last head any more."""
    flip(path, 0, "hashes", 40)

    with closing(open_sqlite_store(path)) as store, pytest.raises(StoreForkedError):
        issue(store, IssuedHead(path.with_name("log.head")))


def test_leaves_are_read_again_with_their_hashes(store: MemoryStore) -> None:
    """In order, any range of them."""
    append(store, *leaves(*range(5)))

    with store.reading() as log:
        pairs = list(read_again(log, 1, 4, "name"))

    assert pairs == [(each.data, each.hash) for each in leaves(1, 2, 3)]


def test_a_store_that_met_damage_goes_on(path: Path) -> None:
    """The error is kept by whoever caught it, and keeps nobody at an old moment."""
    flip(path, 3, "leaves", 0)

    with closing(open_sqlite_store(path, wait_s=0)) as store:
        with pytest.raises(StoreDamagedError) as refused:
            issue(store, IssuedHead(path.with_name("log.head")))
        with closing(open_sqlite_store(path)) as other:
            append(other, leaf(1000))
        first = append(store, leaf(1001))

    assert first == 304
    assert refused.value.args[0] == ORIGIN


# -- heads of a log ------------------------------------------------------------------------


def test_a_log_contains_its_own_heads(store: MemoryStore) -> None:
    """Of every size that it had."""
    append(store, *leaves(*range(20)))

    with store.reading() as log:
        for size in range(21):
            check_contains(log, naive_head(store, size))


@pytest.mark.parametrize("size", [1, 3, 20])
def test_a_log_does_not_contain_another_head(store: MemoryStore, size: int) -> None:
    """Of the same name and size."""
    append(store, *leaves(*range(20)))

    with store.reading() as log, pytest.raises(StoreForkedError):
        check_contains(log, TreeHead(ORIGIN, size, b"\0" * 32))


# -- crashes -------------------------------------------------------------------------------


def test_a_crash_before_the_head_is_kept_leaves_all_as_it_was(
    store: MemoryStore, issued: IssuedHead
) -> None:
    """It was not issued."""
    append(store, *leaves(0, 1))
    before, note = content_now(store), issued.read()

    with pytest.raises(CrashError):
        issue(store, CrashingHead(issued.path, is_replaced=False))

    assert (content_now(store), issued.read()) == (before, note)
    assert issue(store, issued) == naive_head(store, 2)


def test_a_head_that_was_kept_before_a_crash_was_issued(
    store: MemoryStore, issued: IssuedHead
) -> None:
    """Without news it is given, and is in the log then as if nothing had happened."""
    append(store, *leaves(*range(300)))
    with pytest.raises(CrashError):
        issue(store, CrashingHead(issued.path, is_replaced=True))
    kept = issued.read()

    note = issue_head(store, issued, LOG, TRUSTED)

    assert note == kept
    assert kept_heads(store) == {f"300/{LOG.verify_key.keyid}": note}


def test_after_a_crash_the_log_goes_on_from_the_head_that_was_kept(
    store: MemoryStore, issued: IssuedHead
) -> None:
    """Though nothing else of it was."""
    append(store, *leaves(*range(300)))
    with pytest.raises(CrashError):
        issue(store, CrashingHead(issued.path, is_replaced=True))
    append(store, *leaves(*range(300, 600)))

    head = issue(store, issued)

    assert head == naive_head(store, 600)
    names = [document.key for document in content_now(store).documents["node"]]
    assert names == ["1/0", "1/1"]


class Told:
    """All heads that were ever issued of one log, each size once."""

    def __init__(self) -> None:
        self.roots: dict[int, bytes] = {}

    def tell(self, head: TreeHead) -> None:
        """Hear of a head; a size has one root for ever."""
        assert self.roots.setdefault(head.size, head.root) == head.root


@settings(max_examples=30)
@given(
    st.lists(
        st.one_of(st.integers(0, 30), st.sampled_from(["issue", "before", "after", "open"])),
        max_size=14,
    )
)
def test_whatever_crashes_there_is_one_history(story: list[int | str]) -> None:
    """All heads that were issued, kept or told, are heads of the log as it is in the end."""
    told = Told()
    with TemporaryDirectory() as folder, patch.multiple(tiles, TILE_BITS=2, TILE_HASHES=4):
        path, head_path = Path(folder) / "log.db", Path(folder) / "head"
        create_sqlite_store(path, ORIGIN)
        issued = IssuedHead(head_path)
        issued.create(first_head(ORIGIN, LOG))
        store = open_sqlite_store(path)
        for step in [*story, "issue"]:
            size = len(content_now(store).leaves)
            if isinstance(step, int):
                append(store, *leaves(*range(size, size + step)))
            elif step == "open":
                store.close()
                store = open_sqlite_store(path)
            elif step == "issue":
                told.tell(issue(store, issued))
            else:
                with suppress(CrashError):
                    issue(store, CrashingHead(head_path, is_replaced=step == "after"))
                told.tell(open_head(issued.read(), TRUSTED).head)
        for note in kept_heads(store).values():
            told.tell(open_head(note, TRUSTED).head)
        for size, root in told.roots.items():
            assert naive_head(store, size).root == root
        store.close()


def test_a_backup_that_is_brought_back_is_refused(path: Path, tmp_path: Path) -> None:
    """A copy of the file from before the last head is behind it, and forks when it goes on."""
    issued = IssuedHead(path.with_name("log.head"))
    backup = tmp_path / "backup.db"
    shutil.copyfile(path, backup)
    with closing(open_sqlite_store(path)) as store:
        append(store, leaf(1000))
        issue(store, issued)

    with closing(open_sqlite_store(backup)) as store:
        with pytest.raises(StoreBehindHeadError):
            issue(store, issued)
        append(store, *leaves(2000, 2001))
        with pytest.raises(StoreForkedError):
            issue(store, issued)


# -- other processes -----------------------------------------------------------------------


@pytest.fixture
def at_once(tmp_path: Path) -> Iterator[Store]:
    """Give a log to which three processes have written while each issued heads."""
    create_sqlite_store(tmp_path / "log.db", ORIGIN)
    IssuedHead(tmp_path / "log.head").create(first_head(ORIGIN, LOG))
    tasks = [
        Task(tmp_path / "log.db", writer, 8, 40, settle_leaves=100, heads=tmp_path / "log.head")
        for writer in range(3)
    ]
    write_at_once(tasks)
    with closing(open_sqlite_store(tmp_path / "log.db")) as store:
        yield store


def test_processes_that_issue_at_once_give_one_root_for_a_size(at_once: Store) -> None:
    """Each head is that of the log as it is in the end, and the last is that of all."""
    heads = [open_head(note, TRUSTED).head for note in kept_heads(at_once).values()]

    assert len(heads) > 8
    assert [head.size for head in heads] == sorted({head.size for head in heads})
    for head in heads:
        assert head == naive_head(at_once, head.size)
    assert heads[-1].size == len(content_now(at_once).leaves) == 3 * 8 * 40 + 8
