"""Verifying a bundle: what holds is returned, and anything else fails at its step."""

import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.core.canonical import canonical_bytes
from tallystick.core.keys import SigningKey, VerifyKey
from tallystick.evidence.admission import Withheld
from tallystick.receipt.bundle import errors
from tallystick.receipt.bundle.container import write_container
from tallystick.receipt.bundle.contents import LeafProof, read_proof, write_proof
from tallystick.receipt.bundle.errors import BundleError
from tallystick.receipt.bundle.make import BundleParts, make_bundle
from tallystick.receipt.bundle.manifest import BUNDLE_TYPE
from tallystick.receipt.bundle.names import (
    ALWAYS,
    CONSISTENCY,
    HEAD,
    ISSUE_PROOF,
    LEAVES,
    MANIFEST,
    PROOF,
    RECEIPT,
    segment_name,
)
from tallystick.receipt.bundle.verify import STEPS, verify_bundle
from tallystick.receipt.envelope import (
    Envelope,
    Signature,
    envelope_bytes,
    pre_authentication_encoding,
)
from tallystick.receipt.errors import NoKeysError, VerificationError
from tallystick.receipt.statement import statement_payload
from tallystick.receipt.verify import open_receipt, verify_receipt
from tallystick.stores.delivery import deliver
from tallystick.tree.head import TreeHead, sign_head
from tallystick.tree.proof import parse_proof, proof_bytes
from tallystick.tree.spelling import base64_text
from tests.evidence import records as r
from tests.evidence.records import as_line
from tests.receipt.bundle.bundles import (
    KEYS,
    LOG,
    NEXT_LOG,
    RECEIPTS,
    SEGMENT,
    SHA256,
    STRANGER,
    Log,
    change_member,
    head_of,
    manifest_of,
    members_of,
    samples,
    seal,
    sign,
    small,
    story,
)

STORY, PARTS, BUNDLE = small()
MEMBERS = members_of(BUNDLE)
FIRST = open_receipt(PARTS.receipt)


def refuse(data: bytes, *keys: VerifyKey) -> VerificationError:
    """Give the error with which a bundle is refused."""
    with pytest.raises(VerificationError) as refused:
        verify_bundle(data, keys or KEYS)
    return refused.value


def test_a_good_bundle_is_returned_with_all_that_it_proves() -> None:
    """Verification gives receipt, leaves, contract, segments and the word of the log."""
    verified = verify_bundle(BUNDLE, KEYS)

    assert verified.statement.payload == FIRST.payload
    assert verified.bundlers == (RECEIPTS.verify_key.keyid,)
    assert verified.head.head == STORY.head()
    assert tuple((leaf.number, leaf.data) for leaf in verified.leaves) == PARTS.leaves
    assert [each.name for each in verified.contracts.versions] == ["acme@1"]
    assert {name: bytes(view) for name, view in verified.segments.items()} == {SHA256: SEGMENT}
    assert verified.issue is not None
    assert verified.issue.said.payload == FIRST.payload_digest
    assert verified.issues == (verified.issue,)


def test_one_bundle_has_one_file() -> None:
    """The same parts and keys give the same bytes."""
    assert make_bundle(PARTS, [RECEIPTS]) == BUNDLE


def test_both_parties_may_sign() -> None:
    """Each known key that signed the manifest is named, and others count for nothing."""
    both = make_bundle(PARTS, [STRANGER, RECEIPTS])

    alone = verify_bundle(both, KEYS).bundlers
    together = verify_bundle(both, [*KEYS, STRANGER.verify_key]).bundlers

    assert alone == (RECEIPTS.verify_key.keyid,)
    assert together == (STRANGER.verify_key.keyid, RECEIPTS.verify_key.keyid)


def test_the_successor_of_a_key_may_be_known_alone() -> None:
    """Who knows the log by its new key need not know the old one."""
    verified = verify_bundle(BUNDLE, [NEXT_LOG.verify_key, RECEIPTS.verify_key])

    assert verified.head.signers == (NEXT_LOG.verify_key.keyid,)


def test_a_bundle_may_end_where_its_receipt_was_computed() -> None:
    """Then nothing went on, and the log has not said yet that the receipt was issued."""
    log = story()
    data = make_bundle(log.parts(log.receipt()), [RECEIPTS])

    verified = verify_bundle(data, KEYS)

    assert (verified.issue, verified.issues) == (None, ())
    assert members_of(data).keys() == {MANIFEST, *ALWAYS}


