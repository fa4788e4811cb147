"""A log of two runs on one node, and the bundle of the first of them.

The bundle is small, but has a member of every kind. What a test changes is changed in a copy:
in the parts that a bundle is made of, or in the members of its file.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tallystick.contract import ContractVersions, parse_contract
from tallystick.core.keys import SigningKey
from tallystick.evidence.admission import admit_leaves
from tallystick.evidence.codec import read_line
from tallystick.evidence.leaf import leaf_record
from tallystick.evidence.record import Record
from tallystick.receipt.assemble import Case, asked_of, prepare, receipts_in, with_scanned
from tallystick.receipt.bundle.container import read_container, write_container
from tallystick.receipt.bundle.make import BundleParts, make_bundle
from tallystick.receipt.bundle.manifest import (
    Manifest,
    list_members,
    open_manifest,
    read_manifest,
    sign_manifest,
)
from tallystick.receipt.bundle.names import MANIFEST
from tallystick.receipt.bundle.run_leaves import Logged, leaves_of_run
from tallystick.receipt.envelope import envelope_bytes, sign_payload
from tallystick.receipt.statement import statement_payload
from tallystick.receipt.verify import open_receipt
from tallystick.stores.delivery import deliver, write_own
from tallystick.stores.memory import MemoryStore
from tallystick.stores.tiles import subtree_reader
from tallystick.timeline.segments import Answer, Found, Scanned, SegmentStatus
from tallystick.tree.head import TreeHead, parse_head_text, sign_head
from tallystick.tree.merkle import consistency_path, tree_root
from tallystick.tree.note import parse_note
from tallystick.tree.rotation import rotate
from tallystick.tree.selection import selection_proof
from tallystick.tree.spelling import base64_text
from tests.evidence import records as r
from tests.rating.rated import HELD_WHEN_DARK, contract

Json = dict[str, Any]

LOG = SigningKey("log.example", bytes([1]) * 32)
NEXT_LOG = SigningKey("log.example", bytes([2]) * 32)
RECEIPTS = SigningKey("log.example/receipt", bytes([3]) * 32)
STRANGER = SigningKey("stranger.example", bytes([4]) * 32)
KEYS = (LOG.verify_key, RECEIPTS.verify_key)
SEGMENT = b"PAR1 what stands for samples PAR1"
SHA256 = hashlib.sha256(SEGMENT).hexdigest()
CONTRACT = contract(HELD_WHEN_DARK)
NOW_US = r.moment_us("23:59")


@dataclass(slots=True)
class Log:
    """A log in memory that grows as a test says."""

    store: MemoryStore = field(default_factory=lambda: MemoryStore(LOG.name))

    def deliver(self, *records: Json) -> None:
        """Deliver records, one by one."""
        for each in records:
            deliver(self.store, [r.as_line(each)], lambda: NOW_US)

    def say(self, kind: str, **body: Any) -> int:
        """Have the log itself say something; gives the number of the leaf."""
        with self.store.writing() as log:
            return write_own(log, kind, body, NOW_US)

    def publish(self, toml: bytes = CONTRACT) -> None:
        """Publish a version of a contract."""
        terms = parse_contract(toml)
        said = {"contract": terms.id, "version": terms.version, "digest": terms.digest}
        self.say("contract.published", **said, toml=toml.decode())

    def issue(self, receipt: bytes) -> int:
        """Say that a receipt was issued."""
        statement = open_receipt(receipt)
        stated = statement.receipt
        assert stated.log is not None
        return self.say(
            "receipt.issued",
            run=stated.run.id,
            revision=stated.revision,
            payload=statement.payload_digest,
            supersedes=stated.supersedes,
            contract="acme",
            size=stated.log.size,
        )

    def rotate(self, old: SigningKey = LOG, new: SigningKey = NEXT_LOG) -> None:
        """Give the log another key."""
        rotation = rotate(old, new.verify_key, self.size)
        lines = {"old": rotation.old, "new": rotation.new}
        self.say("key.rotated", **lines, size=rotation.size, signature=rotation.signature)

    @property
    def size(self) -> int:
        """How many leaves there are."""
        with self.store.reading() as log:
            return log.size

    def leaves(self, size: int | None = None) -> list[bytes]:
        """Give the first leaves, or all."""
        with self.store.reading() as log:
            return list(log.leaves(0, log.size if size is None else size))

    def head(self, size: int | None = None) -> TreeHead:
        """Give the tree head at a size."""
        with self.store.reading() as log:
            at = log.size if size is None else size
            return TreeHead(LOG.name, at, tree_root(at, subtree_reader(log)))

    def case(self, size: int | None = None) -> Case:
        """Prepare the first leaves, or all, for rating."""
        leaves = self.leaves(size)
        records = [record_of(leaf) for leaf in leaves]
        bodies: list[Any] = [each.body for each in records if each.kind == "contract.published"]
        texts = [body["toml"].encode() for body in bodies if body["contract"] == "acme"]
        versions = tuple(map(parse_contract, texts))
        return prepare(admit_leaves(leaves), ContractVersions(versions))

    def predicate(self, run: str, size: int | None = None) -> Json:
        """Rate a run from the first leaves, or all."""
        case = self.case(size)
        (computed,) = receipts_in(with_scanned(case, scan(case, run)), run).predicates
        return computed

    def receipt(
        self, run: str = "run", size: int | None = None, before: bytes | None = None, **changed: Any
    ) -> bytes:
        """Issue the receipt of a run, after another one or as the first."""
        head = self.head(size)
        previous = None if before is None else open_receipt(before)
        place = {
            "log": {"origin": head.origin, "size": head.size, "root": base64_text(head.root)},
            "revision": 1 if previous is None else previous.receipt.revision + 1,
            "supersedes": None if previous is None else previous.payload_digest,
        }
        return sign(self.predicate(run, size) | place | changed)

    def parts(self, receipt: bytes, key: SigningKey = LOG, size: int | None = None) -> BundleParts:
        """Gather what the bundle of a receipt is made of, under a head of the log."""
        stated = open_receipt(receipt).receipt
        assert stated.log is not None
        head = self.head(size)
        leaves = self.leaves(head.size)
        logged = [Logged(number, record_of(leaf)) for number, leaf in enumerate(leaves)]
        chosen = leaves_of_run(logged, stated.run.id, contract="acme", size=stated.log.size)
        with self.store.reading() as log:
            subtree = subtree_reader(log)
            return BundleParts(
                receipt=receipt,
                head=sign_head(head, [key]),
                leaves=tuple((number, leaves[number]) for number in chosen.numbers),
                proof=selection_proof(chosen.numbers, head.size, subtree),
                consistency=consistency_path(stated.log.size, head.size, subtree),
                withheld=chosen.withheld,
            )

    def choose(self, parts: BundleParts, numbers: Sequence[int]) -> BundleParts:
        """Choose other leaves, with their proof."""
        leaves = self.leaves()
        with self.store.reading() as log:
            return replace(
                parts,
                leaves=tuple((number, leaves[number]) for number in numbers),
                proof=selection_proof(numbers, self.size, subtree_reader(log)),
            )


def record_of(leaf: bytes) -> Record:
    """Read the record of a leaf."""
    return read_line(leaf_record(leaf))


def sign(predicate: Json) -> bytes:
    """Write the envelope of a receipt, as the store's own key signs it."""
    return envelope_bytes(sign_payload(statement_payload(predicate), [RECEIPTS]))


