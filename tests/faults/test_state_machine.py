"""A log against a dictionary: whatever is done in whatever order, it keeps what it answered.

The model holds every leaf that was ever seen, which record has which number, every head that
was issued, and the last receipt of every run. The same machine works on the store in memory
and on the one on disk; on disk processes also die, receipts are issued and bundled.
"""

import json
import shutil
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from tallystick.app.admit import clock_us
from tallystick.app.bundles import replay_verified
from tallystick.app.keys import keys_in, load_verify_keys
from tallystick.app.store import OpenStore, find_store, init_store
from tallystick.app.stored_bundles import bundle_run
from tallystick.app.stored_contracts import publish_contracts
from tallystick.app.stored_ledger import read_ledger
from tallystick.app.stored_receipts import issue_receipt
from tallystick.app.stored_segments import list_segments
from tallystick.core.keys import SigningKey, VerifyKey
from tallystick.evidence.leaf import LOG_PRODUCER, leaf_record
from tallystick.receipt.bundle.verify import verify_bundle
from tallystick.stores.delivery import Answer, deliver
from tallystick.stores.errors import StoreBehindHeadError, StoreForkedError
from tallystick.stores.issued_head import IssuedHead
from tallystick.stores.memory import MemoryStore
from tallystick.stores.protocol import Store
from tallystick.stores.segments import SegmentFolder
from tallystick.stores.signing import first_head, issue_head
from tallystick.stores.sqlite import open_sqlite_store
from tallystick.stores.tiles import subtree_reader
from tallystick.tree.head import TreeHead, open_head
from tallystick.tree.merkle import (
    check_consistency,
    check_inclusion,
    consistency_path,
    inclusion_path,
    leaf_hash,
    root_of,
)
from tests.app.stores import ORIGIN, contract_file
from tests.evidence.records import Json, as_line, ended, numbered, started, step
from tests.faults.billing import SEGMENTS, add_segment, lay_out
from tests.faults.effort import tries

KEY = SigningKey(ORIGIN, bytes(range(32)))
RUNS = ("one", "two", "three")
STEPS = st.integers(1, 50)