def revised() -> tuple[Log, bytes, bytes]:
    """Give a log with two revisions of a receipt, and both of them."""
    log = story()
    first = log.receipt()
    log.issue(first)
    log.deliver(r.step("00:30", 9))
    second = log.receipt(before=first)
    log.issue(second)
    return log, first, second


def test_a_bundle_tells_the_revisions_of_its_receipt() -> None:
    """Each of them can be bundled, and the last that the log issued is known."""
    log, first, second = revised()

    found = [
        verify_bundle(make_bundle(log.parts(each), [RECEIPTS]), KEYS) for each in (first, second)
    ]

    assert [each.issue == each.issues[-1] for each in found] == [False, True]
    assert [len(each.issues) for each in found] == [2, 2]


def test_a_bundle_may_be_large() -> None:
    """Ten thousand leaves, half of the log, are proven at once."""
    log = Log()
    log.publish()
    lines = [as_line(r.step("00:10", n, attempt="ab"[n % 2])) for n in range(20_000)]
    deliver(log.store, [as_line(r.started()), *lines], lambda: 0)
    parts = log.parts(log.receipt())

    verified = verify_bundle(make_bundle(parts, [RECEIPTS]), KEYS)

    assert len(verified.leaves) == 10_002
    assert len(parts.proof) > 5_000


# -- every byte ----------------------------------------------------------------------------

SMALL_BYTES_MAX = 400
SMALL = [name for name, data in MEMBERS.items() if len(data) <= SMALL_BYTES_MAX]
OFFSETS = {name: BUNDLE.index(data) for name, data in MEMBERS.items()}


def edits(data: bytes, position: int, bit: int = 0) -> list[bytes]:
    """Flip a bit of a byte, take the byte away, double it, and put another before it."""
    before, byte, after = data[:position], data[position : position + 1], data[position + 1 :]
    flipped = bytes([byte[0] ^ 1 << bit])
    return [before + flipped + after, before + after, before + byte + byte + after,
            before + b"\n" + byte + after]  # fmt: skip


def test_no_byte_of_the_file_can_be_damaged() -> None:
    """A flipped bit, in whichever byte, makes verification fail."""
    accepted = []
    for position in range(len(BUNDLE)):
        tampered = bytearray(BUNDLE)
        tampered[position] ^= 1 << position % 8
        try:
            verify_bundle(bytes(tampered), KEYS)
        except VerificationError:
            continue
        accepted.append(position)

    assert accepted == []


@settings(max_examples=300)
@given(st.integers(0, len(BUNDLE) - 1), st.integers(0, 7))
def test_no_byte_of_the_file_can_be_edited(position: int, bit: int) -> None:
    """Nor can a byte be taken away, be there twice, or be put in."""
    for tampered in edits(BUNDLE, position, bit):
        assert refuse(tampered).exit_status == 1


def rewritten(name: str, data: bytes) -> bytes:
    """Write the file anew with another member, as if nobody had signed a manifest."""
    return write_container({**MEMBERS, name: data})


@pytest.mark.parametrize("name", SMALL)
def test_no_byte_of_a_small_member_can_be_edited(name: str) -> None:
    """Each edit of each byte is found, although the zip itself is in order."""
    data = MEMBERS[name]

    for position in range(len(data)):
        for tampered in edits(data, position, position % 8):
            if tampered != data:
                assert refuse(rewritten(name, tampered)).step >= 2


@settings(max_examples=200)
@given(st.sampled_from(sorted(MEMBERS)), st.integers(0, 2**16), st.integers(0, 7))
def test_no_byte_of_a_member_can_be_edited(name: str, place: int, bit: int) -> None:
    """So it is for every member, the manifest among them."""
    data = MEMBERS[name]

    for tampered in edits(data, place % len(data), bit):
        if tampered != data:
            assert refuse(rewritten(name, tampered)).step >= 2


