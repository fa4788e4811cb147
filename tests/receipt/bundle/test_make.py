"""Making a bundle: what could not be verified is mostly not even made."""

from dataclasses import replace

import pytest

from tallystick.core.errors import TallystickError
from tallystick.receipt.bundle.errors import BundleError, ForeignReceiptError
from tallystick.receipt.bundle.make import make_bundle
from tallystick.tree.errors import TreeError
from tests.receipt.bundle.bundles import RECEIPTS, head_of, small
from tests.receipt.samples import make_predicate
from tests.receipt.samples import sign as sign_sample

_, PARTS, BUNDLE = small()


def test_a_receipt_from_files_has_no_bundle() -> None:
    """It names no log, so nothing could be proven of it."""
    with pytest.raises(ForeignReceiptError):
        make_bundle(replace(PARTS, receipt=sign_sample(make_predicate())), [RECEIPTS])


def test_parts_that_do_not_fit_are_refused() -> None:
    """A head that is none, a leaf that is none, hashes of something else."""
    for changed in (
        replace(PARTS, head=b""),
        replace(PARTS, proof=PARTS.proof[1:]),
        replace(PARTS, leaves=((0, b"{}"),)),
        replace(PARTS, segments={"../name": b""}),
    ):
        with pytest.raises(TallystickError) as refused:
            make_bundle(changed, [RECEIPTS])

        assert isinstance(refused.value, BundleError | TreeError)


def test_the_parts_of_a_bundle_are_about_one_head() -> None:
    """The fixture states what the tests of verification rely on."""
    assert head_of(PARTS).size == 19
    assert [number for number, _ in PARTS.leaves][-2:] == [16, 17]