class LogMachine(RuleBasedStateMachine):
    """The store in memory; what a subclass adds needs a disk."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.leaves: list[bytes] = []
        self.numbers: dict[tuple[str, str], int] = {}
        self.told: list[Json] = []
        self.heads: dict[int, TreeHead] = {}
        self.named = 0
        self.log, self.issued, self.key, self.keys = self.begin()

    def begin(self) -> tuple[Store, IssuedHead, SigningKey, tuple[VerifyKey, ...]]:
        """Make an empty log."""
        issued = IssuedHead(self.folder / "head")
        issued.create(first_head(ORIGIN, KEY))
        return MemoryStore(ORIGIN), issued, KEY, (KEY.verify_key,)

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.log.close()
        shutil.rmtree(self.folder)

    # -- what is done ------------------------------------------------------------------------

    @rule(numbers=st.lists(STEPS, min_size=1, max_size=6, unique=True))
    def append(self, numbers: list[int]) -> None:
        """Deliver records, of which the log may have some."""
        self.send([self.step(number) for number in numbers])

    @rule(number=STEPS, minute=st.integers(0, 59))
    def late(self, number: int, minute: int) -> None:
        """Deliver what happened before all else; order is by arrival."""
        self.send([step(f"00:{minute:02}", number, attempt="late")])

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        """Deliver what was delivered before, once or twice in a batch."""
        record = data.draw(st.sampled_from(self.told))
        self.send([record] * data.draw(st.integers(1, 2)))

    @precondition(lambda self: self.told)
    @rule(data=st.data(), number=st.integers(0, 3))
    def repeat(self, data: st.DataObject, number: int) -> None:
        """Deliver an equal record under another sequence number."""
        self.send([numbered(data.draw(st.sampled_from(self.told)), number)])

    @precondition(lambda self: self.told)
    @rule(data=st.data(), other=st.integers(100, 103))
    def conflict(self, data: st.DataObject, other: int) -> None:
        """Deliver other content under a known identity."""
        record = data.draw(st.sampled_from(self.told))
        self.send([record | {"body": record["body"] | {"step": other, "every": 1}}])

    @rule(line=st.sampled_from([b"{", b"[]", b'{"a":1.5}', as_line({"schema": "x"})]))
    def refuse(self, line: bytes) -> None:
        """Deliver what is no record."""
        (answer,) = self.deliver([line])

        assert (answer.word, answer.leaf) == ("refused", None)

    @rule()
    def sign(self) -> None:
        """Issue a head: of all leaves, and going on from every head before."""
        note = issue_head(self.log, self.issued, self.key, self.keys)
        self.learn()
        head = open_head(note, self.keys).head

        assert head == TreeHead(ORIGIN, len(self.leaves), root_of(map(leaf_hash, self.leaves)))
        assert self.heads.setdefault(head.size, head) == head
        with self.log.reading() as log:
            subtree = subtree_reader(log)
            for old in self.heads.values():
                path = consistency_path(old.size, head.size, subtree)
                check_consistency(old.size, old.root, head.size, head.root, path)

    @precondition(lambda self: any(self.heads))
    @rule(data=st.data())
    def prove(self, data: st.DataObject) -> None:
        """Prove a leaf under any head that was issued after it."""
        size = data.draw(st.sampled_from([each for each in self.heads if each]))
        number = data.draw(st.integers(0, size - 1))
        with self.log.reading() as log:
            path = inclusion_path(number, size, subtree_reader(log))

        leaf = leaf_hash(self.leaves[number])
        check_inclusion(leaf, number, size, path, self.heads[size].root)

    # -- what always holds -------------------------------------------------------------------

    @invariant()
    def nothing_changes(self) -> None:
        """Every leaf that was ever seen is where it was, and no other."""
        with self.log.reading() as log:
            assert list(log.leaves(0, log.size)) == self.leaves

    # -- the model ---------------------------------------------------------------------------

    def step(self, number: int) -> Json:
        """Give a record whose content follows from its number."""
        return step(f"{number // 60:02}:{number % 60:02}", number)

    def send(self, records: list[Json]) -> None:
        """Deliver records, and compare the answers with those of the model."""
        expected: list[tuple[str, int]] = []
        size = len(self.leaves)
        for record in records:
            name = (record["producer"]["name"], record["id"])
            if name not in self.numbers:
                self.numbers[name] = size
                self.told.append(record)
                expected.append(("accepted", size))
                size += 1
                continue
            known = next(each for each in self.told if each["id"] == record["id"])
            word = "exists" if known["body"] == record["body"] else "conflict"
            expected.append((word, self.numbers[name]))

        answers = self.deliver([as_line(record) for record in records])

        assert [(each.word, each.leaf) for each in answers] == expected

    def deliver(self, lines: list[bytes]) -> tuple[Answer, ...]:
        """Deliver lines, and learn what the log has now."""
        answers = deliver(self.log, lines, clock_us)
        self.learn()
        return answers

    def learn(self) -> None:
        """Take in the new leaves: those that were accepted, then what the log says itself."""
        with self.log.reading() as log:
            new = list(log.leaves(len(self.leaves), log.size))
        start = len(self.leaves)
        self.leaves += new
        said = [json.loads(leaf_record(leaf)) for leaf in new]
        for number, record in enumerate(said, start=start):
            if record["producer"]["name"] != LOG_PRODUCER:
                assert self.numbers[record["producer"]["name"], record["id"]] == number


class StoreMachine(LogMachine):
    """The store on disk, with receipts and their money."""

    def __init__(self) -> None:
        self.net: dict[str, str] = {}
        self.segments: set[str] = set()
        self.backups = 0
        super().__init__()

    def begin(self) -> tuple[Store, IssuedHead, SigningKey, tuple[VerifyKey, ...]]:
        """Make a store with a contract."""
        lay_out(self.folder)
        found = init_store(self.folder / "store", ORIGIN)
        log = open_sqlite_store(found.log)
        publish_contracts(log, [contract_file(self.folder)])
        keys = load_verify_keys(keys_in(found.keys))
        return log, found.issued, found.signing_key("log"), keys

    @initialize()
    def know_the_contract(self) -> None:
        """The model begins with what is in the log."""
        self.learn()

    @property
    def store(self) -> OpenStore:
        """The store as an application has it."""
        log: Any = self.log
        return OpenStore(find_store(self.folder / "store"), log)

    @rule(run=st.sampled_from(RUNS), minutes=st.integers(1, 59))
    def work(self, run: str, minutes: int) -> None:
        """Tell of a run: its start, and sometimes its end, which may come late."""
        story = [started(attempt=run, run=run, gpus=f"g-{run}")]
        if minutes % 2:
            story.append(ended(f"00:{minutes:02}", attempt=run))
        self.send(story)

    @rule()
    def crash(self) -> None:
        """Go on with the files as they lie, and with nothing that a process remembered."""
        path, left = self.folder / "store", self.folder / f"left-{self.named}"
        self.named += 1
        path.rename(left)
        shutil.copytree(left, path)
        self.log = open_sqlite_store(find_store(path).log)

    @rule()
    def back_up(self) -> None:
        """Copy the store as it lies, as a backup does: without the head that is kept apart."""
        self.backups += 1
        shutil.copytree(self.folder / "store", self.folder / f"backup-{self.backups}")

    @precondition(lambda self: self.backups)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """Go on from a backup: what is behind the last head, or beside it, is not signed."""
        number = data.draw(st.integers(1, self.backups))
        copy = shutil.copytree(self.folder / f"backup-{number}", self.folder / "restored")
        note = self.issued.read()
        head = open_head(note, self.keys).head
        log = open_sqlite_store(copy / "log.db")
        with log.reading() as reading:
            is_behind = reading.size < head.size
        if is_behind:
            with pytest.raises(StoreBehindHeadError):
                issue_head(log, self.issued, self.key, self.keys)
            elsewhere = [step("00:00", each, attempt="elsewhere") for each in range(head.size)]
            deliver(log, [as_line(record) for record in elsewhere], clock_us)
            with pytest.raises(StoreForkedError):
                issue_head(log, self.issued, self.key, self.keys)
        log.close()
        shutil.rmtree(copy)

        assert self.issued.read() == note

    @rule(number=st.integers(0, SEGMENTS - 1))
    def add(self, number: int) -> None:
        """Take a segment in, or find it there: it is named once, and its bytes are kept."""
        (added,) = add_segment(self.store, self.folder, number)
        self.learn()
        self.segments.add(added.digest)

        assert {each.digest for each in list_segments(self.store)} == self.segments
        assert SegmentFolder(self.store.folder.segments).place(added.digest).exists()

    @precondition(lambda self: self.runs())
    @rule(data=st.data())
    def post(self, data: st.DataObject) -> None:
        """Issue the receipt of a run: again the same without news, and the ledger follows."""
        run = data.draw(st.sampled_from(self.runs()))
        first = issue_receipt(self.store, run)
        again = issue_receipt(self.store, run)
        self.learn()
        totals = first.statement.predicate["totals"]
        self.net[run] = totals["charged"]

        assert (again.is_new, again.envelope) == (False, first.envelope)
        with self.log.reading() as log:
            standing = read_ledger(log).balances
        owed = [each.amount for each in standing if each.account.name == "receivable"]
        assert sum(owed, Decimal(0)) == sum(map(Decimal, self.net.values()), Decimal(0))
        self.remember_head()

    @precondition(lambda self: self.net)
    @rule(data=st.data())
    def hand_over(self, data: st.DataObject) -> None:
        """Hand a receipt over: it verifies and follows from the bundle alone."""
        run = data.draw(st.sampled_from(sorted(self.net)))
        made = bundle_run(self.store, run)
        self.remember_head()

        verified = verify_bundle(made.data, self.keys)
        assert replay_verified(verified).replay.identical
        assert verified.statement.receipt.run.id == run

    def runs(self) -> list[str]:
        """Name the runs that the log was told of."""
        starts = [each for each in self.told if each["kind"] == "allocation.started"]
        return sorted({each["body"]["run"] for each in starts})

    def remember_head(self) -> None:
        """Note the head that was issued on the way."""
        head = open_head(self.issued.read(), self.keys).head
        assert self.heads.setdefault(head.size, head) == head


EFFORT = settings(
    max_examples=tries(20, 300),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = EFFORT
TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = EFFORT
