"""Rating files: evidence and contracts in, receipts and findings out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tallystick.app.contracts import load_contracts
from tallystick.app.cycles import no_cycle_collection
from tallystick.app.files import read_lines
from tallystick.contract.versions import ContractVersions
from tallystick.core.finding import InputFinding
from tallystick.evidence.admission import Evidence, admit
from tallystick.receipt.assemble import receipts_of


class Rated(Protocol):
    """Receipts as predicates, wherever the evidence was, and the findings beside them."""

    @property
    def receipts(self) -> tuple[dict[str, Any], ...]:
        """One for each run, in order of its id."""
        ...

    @property
    def findings(self) -> tuple[InputFinding, ...]:
        """What belongs to no receipt."""
        ...


@dataclass(frozen=True, slots=True)
class RatedFiles:
    """Receipts as predicates, with what they were made from."""

    receipts: tuple[dict[str, Any], ...]
    findings: tuple[InputFinding, ...]
    evidence: Evidence
    contracts: ContractVersions


def rate_files(
    evidence: Sequence[str], contracts: Sequence[str], run: str | None = None
) -> RatedFiles:
    """Rate the runs in some evidence files, or one of them.

    Raises:
        TallystickError: a file cannot be read, or the contracts have mistakes.
    """
    versions = load_contracts(contracts)
    with no_cycle_collection():
        admitted = admit(read_lines(path) for path in evidence)
        receipts = receipts_of(admitted, versions, run)
    return RatedFiles(receipts.predicates, receipts.findings, admitted, versions)
