"""What every store does, sentence by sentence of its contract.

A class that inherits ``StoreConformance`` says how its stores are made and opened, and runs
all of this. A place opens one store as often as it is asked: each time as another process
would, where the store outlives its process at all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    rule,
    run_state_machine_as_test,
)

from tallystick.stores.errors import (
    DocumentConflictError,
    DuplicateLeafError,
    NoSuchLeafError,
    StoreBusyError,
)
from tallystick.stores.protocol import Document, NewLeaf, Reading, Shelf, Store
from tests.stores.samples import (
    ORIGIN,
    SHELVES,
    Content,
    append,
    content,
    content_now,
    data_of,
    key,
    keys,
    leaf,
    leaves,
    put,
)

MEGABYTE = 1 << 20
EMPTY = Content([], [], {shelf: [] for shelf in SHELVES})

Open = Callable[[], Store]
"""Opens the store of a place once more; with no patience, so that nothing is waited for."""


Step = Sequence[NewLeaf] | Mapping[str, bytes] | type[BaseException]
"""What a block does: leaves to append, documents of the shelf ``head`` to put, or an error."""


def write(store: Store, *steps: Step) -> None:
    """Do several things in one transaction."""
    with store.writing() as log:
        for step in steps:
            if isinstance(step, type):
                raise step
            if isinstance(step, Sequence):
                log.append(step)
            else:
                for name, data in step.items():
                    log.put("head", name, data)


def read_half(store: Store, error: type[BaseException]) -> None:
    """Raise an error while leaves are read."""
    with store.reading() as log:
        for _ in log.leaves(0, log.size):
            raise error


def end(error: type[BaseException] | None) -> None:
    """Raise an error, if there is to be one."""
    if error is not None:
        raise error


class StoreConformance:
    """The contract; a store's own class gives ``place``."""

    @contextmanager
    def place(self, folder: Path) -> Iterator[Open]:
        """Make a new store, named ``ORIGIN``, and close in the end whatever was opened."""
        raise NotImplementedError

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Open]:
        """Give what opens one store."""
        with self.place(tmp_path) as opened:
            yield opened

    @pytest.fixture
    def store(self, opened: Open) -> Store:
        """Give an open, empty store."""
        return opened()

    # -- a new store -----------------------------------------------------------------------

    def test_a_store_has_the_name_that_it_was_made_with(self, opened: Open) -> None:
        """Whoever opens it."""
        assert [opened().origin, opened().origin] == [ORIGIN, ORIGIN]

    def test_a_new_store_is_empty(self, store: Store) -> None:
        """No leaf, no document, no identity."""
        with store.reading() as log:
            assert log.size == 0
            assert content(log) == EMPTY
            assert log.find(keys(0, 1)) == {}
            assert log.document("head", "0") is None

    # -- leaves ----------------------------------------------------------------------------

    def test_leaves_are_numbered_from_0_in_the_order_of_append(self, store: Store) -> None:
        """Each call gives the number of its first leaf, in one transaction and the next."""
        with store.writing() as log:
            firsts = [log.append(leaves(7, 3)), log.append(leaves(5))]
        firsts.append(append(store, *leaves(1, 9)))

        assert firsts == [0, 2, 3]
        assert content_now(store).leaves == data_of(leaves(7, 3, 5, 1, 9))

    def test_a_number_never_changes(self, store: Store) -> None:
        """What is appended later stands behind."""
        append(store, *leaves(1, 2))
        before = content_now(store).leaves

        append(store, *leaves(*range(10, 40)))

        assert content_now(store).leaves[:2] == before

    def test_a_leaf_is_kept_byte_for_byte(self, store: Store) -> None:
        """All bytes but LF, no byte at all, blanks at both ends."""
        every = bytes(set(range(256)) - {ord("\n")})
        appended = [leaf(0, every), leaf(1, b""), leaf(2, b" \r\t "), leaf(3, b"\x00")]

        append(store, *appended)

        assert content_now(store).leaves == data_of(appended)

    def test_equal_leaves_may_have_different_identities(self, store: Store) -> None:
        """Only the identity is unique."""
        append(store, leaf(0, b"same"), leaf(1, b"same"))

        assert content_now(store).leaves == [b"same", b"same"]

    def test_a_hash_is_the_one_of_admission(self, store: Store) -> None:
        """It is kept as it was given, and not made from what is stored."""
        admitted = NewLeaf(b"data", b"h" * 32, key(0))

        append(store, admitted)

        assert content_now(store).hashes == [b"h" * 32]

    def test_every_range_of_leaves_can_be_read(self, store: Store) -> None:
        """However they were appended, from and to any number."""
        appended = leaves(*range(12))
        for start, stop in ((0, 1), (1, 4), (4, 4), (4, 9), (9, 12)):
            append(store, *appended[start:stop])
        ranges = [(start, stop) for stop in range(13) for start in range(stop + 1)]

        with store.reading() as log:
            data = [list(log.leaves(start, stop)) for start, stop in ranges]
            hashes = [list(log.hashes(start, stop)) for start, stop in ranges]

        assert data == [data_of(appended[start:stop]) for start, stop in ranges]
        assert hashes == [[each.hash for each in appended[start:stop]] for start, stop in ranges]

    @pytest.mark.parametrize("size", [0, 3])
    def test_a_range_beyond_the_end_is_a_wrong_call(self, store: Store, size: int) -> None:
        """Of leaves and of hashes, from any number; the error names the last and the size."""
        append(store, *leaves(*range(size)))

        with store.reading() as log:
            for read in (log.leaves, log.hashes):
                for start in range(size + 2):
                    with pytest.raises(NoSuchLeafError) as refused:
                        list(read(start, size + 1))
                    assert refused.value.args == (size, size)

    @pytest.mark.parametrize(("start", "stop"), [(-1, 1), (-2, -1), (2, 1), (4, 4)])
    def test_a_range_that_is_none_is_a_wrong_call(
        self, store: Store, start: int, stop: int
    ) -> None:
        """From before the first, backwards, or empty behind the end."""
        append(store, *leaves(0, 1, 2))

        with store.reading() as log:
            for read in (log.leaves, log.hashes):
                with pytest.raises(NoSuchLeafError):
                    list(read(start, stop))

    def test_nothing_may_be_appended(self, store: Store) -> None:
        """An empty batch gives the number that the next leaf will have, and adds none."""
        with store.writing() as log:
            first = [log.append([]), log.append(leaves(1)), log.append([])]

        assert first == [0, 0, 1]
        assert content_now(store).leaves == data_of(leaves(1))

    def test_a_block_may_write_nothing(self, store: Store) -> None:
        """It ends, and nothing is there."""
        with store.writing():
            pass

        assert content_now(store) == EMPTY

    def test_large_leaves_are_kept(self, store: Store) -> None:
        """Beyond a megabyte, between small ones, and many that are large together."""
        sizes = [1, MEGABYTE - 1, MEGABYTE, MEGABYTE + 1, 3 * MEGABYTE, 1]
        sizes += [MEGABYTE // 3] * 4
        appended = [leaf(number, b"x" * size) for number, size in enumerate(sizes)]

        append(store, *appended)

        with store.reading() as log:
            for number, each in enumerate(appended):
                assert list(log.leaves(number, number + 1)) == [each.data]

    @pytest.mark.parametrize("count", [1023, 1024, 1025, 2500])
    def test_many_leaves_are_kept_in_one_call(self, store: Store, count: int) -> None:
        """In order, each with its hash and its identity."""
        appended = leaves(*range(count))

        append(store, *appended)

        with store.reading() as log:
            assert list(log.leaves(0, count)) == data_of(appended)
            assert list(log.hashes(count - 3, count)) == [each.hash for each in appended[-3:]]
            assert log.find([each.key for each in appended]) == {
                each.key: number for number, each in enumerate(appended)
            }

    # -- identities ------------------------------------------------------------------------

    def test_of_the_identities_asked_for_those_that_are_there_are_given(self, store: Store) -> None:
        """Unknown ones are left out, one that is asked for twice is given once."""
        append(store, *leaves(5, 6, 7))

        with store.reading() as log:
            assert log.find(keys(7, 99, 5, 7)) == {key(7): 2, key(5): 0}
            assert log.find(keys(98, 99)) == {}
            assert log.find([]) == {}

    def test_a_writing_finds_what_it_has_appended(self, store: Store) -> None:
        """Together with what was there, before it is committed; others do not."""
        append(store, *leaves(0))

        with store.writing() as log:
            log.append(leaves(1))
            found = log.find(keys(0, 1, 2))
            with store.reading() as other:
                found_by_other = other.find(keys(0, 1, 2))

        assert found == {key(0): 0, key(1): 1}
        assert found_by_other == {key(0): 0}

    def test_what_failed_is_not_found(self, store: Store) -> None:
        """Neither by a reading nor by the next writing, which may append it."""
        with suppress(ZeroDivisionError), store.writing() as log:
            log.append(leaves(0))
            raise ZeroDivisionError

        with store.reading() as log:
            assert log.find(keys(0)) == {}
        with store.writing() as log:
            assert log.find(keys(0)) == {}
            assert log.append(leaves(1, 0)) == 0
            assert log.find(keys(0)) == {key(0): 1}

    @pytest.mark.parametrize("asked", [False, True])
    def test_an_identity_comes_once_in_a_call(self, store: Store, asked: bool) -> None:  # noqa: FBT001
        """Whether it was looked for before or not."""
        with store.writing() as log:
            if asked:
                log.find(keys(0, 1))
            with pytest.raises(DuplicateLeafError):
                log.append(leaves(0, 1, 0))

    @pytest.mark.parametrize("asked", [False, True])
    def test_an_identity_comes_once_in_a_transaction(self, store: Store, asked: bool) -> None:  # noqa: FBT001
        """Whether it was looked for before or not."""
        with store.writing() as log:
            if asked:
                log.find(keys(0, 1))
            log.append(leaves(0, 1))
            with pytest.raises(DuplicateLeafError):
                log.append(leaves(2, 1))

    def test_an_identity_comes_once_in_a_log(self, opened: Open) -> None:
        """Whoever appended it, and with whatever bytes."""
        first, second = opened(), opened()
        append(first, *leaves(0, 1))

        with second.writing() as log, pytest.raises(DuplicateLeafError):
            log.append([leaf(2), leaf(1, b"other")])

    def test_a_duplicate_adds_nothing_and_the_writing_goes_on(self, store: Store) -> None:
        """The call is refused whole; what came before it and comes after it counts."""
        with store.writing() as log:
            log.append(leaves(0))
            with pytest.raises(DuplicateLeafError):
                log.append(leaves(1, 0, 2))
            size, found = log.size, log.find(keys(0, 1, 2))
            log.append(leaves(2, 1))

        assert (size, found) == (1, {key(0): 0})
        assert content_now(store).leaves == data_of(leaves(0, 2, 1))

    def test_a_duplicate_that_leaves_the_block_takes_all_of_it_along(self, store: Store) -> None:
        """It is an error like any other."""
        append(store, *leaves(0))
        before = content_now(store)

        with pytest.raises(DuplicateLeafError):
            write(store, leaves(1), {"a": b"1"}, leaves(0))

        assert content_now(store) == before

    # -- documents -------------------------------------------------------------------------

    def test_a_document_is_kept_under_its_name(self, store: Store) -> None:
        """Any bytes, none among them; what is not there is None."""
        put(store, "head", "a", bytes(range(256)))
        put(store, "head", "b", b"")

        with store.reading() as log:
            assert log.document("head", "a") == bytes(range(256))
            assert log.document("head", "b") == b""
            assert log.document("head", "c") is None

    def test_shelves_are_apart(self, store: Store) -> None:
        """One name may stand on each of them."""
        for shelf in SHELVES:
            put(store, shelf, "name", shelf.encode())

        with store.reading() as log:
            assert [log.document(shelf, "name") for shelf in SHELVES] == [
                shelf.encode() for shelf in SHELVES
            ]

    def test_documents_are_listed_in_the_order_of_put(self, store: Store) -> None:
        """Of one shelf only, whatever lies between, and whatever they are called."""
        with store.writing() as log:
            log.put("head", "z", b"1")
            log.put("node", "y", b"2")
            log.put("head", "a", b"3")
        put(store, "head", "é", b"4")
        put(store, "head", "", b"5")

        with store.reading() as log:
            assert list(log.documents("head")) == [
                Document("z", b"1"),
                Document("a", b"3"),
                Document("é", b"4"),
                Document("", b"5"),
            ]

    def test_the_same_document_put_again_changes_nothing(self, store: Store) -> None:
        """Not even its place, in the same transaction and in a later one."""
        with store.writing() as log:
            log.put("head", "a", b"1")
            log.put("head", "a", b"1")
        put(store, "head", "b", b"2")
        before = content_now(store)

        put(store, "head", "a", b"1")

        assert content_now(store) == before
        assert before.documents["head"] == [Document("a", b"1"), Document("b", b"2")]

    @pytest.mark.parametrize("other", [b"", b"10", b"\x00"])
    def test_another_document_of_that_name_is_refused(self, store: Store, other: bytes) -> None:
        """The first stays, and the writing goes on."""
        put(store, "head", "a", b"1")

        with store.writing() as log:
            with pytest.raises(DocumentConflictError) as refused:
                log.put("head", "a", other)
            log.put("head", "b", b"2")

        assert refused.value.args == ("head", "a")
        assert content_now(store).documents["head"] == [Document("a", b"1"), Document("b", b"2")]

    def test_a_conflict_within_a_transaction_is_refused(self, store: Store) -> None:
        """A writing sees its own documents."""
        with pytest.raises(DocumentConflictError):
            write(store, {"a": b"1"}, {"a": b"2"})

        assert content_now(store) == EMPTY

    # -- transactions ----------------------------------------------------------------------

    def test_what_was_written_is_there_when_the_store_is_opened_again(self, opened: Open) -> None:
        """Leaves, hashes, identities and documents."""
        store = opened()
        with store.writing() as log:
            log.append(leaves(0, 1))
            log.put("receipt", "r", b"envelope")
        before = content_now(store)
        store.close()

        again = opened()

        assert content_now(again) == before
        with again.reading() as log:
            assert log.find(keys(0, 1)) == {key(0): 0, key(1): 1}
        assert append(again, leaf(2)) == 2

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_a_block_that_ends_with_an_error_has_written_nothing(
        self, opened: Open, error: type[BaseException]
    ) -> None:
        """The error goes on, and the store is as before, for its holder and for others."""
        store, other = opened(), opened()
        append(store, *leaves(0))
        put(store, "head", "a", b"1")
        before = content_now(store)

        with pytest.raises(error):
            write(store, leaves(*range(1, 9)), {"b": b"2"}, error)

        assert [content_now(each) for each in (store, other, opened())] == [before] * 3

    def test_after_an_error_the_numbers_and_names_are_free(self, store: Store) -> None:
        """The next block writes as if the failed one had not been."""
        with suppress(ValueError), store.writing() as log:
            log.append(leaves(0, 1))
            log.put("head", "a", b"1")
            raise ValueError

        with store.writing() as log:
            first = log.append(leaves(1))
            log.put("head", "a", b"2")

        assert first == 0
        assert content_now(store).documents["head"] == [Document("a", b"2")]

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_a_reading_that_ends_with_an_error_lets_the_store_go_on(
        self, store: Store, error: type[BaseException]
    ) -> None:
        """It goes through, and the next blocks read and write."""
        append(store, *leaves(0))

        with pytest.raises(error):
            read_half(store, error)

        assert append(store, leaf(1)) == 1
        assert content_now(store).leaves == data_of(leaves(0, 1))

    def test_a_writing_sees_its_own_writes(self, store: Store) -> None:
        """Size, leaves, hashes, identities and documents, on top of what was there."""
        append(store, *leaves(0))
        put(store, "head", "a", b"1")

        with store.writing() as log:
            log.append(leaves(1))
            log.put("head", "b", b"2")
            seen = content(log)
            size, document = log.size, log.document("head", "b")

        assert (size, document) == (2, b"2")
        assert seen == content_now(store)
        assert seen.leaves == data_of(leaves(0, 1))
        assert seen.documents["head"] == [Document("a", b"1"), Document("b", b"2")]

    # -- readings and writings at once -----------------------------------------------------

    @pytest.mark.parametrize("is_same", [True, False])
    def test_a_reading_within_a_writing_sees_what_was_before(
        self,
        opened: Open,
        is_same: bool,  # noqa: FBT001
    ) -> None:
        """By the same holder and by another, until it ends, even after the commit."""
        writer = opened()
        reader = writer if is_same else opened()
        append(writer, *leaves(0))
        before = content_now(writer)

        with ExitStack() as stack:
            with writer.writing() as log:
                log.append(leaves(1))
                log.put("head", "a", b"1")
                other = stack.enter_context(reader.reading())
                during = content(other)
            after = content(other)
            found = other.find(keys(0, 1))

        assert [during, after] == [before, before]
        assert found == {key(0): 0}
        assert content_now(reader).leaves == data_of(leaves(0, 1))

    @pytest.mark.parametrize("is_same", [True, False])
    def test_a_reading_stays_at_its_moment_whatever_is_written(
        self,
        opened: Open,
        is_same: bool,  # noqa: FBT001
    ) -> None:
        """A writing within a reading is not seen by it, in any way; the next reading sees it."""
        reader = opened()
        writer = reader if is_same else opened()
        append(reader, *leaves(0))
        before = content_now(reader)

        with reader.reading() as log:
            append(writer, *leaves(1, 2))
            put(writer, "head", "a", b"1")

            assert log.size == 1
            assert content(log) == before
            assert log.find(keys(0, 1, 2)) == {key(0): 0}
            assert log.document("head", "a") is None
            with pytest.raises(NoSuchLeafError):
                list(log.leaves(0, 2))
        with reader.reading() as log:
            assert log.size == 3
            assert log.find(keys(0, 1, 2)) == {key(0): 0, key(1): 1, key(2): 2}

    def test_the_moment_of_a_reading_is_the_begin_of_its_block(self, opened: Open) -> None:
        """What is written before its first use is not seen either."""
        reader, writer = opened(), opened()

        with reader.reading() as log:
            append(writer, *leaves(0))
            seen = content(log)

        assert seen == EMPTY

    def test_readings_within_readings_have_each_their_moment(self, opened: Open) -> None:
        """In whatever order they ask."""
        store, writer = opened(), opened()
        moments: list[tuple[Reading, Content]] = []

        with ExitStack() as stack:
            for number in range(4):
                log = stack.enter_context(store.reading())
                moments.append((log, content_now(store)))
                append(writer, leaf(number))
                put(writer, "head", f"{number}", b"")
            for log, expected in [*moments, *reversed(moments)]:
                assert content(log) == expected
                assert log.find(keys(*range(4))) == {
                    key(number): number for number in range(log.size)
                }

    def test_one_writes_at_a_time_and_the_wait_of_others_ends(self, opened: Open) -> None:
        """A second writing is refused, by the same holder or another; the first goes on."""
        first, second = opened(), opened()

        with first.writing() as log:
            log.append(leaves(0))
            for store in (first, second):
                with pytest.raises(StoreBusyError), store.writing():
                    pytest.fail("two write at once")
            log.append(leaves(1))

        assert content_now(second).leaves == data_of(leaves(0, 1))
        assert append(second, leaf(2)) == 2
        assert append(first, leaf(3)) == 3

    def test_holders_see_what_others_wrote(self, opened: Open) -> None:
        """At the next block; numbers, identities and the order of documents go on."""
        holders = [opened(), opened(), opened()]

        for number in range(9):
            store = holders[number % 3]
            assert append(store, leaf(number)) == number
            put(store, "head", f"{number}", b"")

        for store in holders:
            now = content_now(store)
            assert now.leaves == data_of(leaves(*range(9)))
            assert [document.key for document in now.documents["head"]] == list("012345678")
            with store.reading() as log:
                assert log.find(keys(*range(9))) == {key(number): number for number in range(9)}

    def test_what_is_read_by_half_keeps_nobody_at_an_old_moment(self, opened: Open) -> None:
        """The next block sees what others wrote meanwhile, and may write."""
        store, other = opened(), opened()
        append(store, *leaves(*range(5)))
        put(store, "head", "a", b"1")
        put(store, "head", "b", b"2")
        with store.reading() as log:
            halves = (log.leaves(0, 5), log.hashes(0, 5), log.documents("head"))
            for half in halves:
                next(half)
        append(other, leaf(5))

        with store.reading() as log:
            size = log.size

        assert size == 6
        assert append(store, leaf(6)) == 6
        assert len(halves) == 3

    def test_closing_one_leaves_the_others_alone(self, opened: Open) -> None:
        """What was written stays, for those who hold the store and who open it later."""
        first, second = opened(), opened()
        append(first, *leaves(0))

        first.close()

        assert append(second, leaf(1)) == 1
        assert content_now(opened()).leaves == data_of(leaves(0, 1))

    def test_any_story_is_told_as_in_a_list(self) -> None:
        """Several holders, old readings, errors and reopenings, against lists in memory."""

        class Story(_Story):
            """The story of a store of this kind."""

            suite = self

        run_state_machine_as_test(
            Story,
            settings=settings(max_examples=25, stateful_step_count=25, deadline=None),
        )


class _View(NamedTuple):
    """An open reading, and what it must show."""

    block: AbstractContextManager[Reading]
    log: Reading
    expected: Content
    numbers: dict[bytes, int]


class _Story(RuleBasedStateMachine):
    """Two holders of a store; ``held`` and ``numbers`` say what it must contain."""

    views: Bundle[_View] = Bundle("views")
    holder = st.integers(0, 1)
    numbers_new = st.lists(st.integers(0, 40), max_size=4)
    names_new = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([b"1", b"2"]))

    suite: ClassVar[StoreConformance]

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = self.stack.enter_context(TemporaryDirectory())
        self.opened = self.stack.enter_context(self.suite.place(Path(folder)))
        self.holders = [self.opened(), self.opened()]
        self.held = EMPTY
        self.numbers: dict[bytes, int] = {}

    @initialize(size=st.integers(0, 6))
    def begin(self, size: int) -> None:
        """Begin with some leaves that no later rule appends."""
        self.write(0, [100 + number for number in range(size)], {}, fails=False)

    @rule(holder=holder, new=numbers_new, names=names_new, fails=st.booleans())
    def write(self, holder: int, new: list[int], names: dict[str, bytes], *, fails: bool) -> None:
        """Write, in good order or against the rules, and end the block well or not."""
        appended, kept = leaves(*new), self.held.documents["head"]
        known = {document.key: document.data for document in kept}
        is_bad = len(set(new)) < len(new) or any(each.key in self.numbers for each in appended)
        is_bad = is_bad or any(known.get(name, data) != data for name, data in names.items())
        try:
            with self.holders[holder].writing() as log:
                assert log.size == len(self.held.leaves)
                assert log.append(appended) == len(self.held.leaves)
                for name, data in names.items():
                    log.put("head", name, data)
                end(KeyboardInterrupt if fails else None)
        except (DuplicateLeafError, DocumentConflictError):
            assert is_bad
        except KeyboardInterrupt:
            assert not is_bad
        else:
            assert not is_bad
            self._remember(appended, {**known, **names})

    def _remember(self, appended: list[NewLeaf], documents: dict[str, bytes]) -> None:
        first = len(self.held.leaves)
        self.numbers = self.numbers | {
            each.key: number for number, each in enumerate(appended, start=first)
        }
        shelves: dict[Shelf, list[Document]] = {
            "head": [Document(name, data) for name, data in documents.items()]
        }
        self.held = Content(
            self.held.leaves + data_of(appended),
            self.held.hashes + [each.hash for each in appended],
            self.held.documents | shelves,
        )

    @rule(target=views, holder=holder)
    def look(self, holder: int) -> _View:
        """Open a reading, and leave it open."""
        block = self.holders[holder].reading()
        return _View(block, block.__enter__(), self.held, self.numbers)

    @rule(view=views)
    def compare(self, view: _View) -> None:
        """Read all of a reading that is open."""
        asked = keys(*range(41), *range(100, 106))

        assert content(view.log) == view.expected
        assert view.log.find(asked) == view.numbers

    @rule(view=consumes(views))
    def look_away(self, view: _View) -> None:
        """Close a reading."""
        self.compare(view)
        view.block.__exit__(None, None, None)

    @rule(holder=holder, view=views)
    def compare_while_writing(self, holder: int, view: _View) -> None:
        """Read an old moment, and find identities, while somebody writes."""
        with self.holders[holder].writing() as log:
            assert log.find(list(self.numbers)) == self.numbers
            self.compare(view)

    def teardown(self) -> None:
        """Close everything."""
        self.stack.close()
