"""Heads for others: proofs, updates, cosignatures, and two stories found out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tallystick.app import rotation
from tallystick.app.errors import UnknownHeadSizeError, WitnessStateMissingError
from tallystick.app.heads import (
    head_update,
    keep_cosigned,
    leaf_proof,
    signed_head,
    verify_leaf_proof,
)
from tallystick.app.keys import new_key
from tallystick.app.rotation import rotate_log_key
from tallystick.app.store import OpenStore
from tallystick.app.witness import (
    Witnessed,
    check_cosigned,
    compare_heads,
    cosign_update,
    witness_key_line,
)
from tallystick.evidence.leaf import leaf_record
from tallystick.stores.errors import StoreForkedError
from tallystick.stores.signing import first_head
from tallystick.tree.errors import (
    InclusionError,
    LeafIndexError,
    OlderHeadError,
    SplitViewError,
    TreeError,
    UnknownNoteSignerError,
    UnprovenHeadError,
)
from tallystick.tree.note import parse_note, verify_note
from tests.app.stores import new_store, size_of, tell
from tests.evidence.records import ended, started, step

TIME_S = 1_800_000_000


class Party:
    """A customer who cosigns the heads of a log."""

    def __init__(self, folder: Path, store: OpenStore) -> None:
        self.folder = folder
        self.log_key = str(store.folder.keys / "log.key.vkey")
        self.key = str(new_key(folder / "our.key", "customer.example").private_path)
        self.state = folder / "state"

    def cosign(self, update: bytes, *, is_first: bool = False) -> Witnessed:
        """Cosign what the log sent."""
        path = self.folder / "update"
        path.write_bytes(update)
        return cosign_update(
            str(path),
            self.folder / "cosigned",
            log_keys=[self.log_key],
            key=self.key,
            state=self.state,
            now_s=TIME_S,
            is_first=is_first,
        )


@contextmanager
def forked(folder: Path, store: OpenStore) -> Iterator[OpenStore]:
    """Make another log with the same key, which is what a dishonest log would do."""
    with new_store(folder, "fork") as fork:
        for name in ("log.key", "log.key.vkey"):
            (fork.folder.keys / name).write_bytes((store.folder.keys / name).read_bytes())
        fork.folder.issued.replace(first_head(fork.log.origin, fork.folder.signing_key("log")))
        yield fork


def test_a_leaf_is_proven_to_whoever_has_the_key(tmp_path: Path) -> None:
    """With the proof file, the leaf and nothing of the store."""
    with new_store(tmp_path) as store:
        tell(store, *(step(f"00:{minute:02}", minute) for minute in range(20)))
        leaf, proof = leaf_proof(store, 7)
        key = str(store.folder.keys / "log.key.vkey")
        with pytest.raises(LeafIndexError):
            leaf_proof(store, 20)
    (tmp_path / "proof").write_bytes(proof)
    (tmp_path / "leaf").write_bytes(leaf)
    (tmp_path / "other").write_bytes(leaf.replace(b'"step":7', b'"step":8'))

    index, head = verify_leaf_proof(str(tmp_path / "proof"), str(tmp_path / "leaf"), [key])

    assert (index, head.size) == (7, 20)
    assert b'"step":7' in leaf_record(leaf)
    with pytest.raises(InclusionError):
        verify_leaf_proof(str(tmp_path / "proof"), str(tmp_path / "other"), [key])


def test_a_witness_follows_a_log_that_only_grows(tmp_path: Path) -> None:
    """Each cosigned head goes on from the last, and is kept before it is given away."""
    with new_store(tmp_path) as store:
        party = Party(tmp_path, store)
        first = party.cosign(head_update(store, 0), is_first=True)
        tell(store, started(), ended())
        second = party.cosign(head_update(store, 0))
        tell(store, step("00:10", 1))
        third = party.cosign(head_update(store, 2))
        same = party.cosign(head_update(store, 3))

    assert [each.head.size for each in (first, second, third, same)] == [0, 2, 3, 3]
    assert party.state.read_bytes() == same.note == (tmp_path / "cosigned").read_bytes()


def test_a_witness_begins_only_if_it_is_told_to(tmp_path: Path) -> None:
    """A lost state is not a fresh start."""
    with new_store(tmp_path) as store:
        party = Party(tmp_path, store)

        with pytest.raises(WitnessStateMissingError) as refused:
            party.cosign(head_update(store, 0))

    assert refused.value.code == "witness_state_missing"
    assert not (tmp_path / "cosigned").exists()


def test_two_stories_told_to_one_witness_are_found_out(tmp_path: Path) -> None:
    """Of one size, which is proof, and of a later one, for which the log has no proof."""
    with new_store(tmp_path) as store, forked(tmp_path, store) as fork:
        party = Party(tmp_path, store)
        tell(store, started(), ended())
        tell(fork, started(), step("00:10", 1))
        party.cosign(head_update(store, 0), is_first=True)
        before = party.state.read_bytes()
        stories = [head_update(fork, 2)]
        tell(fork, ended())
        stories.append(head_update(fork, 2))

        codes = []
        for story in stories:
            with pytest.raises(TreeError) as refused:
                party.cosign(story)
            codes.append(refused.value.code)

    assert codes == ["split_view", "head_not_proven"]
    assert party.state.read_bytes() == before


def test_a_log_that_became_shorter_is_found_out(tmp_path: Path) -> None:
    """A restored log cannot take back what was cosigned."""
    with new_store(tmp_path) as store, forked(tmp_path, store) as fork:
        party = Party(tmp_path, store)
        tell(store, started(), ended())
        tell(fork, started())
        party.cosign(head_update(store, 0), is_first=True)

        with pytest.raises(OlderHeadError) as refused:
            party.cosign(head_update(fork, 1))

    assert refused.value.code == "head_is_older"


def test_two_parties_compare_what_they_were_shown(tmp_path: Path) -> None:
    """A split view between them is detected, and one history is confirmed."""
    with new_store(tmp_path) as store, forked(tmp_path, store) as fork:
        key = [str(store.folder.keys / "log.key.vkey")]
        tell(store, started(), ended())
        tell(fork, started(), step("00:10", 1))
        for name, data in (("ours", signed_head(store)[1]), ("theirs", signed_head(fork)[1])):
            (tmp_path / name).write_bytes(data)
        tell(store, step("00:10", 1))
        (tmp_path / "later").write_bytes(head_update(store, 2))
        ours, theirs, later = (str(tmp_path / name) for name in ("ours", "theirs", "later"))

        smaller, larger = compare_heads(later, ours, log_keys=key)
        with pytest.raises(SplitViewError):
            compare_heads(ours, theirs, log_keys=key)
        with pytest.raises(UnprovenHeadError):
            compare_heads(later, theirs, log_keys=key)

    assert (smaller.size, larger.size) == (2, 3)


def test_a_cosigned_head_goes_with_the_log(tmp_path: Path) -> None:
    """Later readers of that size see who cosigned it, and can demand it."""
    with new_store(tmp_path) as store, forked(tmp_path, store) as fork:
        tell(store, started())
        party = Party(tmp_path, store)
        party.cosign(head_update(store, 0), is_first=True)
        (tmp_path / "witness.vkey").write_text(witness_key_line(party.key), "utf-8")
        _, plain = signed_head(store)

        head, others = keep_cosigned(store, str(tmp_path / "cosigned"))
        _, note = signed_head(store)
        (found,) = check_cosigned(parse_note(note), [str(tmp_path / "witness.vkey")])

        tell(fork, ended())
        with pytest.raises(StoreForkedError):
            keep_cosigned(fork, str(tmp_path / "cosigned"))
        with pytest.raises(UnknownNoteSignerError):
            check_cosigned(parse_note(plain), [str(tmp_path / "witness.vkey")])

    assert head.size == 1
    assert [name.partition("+")[0] for name in others] == ["customer.example"]
    assert found.time_s == TIME_S


def test_an_update_from_a_size_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A log proves nothing from its future."""
    with new_store(tmp_path) as store, pytest.raises(UnknownHeadSizeError) as refused:
        head_update(store, 1)

    assert refused.value.code == "size_beyond_log"


def test_a_new_key_is_named_by_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash between record and files the same successor takes over."""
    with new_store(tmp_path) as store:
        old = store.folder.signing_key("log").verify_key
        with monkeypatch.context() as patched:
            patched.setattr(rotation, "_exchange", crash)
            with pytest.raises(RuntimeError):
                rotate_log_key(store)
        assert signed_head(store)[0].size == 1
        was, new, leaf = rotate_log_key(store)
        _, note = signed_head(store)

        assert (was, leaf, size_of(store)) == (old, 0, 1)
        assert store.folder.signing_key("log").verify_key == new != old
        assert verify_note(parse_note(note), [new]) == (new.keyid,)
        names = sorted(path.name for path in store.folder.keys.glob("log*"))
        assert names == sorted(["log.key", "log.key.vkey", f"log.{old.keyid[-8:]}.key.vkey"])
        _, newest, _ = rotate_log_key(store)
        assert newest not in {old, new}


def crash(*_: object) -> None:
    """Stand in for a power cut."""
    raise RuntimeError