def scan(case: Case, run: str) -> Scanned:
    """Pretend to read segments: each has a sample at both ends of every window."""
    answers = {}
    for segment, windows in asked_of(case, run):
        found = {each: Found(((each.start_us, each.end_us),), (), False) for each in windows}  # noqa: FBT003
        answers[segment.digest] = Answer(SegmentStatus.READ, found)
    return Scanned(answers)


def samples(gpus: str, since: str, until: str, sha256: str = SHA256) -> Json:
    """Name a segment by its SHA-256."""
    named = r.samples(gpus, since, until)
    return r.record(named["kind"], None, named["body"] | {"segment": f"sha256:{sha256}"})


def numbered(*records: Json, start: int = 0, boot: str | None = "b1") -> list[Json]:
    """Give records the numbers of their producer, one after another."""
    return [r.numbered(each, start + place, boot) for place, each in enumerate(records)]


def story() -> Log:
    """Log what happens to two runs on node ``n``, up to where the receipt is computed.

    The numbers 5 and 12 of producer ``p`` never came; some of the rest are of the other run.
    """
    log = Log()
    log.publish()
    log.deliver(
        *numbered(
            r.declared("run", job_class="pretrain"),
            r.started("00:00", attempt="x", gpus="g1 g2"),
            r.same("x", "a"),
            r.started("00:00", attempt="b", run="other", gpus="g3"),
            r.step("00:10", 1),
        ),
        *numbered(
            r.step("00:11", 1, attempt="b"),
            r.points(r.minutes("00:00", "00:20")),
            r.points(r.minutes("00:00", "01:00"), "g3"),
            samples("g2 g3", "00:00", "01:00"),
            r.watch("00:00"),
            r.inventory("00:00", "g1 g2 g3"),
            start=6,
        ),
    )
    repeated = r.step("00:10", 1)
    log.deliver(
        r.numbered(repeated, 13),
        r.numbered(repeated | {"body": repeated["body"] | {"step": 2}}, 14),
        *numbered(r.ended("01:00"), r.ended("00:50", attempt="b"), start=15),
    )
    return log


@cache
def small() -> tuple[Log, BundleParts, bytes]:
    """Give the log, the parts and the bytes of the small bundle.

    After the receipt the log says that it was issued, changes its key, and goes on.
    """
    log = story()
    receipt = log.receipt()
    log.issue(receipt)
    log.rotate()
    log.deliver(r.rejected("02:00", "other"))
    parts = replace(log.parts(receipt, NEXT_LOG), segments={SHA256: SEGMENT})
    return log, parts, make_bundle(parts, [RECEIPTS])


def members_of(bundle: bytes) -> dict[str, bytes]:
    """Give the members of a bundle, to be changed."""
    return {name: bytes(view) for name, view in read_container(bundle).items()}


def manifest_of(bundle: bytes) -> Manifest:
    """Read the manifest of a bundle, unchecked."""
    return read_manifest(open_manifest(read_container(bundle)[MANIFEST]).payload)


def seal(
    members: Mapping[str, bytes], stated: Manifest, *keys: SigningKey, listed: bool = True
) -> bytes:
    """Write members with a manifest that is signed anew, and lists them unless told otherwise."""
    others = {name: data for name, data in members.items() if name != MANIFEST}
    if listed:
        stated = Manifest(
            stated.schema, stated.run, stated.receipt, stated.log, list_members(others),
            stated.withheld,
        )  # fmt: skip
    return write_container({MANIFEST: sign_manifest(stated, keys or [RECEIPTS]), **others})


def change_member(bundle: bytes, name: str, data: bytes | None, *keys: SigningKey) -> bytes:
    """Replace a member, or take it away, and have the manifest signed anew."""
    members = {**members_of(bundle), name: data}
    kept = {each: content for each, content in members.items() if content is not None}
    return seal(kept, manifest_of(bundle), *keys)


def head_of(parts: BundleParts) -> TreeHead:
    """Read the tree head of parts, unchecked."""
    return parse_head_text(parse_note(parts.head).text)
