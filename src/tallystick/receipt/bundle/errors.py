"""Why a bundle is refused: one class per reason.

Each names the step of ``verify_bundle`` that failed. What the receipt inside, a head or a
proof is refused for is told in the message, and is the error's cause.
"""

from tallystick.core.wording import quoted
from tallystick.receipt.errors import VerificationError


class BundleError(VerificationError):
    """A bundle fails a step of verification; nothing in it may be relied on."""


class OversizedBundleError(BundleError):
    """A bundle, or a member of it, is larger than any is allowed to be, or has too many."""

    code = "bundle_too_large"
    step = 1

    def __init__(self, limit: int, what: str) -> None:
        super().__init__(limit, what)

    def __str__(self) -> str:
        limit, what = self.args
        return f"expected a bundle of at most {limit} {what}, got more"


class MalformedContainerError(BundleError):
    """A file is not a zip in the one layout that a bundle has."""

    code = "bad_container"
    step = 1

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed bundle: {self.args[0]}"


class MalformedManifestError(BundleError):
    """A bundle has no manifest, or it is not the envelope of one in canonical bytes."""

    code = "bad_manifest"
    step = 2

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed manifest: {self.args[0]}"


class UnknownBundlerError(BundleError):
    """No key that was given signed the manifest."""

    code = "no_known_bundler"
    step = 3

    def __init__(self, known: tuple[str, ...], found: tuple[str, ...]) -> None:
        super().__init__(known, found)

    def __str__(self) -> str:
        known, found = self.args
        return f"manifest: expected a signature of {_listed(known)}, got {_listed(found)}"


class BadBundleSignatureError(BundleError):
    """A signature of a known key does not hold for the manifest."""

    code = "bad_bundle_signature"
    step = 3

    def __init__(self, keyid: str) -> None:
        super().__init__(keyid)

    def __str__(self) -> str:
        return f"signature of {quoted(self.args[0])} does not hold for this manifest"


class UnknownBundleVersionError(BundleError):
    """A manifest follows a schema that this version does not know."""

    code = "unknown_bundle_version"
    step = 4

    def __init__(self, known: str, found: str) -> None:
        super().__init__(known, found)

    def __str__(self) -> str:
        known, found = self.args
        return f"schema of the manifest: expected {known}, got {quoted(found)}"


class MalformedManifestPayloadError(BundleError):
    """A manifest is not canonical JSON with each of its fields in its form, and no other."""

    code = "bad_manifest_payload"
    step = 4

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"malformed manifest: {self.args[0]}"


class MissingMemberError(BundleError):
    """A bundle lacks a member that its manifest lists, or that every bundle has."""

    code = "bundle_member_missing"
    step = 5

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __str__(self) -> str:
        return f"expected the member {quoted(self.args[0])}, the bundle has none"


class UnlistedMemberError(BundleError):
    """A bundle has a member that its manifest does not list, or that no bundle has."""

    code = "bundle_member_not_listed"
    step = 5

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __str__(self) -> str:
        return f"expected no member {quoted(self.args[0])}, the bundle has one"


class AlteredMemberError(BundleError):
    """A member is not the one that the manifest lists, by size or SHA-256."""

    code = "bundle_member_altered"
    step = 5

    def __init__(self, name: str, expected: str, found: str) -> None:
        super().__init__(name, expected, found)

    def __str__(self) -> str:
        name, expected, found = self.args
        return f"member {quoted(name)}: expected {expected}, got {found}"


class MalformedMemberError(BundleError):
    """A member is not in its form: leaves in canonical bytes, or numbers and hashes of a proof."""

    code = "bad_bundle_member"
    step = 6

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)

    def __str__(self) -> str:
        name, reason = self.args
        return f"member {quoted(name)}: {reason}"


class UntrustedHeadError(BundleError):
    """The tree head is not signed by a trusted key of its log, or is not that of the manifest."""

    code = "bundle_head_refused"
    step = 7

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"tree head of the bundle: {self.args[0]}"


class UnprovenLeavesError(BundleError):
    """The leaves of a bundle are not in the tree at their numbers, as far as the proof shows."""

    code = "bundle_leaves_not_in_log"
    step = 8

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"leaves of the bundle: {self.args[0]}"


class BundledReceiptError(BundleError):
    """The receipt inside fails a step of its own verification, or is not the manifest's."""

    code = "bundle_receipt_refused"
    step = 9

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"receipt of the bundle: {self.args[0]}"


class ForeignReceiptError(BundleError):
    """The receipt was not computed from a beginning of the bundle's log."""

    code = "bundle_receipt_not_of_log"
    step = 10

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"log of the receipt: {self.args[0]}"


class BundledContractError(BundleError):
    """A contract that the receipt names is not in the bundle, or is none."""

    code = "bundle_contract_refused"
    step = 11

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"contract of the bundle: {self.args[0]}"


class BundledSegmentError(BundleError):
    """A segment has another name than its SHA-256, or no leaf of the bundle names it."""

    code = "bundle_segment_refused"
    step = 12

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)

    def __str__(self) -> str:
        name, reason = self.args
        return f"segment {quoted(name)}: {reason}"


class BundledIssueError(BundleError):
    """What the log says of the receipts that it issued contradicts itself or the receipt."""

    code = "bundle_issue_refused"
    step = 13

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"issue of the receipt: {self.args[0]}"


def _listed(texts: tuple[str, ...], limit: int = 8) -> str:
    shown = ", ".join(quoted(text) for text in texts[:limit]) or "none"
    return f"{shown} and {len(texts) - limit} more" if len(texts) > limit else shown