@settings(max_examples=200)
@given(
    st.sampled_from(sorted(MEMBERS.keys() - {MANIFEST})), st.integers(0, 2**16), st.integers(0, 7)
)
def test_no_byte_of_what_others_signed_can_be_edited(name: str, place: int, bit: int) -> None:
    """Not even whoever signs the manifest can change the log, its head or what a receipt states.

    The envelope of a receipt may be spelled in other ways, as DSSE has it.
    """
    data = MEMBERS[name]

    for tampered in edits(data, place % len(data), bit):
        changed = change_member(BUNDLE, name, tampered)
        if tampered == data or (name == RECEIPT and is_spelled_otherwise(tampered)):
            assert verify_bundle(changed, KEYS).statement == verify_bundle(BUNDLE, KEYS).statement
        else:
            assert refuse(changed).step >= 6


def is_spelled_otherwise(receipt: bytes) -> bool:
    """Tell whether an envelope is that of the receipt in other bytes."""
    try:
        return verify_receipt(receipt, KEYS) == verify_receipt(PARTS.receipt, KEYS)
    except VerificationError:
        return False


@given(st.integers(0, len(BUNDLE) - 1))
def test_no_beginning_of_a_bundle_is_one(length: int) -> None:
    """A bundle that was cut short is refused."""
    assert refuse(BUNDLE[:length]).code == "bad_container"


@given(st.sampled_from(sorted(MEMBERS)), st.binary(max_size=100))
def test_garbage_is_refused_in_our_words(name: str, data: bytes) -> None:
    """Whatever a member is, also where its maker signs for it, the outcome is our error."""
    assert refuse(rewritten(name, data)).step >= 2
    if name != MANIFEST:
        assert refuse(change_member(BUNDLE, name, data)).step >= 6


# -- each step -----------------------------------------------------------------------------


def signed_payload(payload: bytes) -> bytes:
    """Sign any bytes as if they were a manifest, in a bundle of nothing else."""
    message = pre_authentication_encoding(BUNDLE_TYPE, payload)
    signature = Signature(RECEIPTS.verify_key.keyid, RECEIPTS.sign(message))
    return write_container({MANIFEST: envelope_bytes(Envelope(BUNDLE_TYPE, payload, (signature,)))})


def with_leaf(said: bytes) -> bytes:
    """Have the first leaf say something else."""
    _, _, rest = MEMBERS[LEAVES].partition(b"\n")
    return change_member(BUNDLE, LEAVES, said + b"\n" + rest)


def make(parts: BundleParts = PARTS, **changed: Any) -> bytes:
    """Make the bundle with some parts changed."""
    return make_bundle(replace(parts, **changed), [RECEIPTS])


def with_receipt(predicate: dict[str, Any]) -> bytes:
    """Bundle another receipt of the same leaves, under a manifest that names it."""
    receipt = sign(predicate)
    stated = manifest_of(BUNDLE)
    digest = "sha256:" + hashlib.sha256(statement_payload(predicate)).hexdigest()
    members = {**MEMBERS, RECEIPT: receipt}
    return seal(members, msgspec.structs.replace(stated, receipt=digest))


def without_contract() -> bytes:
    """Leave the leaf of the contract out."""
    return make(STORY.choose(PARTS, [number for number, _ in PARTS.leaves][1:]))


def ambiguous(number: int) -> VerifyKey:
    """Make one of two keys that were searched for: their short ids are equal."""
    return VerifyKey("x", hashlib.sha256(b"k%d" % number).digest())


