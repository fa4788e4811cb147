"""What the log says of the receipts that it issued: one chain of revisions."""

from typing import Any

import pytest

from tallystick.receipt.bundle.contents import BundleLeaf
from tallystick.receipt.bundle.errors import BundledIssueError
from tallystick.receipt.bundle.issue import Issue, find_issue, read_issues
from tallystick.receipt.verify import open_receipt
from tests.evidence import records as r
from tests.receipt.bundle.bundles import Log, record_of, story

FIRST = open_receipt(story().receipt())
SIZE = story().size
ONE, TWO, THREE = ("sha256:" + digit * 64 for digit in "123")


def issued(payload: str, revision: int = 1, supersedes: str | None = None, **body: Any) -> Any:
    """Say that a receipt was issued."""
    said = {"run": "run", "revision": revision, "payload": payload, "supersedes": supersedes}
    return said | {"size": SIZE, "contract": "acme"} | body


def leaves_of(*bodies: Any, start: int = SIZE) -> list[BundleLeaf]:
    """Give the leaves of a log that says so."""
    log = Log()
    for body in bodies:
        log.say("receipt.issued", **body)
    return [
        BundleLeaf(start + place, leaf, record_of(leaf)) for place, leaf in enumerate(log.leaves())
    ]


def find(*bodies: Any, start: int = SIZE) -> Issue | None:
    """Find what such a log says of the receipt of the story."""
    return find_issue(read_issues(leaves_of(*bodies, start=start), "run"), FIRST)


def test_revisions_follow_each_other() -> None:
    """Each names the one before it, and the leaves of other runs have no say."""
    leaves = leaves_of(
        issued(ONE), issued(THREE, 7, TWO, run="other"), issued(TWO, 2, ONE), issued(THREE, 3, TWO)
    )

    issues = read_issues(leaves, "run")

    assert [(each.number, each.said.revision) for each in issues] == [
        (SIZE, 1), (SIZE + 2, 2), (SIZE + 3, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "bodies",
    [
        [issued(TWO, 2, ONE)],
        [issued(ONE, 1, TWO)],
        [issued(ONE), issued(TWO, 1)],
        [issued(ONE), issued(TWO, 3, ONE)],
        [issued(ONE), issued(THREE, 2, TWO)],
        [issued(ONE), issued(TWO, 2)],
    ],
)
def test_revisions_that_do_not_follow_are_refused(bodies: list[Any]) -> None:
    """A log that says two things of one run is not believed in either."""
    with pytest.raises(BundledIssueError):
        read_issues(leaves_of(*bodies), "run")


@pytest.mark.parametrize(
    "changed",
    [{"run": ""}, {"revision": 0}, {"payload": "sha256:1"}, {"supersedes": ""}, {"size": -1}],
)
def test_a_record_of_another_form_is_refused(changed: dict[str, Any]) -> None:
    """Also one that might be of another run."""
    with pytest.raises(BundledIssueError) as refused:
        read_issues(leaves_of(issued(ONE) | changed), "run")

    assert f"leaf {SIZE}" in str(refused.value)


def test_another_producer_issues_nothing() -> None:
    """Only the log itself says what it issued."""
    log = Log()
    log.deliver(r.record("receipt.issued", None, issued(ONE)))
    (leaf,) = log.leaves()

    assert read_issues([BundleLeaf(0, leaf, record_of(leaf))], "run") == ()


def test_a_receipt_is_found_by_its_payload() -> None:
    """The leaf that names it is its issue, also when later ones supersede it."""
    found = find(issued(FIRST.payload_digest), issued(TWO, 2, FIRST.payload_digest))

    assert found is not None
    assert (found.number, found.said.revision) == (SIZE, 1)


def test_a_receipt_may_be_the_next() -> None:
    """A bundle may be made before the log says that it was issued."""
    assert find() is None


@pytest.mark.parametrize(
    "bodies",
    [
        [issued(ONE)],
        [issued(ONE), issued(FIRST.payload_digest, 2, ONE)],
        [issued(FIRST.payload_digest, size=SIZE - 1)],
        [issued(FIRST.payload_digest, size=None)],
    ],
)
def test_a_receipt_that_the_log_contradicts_is_refused(bodies: list[Any]) -> None:
    """Its revision is taken by another, or what is said of it is not what it says."""
    with pytest.raises(BundledIssueError):
        find(*bodies)


def test_a_receipt_is_issued_after_its_evidence() -> None:
    """What it was computed from is all before."""
    with pytest.raises(BundledIssueError):
        find(issued(FIRST.payload_digest), start=SIZE - 1)