REFUSALS: dict[str, tuple[int, Callable[[], bytes], tuple[VerifyKey, ...]]] = {
    "ambiguous_key": (0, lambda: BUNDLE, (ambiguous(135445), ambiguous(144322))),
    "bad_container": (1, lambda: b"", KEYS),
    "bad_manifest": (2, lambda: write_container({}), KEYS),
    "no_known_bundler": (3, lambda: BUNDLE, (LOG.verify_key,)),
    "bad_bundle_signature": (
        3,
        lambda: write_container(
            {
                MANIFEST: envelope_bytes(
                    Envelope(BUNDLE_TYPE, b"", (Signature(RECEIPTS.verify_key.keyid, b""),))
                )
            }
        ),
        KEYS,
    ),
    "bad_manifest_payload": (4, lambda: signed_payload(b""), KEYS),
    "unknown_bundle_version": (
        4,
        lambda: signed_payload(b'{"schema":"tallystick.bundle/2"}'),
        KEYS,
    ),
    "bundle_member_missing": (5, lambda: change_member(BUNDLE, PROOF, None), KEYS),
    "bundle_member_not_listed": (5, lambda: change_member(BUNDLE, "x", b""), KEYS),
    "bundle_member_altered": (5, lambda: rewritten(HEAD, b""), KEYS),
    "bad_bundle_member": (6, lambda: change_member(BUNDLE, PROOF, b"{}"), KEYS),
    "bundle_head_refused": (7, lambda: change_member(BUNDLE, HEAD, b""), KEYS),
    "bundle_leaves_not_in_log": (8, lambda: with_leaf(PARTS.leaves[1][1]), KEYS),
    "bundle_receipt_refused": (9, lambda: change_member(BUNDLE, RECEIPT, b"{}"), KEYS),
    "bundle_receipt_not_of_log": (10, lambda: with_receipt(FIRST.predicate | {"log": None}), KEYS),
    "bundle_contract_refused": (11, without_contract, KEYS),
    "bundle_segment_refused": (12, lambda: make(segments={"0" * 64: b""}), KEYS),
    "bundle_issue_refused": (13, lambda: change_member(BUNDLE, ISSUE_PROOF, None), KEYS),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_each_step_refuses_its_smallest_input(code: str) -> None:
    """Every code of verification has an input that provokes it, at its step, with exit 1."""
    step, data, keys = REFUSALS[code]

    refused = refuse(data(), *keys)

    assert (refused.code, refused.step, refused.exit_status) == (code, step, 1)
    assert "\n" not in str(refused)
    assert str(pickle.loads(pickle.dumps(refused))) == str(refused)  # noqa: S301 (our own)


def test_nothing_to_check_against_is_a_failure() -> None:
    """Without a key nothing is verified."""
    with pytest.raises(NoKeysError) as refused:
        verify_bundle(BUNDLE, ())

    assert (refused.value.code, refused.value.step) == ("no_keys", 0)


def test_every_error_of_verification_is_provoked() -> None:
    """No class is left out above, but for the size limit, which test_container provokes."""
    classes = BundleError.__subclasses__()

    assert {each.code for each in classes} == {*REFUSALS, "bundle_too_large"} - {"ambiguous_key"}
    assert {0, *(each.step for each in classes)} == set(range(len(STEPS)))


# -- attacks -------------------------------------------------------------------------------


def test_a_manifest_of_an_unknown_key_is_refused() -> None:
    """Whoever changes a bundle and signs it with a key of their own is not believed."""
    forged = change_member(BUNDLE, LEAVES, b"", STRANGER)

    assert refuse(forged).code == "no_known_bundler"


def test_a_stranger_cannot_sign_in_the_name_of_a_known_key() -> None:
    """A signature that names a known key has to be of it."""
    envelope = json.loads(MEMBERS[MANIFEST])
    envelope["signatures"][0]["sig"] = json.loads(
        members_of(make_bundle(PARTS, [STRANGER]))[MANIFEST]
    )["signatures"][0]["sig"]

    assert refuse(rewritten(MANIFEST, canonical_bytes(envelope))).code == "bad_bundle_signature"


def test_a_manifest_in_another_spelling_is_refused() -> None:
    """The envelope has one spelling, so that a byte of it cannot be changed unnoticed."""
    spelled = json.dumps(json.loads(MEMBERS[MANIFEST])).encode()

    assert refuse(rewritten(MANIFEST, spelled)).code == "bad_manifest"


def test_a_signature_over_a_receipt_is_none_over_a_manifest() -> None:
    """What is signed is the type and the payload, so one cannot stand for the other."""
    assert refuse(write_container({MANIFEST: PARTS.receipt})).code == "bad_manifest"


def test_two_leaves_cannot_change_places() -> None:
    """A leaf has its number, and a conflict is settled by their order."""
    lines = MEMBERS[LEAVES].splitlines(keepends=True)
    lines[2], lines[3] = lines[3], lines[2]

    assert refuse(change_member(BUNDLE, LEAVES, b"".join(lines))).code == "bundle_leaves_not_in_log"


def test_two_numbers_cannot_change_places() -> None:
    """Numbers ascend, and each is that of its leaf."""
    proof = read_proof(MEMBERS[PROOF])
    swapped = (proof.indices[1], proof.indices[0], *proof.indices[2:])
    moved = (*proof.indices[:-1], proof.indices[-1] + 1)

    for indices in (swapped, moved, (*proof.indices[:-1], proof.indices[-2])):
        data = change_member(BUNDLE, PROOF, write_proof(LeafProof(indices, proof.hashes)))

        assert refuse(data).code == "bundle_leaves_not_in_log"


@pytest.mark.parametrize("place", range(len(PARTS.leaves)))
def test_a_leaf_cannot_be_dropped_with_its_number(place: int) -> None:
    """Without it the hashes give another root, or are too few."""
    lines = MEMBERS[LEAVES].splitlines(keepends=True)
    proof = read_proof(MEMBERS[PROOF])
    indices = proof.indices[:place] + proof.indices[place + 1 :]
    members = {
        **MEMBERS,
        LEAVES: b"".join(lines[:place] + lines[place + 1 :]),
        PROOF: write_proof(LeafProof(indices, proof.hashes)),
    }

    refused = refuse(seal(members, manifest_of(BUNDLE)))

    assert refused.code in {"bundle_leaves_not_in_log", "bundle_head_refused"}


def test_a_leaf_cannot_be_added() -> None:
    """What is not in the log has no number there."""
    lines = MEMBERS[LEAVES].splitlines(keepends=True)
    proof = read_proof(MEMBERS[PROOF])
    members = {
        **MEMBERS,
        LEAVES: b"".join(lines + lines[:1]),
        PROOF: write_proof(LeafProof((*proof.indices, proof.indices[-1] + 1), proof.hashes)),
    }

    assert refuse(seal(members, manifest_of(BUNDLE))).code == "bundle_leaves_not_in_log"


def test_a_proof_with_more_or_fewer_hashes_is_refused() -> None:
    """As many as there are subtrees left out."""
    proof = read_proof(MEMBERS[PROOF])
    for hashes in (proof.hashes[:-1], (*proof.hashes, bytes(32)), proof.hashes[::-1]):
        data = change_member(BUNDLE, PROOF, write_proof(LeafProof(proof.indices, hashes)))

        assert refuse(data).code == "bundle_leaves_not_in_log"


def test_the_head_of_another_log_is_refused() -> None:
    """Whose log it is follows from the reader's key, not from what the head says."""
    other = SigningKey("other.example", bytes([9]) * 32)
    head = replace(head_of(PARTS), origin=other.name)
    note = sign_head(head, [other])

    unknown = refuse(make(head=note))
    known = refuse(make(head=note), *KEYS, other.verify_key)

    assert unknown.code == "bundle_head_refused"
    assert known.code == "bundle_receipt_not_of_log"


def test_a_head_that_the_log_did_not_sign_is_refused() -> None:
    """A key of that name is not that key."""
    forger = SigningKey(LOG.name, bytes([9]) * 32)

    refused = refuse(make(head=sign_head(head_of(PARTS), [forger])))

    assert refused.code == "bundle_head_refused"


def test_another_head_of_the_log_is_refused() -> None:
    """Manifest, head and proof are about one size."""
    note = sign_head(STORY.head(STORY.size - 1), [LOG])

    swapped = refuse(change_member(BUNDLE, HEAD, note))
    made = refuse(
        seal(
            {**MEMBERS, HEAD: note},
            manifest_of(story_bundle(note)),
        )
    )

    assert swapped.code == "bundle_head_refused"
    assert made.code == "bundle_leaves_not_in_log"


def story_bundle(note: bytes) -> bytes:
    """Make a bundle whose manifest states another head."""
    parts = STORY.parts(PARTS.receipt, size=STORY.size - 1)
    return make_bundle(replace(parts, head=note, segments=PARTS.segments), [RECEIPTS])


def test_a_fork_of_the_log_is_refused() -> None:
    """A log that signs two histories can bundle only leaves and receipts of the one it shows."""
    fork = story()
    fork.deliver(r.step("00:31", 7))
    forged = TreeHead(LOG.name, STORY.size, bytes(32))

    other_head = refuse(make(head=sign_head(forged, [LOG])))
    other_receipt = refuse(with_receipt(open_receipt(fork.receipt()).predicate))

    assert other_head.code == "bundle_leaves_not_in_log"
    assert other_receipt.code == "bundle_receipt_not_of_log"


@pytest.mark.parametrize(
    "log",
    [
        {"origin": "other.example"},
        {"size": STORY.size + 1},
        {"size": STORY.size},
        {"size": 0},
        {"size": 15},
        {"root": "A" * 43 + "="},
    ],
)
def test_a_receipt_of_another_beginning_is_refused(log: dict[str, Any]) -> None:
    """Origin, size and root have to be those of a beginning of this log."""
    stated = FIRST.predicate["log"] | log

    assert refuse(with_receipt(FIRST.predicate | {"log": stated})).code == (
        "bundle_receipt_not_of_log"
    )


def test_a_consistency_proof_is_there_if_and_only_if_the_log_went_on() -> None:
    """Its absence is a failure, and so is one that shows nothing."""
    whole = make_bundle(story().parts(story().receipt()), [RECEIPTS])

    missing = refuse(change_member(BUNDLE, CONSISTENCY, None))
    needless = refuse(change_member(whole, CONSISTENCY, MEMBERS[CONSISTENCY]))
    empty = refuse(change_member(whole, CONSISTENCY, b'{"hashes":[]}'))
    wrong = refuse(make(consistency=PARTS.consistency[:-1]))

    codes = {each.code for each in (missing, needless, empty, wrong)}
    assert codes == {"bundle_receipt_not_of_log"}


def test_a_receipt_that_does_not_hold_is_refused_by_its_own_code() -> None:
    """The message says what is wrong with the receipt, and the cause has its step."""
    usage = FIRST.predicate["usage"] | {"held": "0.000001"}

    refused = refuse(with_receipt(FIRST.predicate | {"usage": usage}))

    assert refused.code == "bundle_receipt_refused"
    assert str(refused).startswith("receipt of the bundle: wrong_figure: ")
    assert isinstance(refused.__cause__, VerificationError)
    assert refused.__cause__.step == 9


def test_a_receipt_of_an_unknown_signer_is_refused() -> None:
    """Who signed the manifest does not vouch for the receipt."""
    data = make_bundle(PARTS, [STRANGER])

    refused = refuse(data, LOG.verify_key, STRANGER.verify_key)

    assert refused.code == "bundle_receipt_refused"


def test_the_manifest_names_run_and_receipt() -> None:
    """Whoever looks only at the manifest is not told of another receipt."""
    stated = manifest_of(BUNDLE)
    for changed in (
        msgspec.structs.replace(stated, run="other"),
        msgspec.structs.replace(stated, receipt="sha256:" + "0" * 64),
    ):
        assert refuse(seal(MEMBERS, changed)).code == "bundle_receipt_refused"


def test_the_manifest_names_the_head() -> None:
    """Nor of another head."""
    stated = manifest_of(BUNDLE)
    log = msgspec.structs.replace(stated.log, size=stated.log.size + 1)

    refused = refuse(seal(MEMBERS, msgspec.structs.replace(stated, log=log)))

    assert refused.code == "bundle_head_refused"


@pytest.mark.parametrize("name", sorted(ALWAYS))
def test_every_member_that_a_bundle_needs_is_demanded(name: str) -> None:
    """A manifest that does not list it does not make it needless."""
    refused = refuse(change_member(BUNDLE, name, None))

    assert str(refused) == f"expected the member '{name}', the bundle has none"


def test_a_member_that_is_listed_has_to_be_there() -> None:
    """What was taken away after signing is missed."""
    members = {name: data for name, data in MEMBERS.items() if name != segment_name(SHA256)}

    assert refuse(write_container(members)).code == "bundle_member_missing"


def test_a_member_that_is_not_listed_may_not_be_there() -> None:
    """Not even one that a bundle may have."""
    more = write_container({**MEMBERS, segment_name("0" * 64): b""})

    assert refuse(more).code == "bundle_member_not_listed"


def test_a_member_has_the_size_that_is_listed() -> None:
    """Also where its SHA-256 is right."""
    stated = manifest_of(BUNDLE)
    first = msgspec.structs.replace(stated.members[0], bytes=1)
    listed = msgspec.structs.replace(stated, members=(first, *stated.members[1:]))

    assert refuse(seal(MEMBERS, listed, listed=False)).code == "bundle_member_altered"


def early(log: Log) -> bytes:
    """Bundle a whole log whose receipt says that it was computed from the first two leaves."""
    head = log.head(2)
    place = {"origin": head.origin, "size": head.size, "root": base64_text(head.root)}
    parts = log.parts(log.receipt(log=place))
    return make_bundle(
        replace(log.choose(parts, range(log.size)), segments={SHA256: SEGMENT}), [RECEIPTS]
    )


def test_a_contract_or_segment_of_later_leaves_does_not_count() -> None:
    """The receipt is computed from what the log had then."""
    no_contract, no_segment = Log(), Log()
    no_contract.deliver(r.started(), r.ended("01:00"))
    no_contract.publish()
    no_contract.deliver(samples("g1", "00:00", "01:00"))
    no_segment.publish()
    no_segment.deliver(r.started(), r.ended("01:00"), samples("g1", "00:00", "01:00"))

    assert refuse(early(no_contract)).code == "bundle_contract_refused"
    assert refuse(early(no_segment)).code == "bundle_segment_refused"


@pytest.mark.parametrize("data", [b"PAR2" + SEGMENT[4:], SEGMENT[:-1]])
def test_a_segment_is_the_one_of_its_name(data: bytes) -> None:
    """Neither after the manifest was signed, nor by whoever signed it, is it another."""
    name = segment_name(SHA256)

    assert refuse(rewritten(name, data)).code == "bundle_member_altered"
    assert refuse(change_member(BUNDLE, name, data)).code == "bundle_segment_refused"


def test_a_segment_that_no_leaf_names_is_refused() -> None:
    """A bundle carries nothing that the log does not know."""
    data = b"something else"
    sha256 = hashlib.sha256(data).hexdigest()

    assert refuse(make(segments={sha256: data})).code == "bundle_segment_refused"


def test_a_segment_may_be_left_out() -> None:
    """The leaf still names it, so it can be asked for."""
    assert verify_bundle(make(segments={}), KEYS).segments == {}


def test_withheld_numbers_do_not_look_lost() -> None:
    """What the manifest states of them is what admission counts."""
    stated = verify_bundle(BUNDLE, KEYS).evidence().sequence_gaps
    silent = verify_bundle(make(withheld=()), KEYS).evidence().sequence_gaps

    assert [(gap.missing, gap.lowest, gap.highest) for gap in stated] == [(2, 0, 16)]
    assert [(gap.missing, gap.lowest, gap.highest) for gap in silent] == [(5, 0, 15)]


def test_any_number_may_be_withheld() -> None:
    """Ranges are never written out, however long they are."""
    withheld = (Withheld("p", "b1", ((100, 2**53 - 1),)), Withheld("\u00e4", None, ((0, 0),)))

    gaps = verify_bundle(make(withheld=withheld), KEYS).evidence().sequence_gaps

    assert [(gap.missing, gap.highest) for gap in gaps] == [(89, 2**53 - 1)]


def test_only_leaves_of_the_receipt_are_evidence() -> None:
    """What the log said later is proven, and has no say in the receipt."""
    verified = verify_bundle(BUNDLE, KEYS)

    kinds = {record.kind for record in verified.evidence().records}

    assert "receipt.issued" not in kinds
    assert {"receipt.issued", "key.rotated"} <= {leaf.record.kind for leaf in verified.leaves}


def test_the_proof_file_of_the_issue_is_of_its_leaf_under_this_head() -> None:
    """It has no extra data, since nobody signs that, and no other head."""
    proof = parse_proof(MEMBERS[ISSUE_PROOF])
    earlier = STORY.parts(PARTS.receipt, size=17)
    others = [
        replace(proof, index=proof.index + 1),
        replace(proof, path=proof.path[::-1]),
        replace(proof, path=()),
        replace(proof, extra=b"x"),
        parse_proof(members_of(make_bundle(earlier, [RECEIPTS]))[ISSUE_PROOF]),
    ]

    codes = {refuse(change_member(BUNDLE, ISSUE_PROOF, proof_bytes(each))).code for each in others}

    assert codes == {"bundle_issue_refused"}


def test_a_proof_file_without_an_issue_is_refused() -> None:
    """There is nothing that it could be of."""
    whole = make_bundle(story().parts(story().receipt()), [RECEIPTS])

    assert refuse(change_member(whole, ISSUE_PROOF, MEMBERS[ISSUE_PROOF])).code == (
        "bundle_issue_refused"
    )


def test_long_lists_of_names_are_cut_in_messages() -> None:
    """A message stays one short line, however many signers a manifest names."""
    error = errors.UnknownBundlerError(("a",), tuple("bcdefghijkl"))

    assert str(error).endswith("and 3 more")
