"""Two readings of the rules, written apart, come to the same receipts of random stories.

The number of stories grows with TALLYSTICK_STORIES, and TALLYSTICK_FIRST_STORY says where to
begin, so that a long search can go where none has been.
"""

import json
import os
import random
from typing import Any

import pytest

from tallystick.contract.parse import parse_contract
from tallystick.contract.versions import ContractVersions
from tallystick.core.canonical import canonical_bytes, check_canonical
from tallystick.core.errors import TallystickError
from tallystick.evidence.admission import admit
from tallystick.receipt.assemble import receipts_of
from tests.reference.slow_rate import rate
from tests.reference.stories import story
from tests.reference.story_contracts import misused

BATCH = 20
STORIES = int(os.environ.get("TALLYSTICK_STORIES", "300"))
FIRST = int(os.environ.get("TALLYSTICK_FIRST_STORY", "0"))
BATCHES = [
    range(at, min(at + BATCH, FIRST + STORIES)) for at in range(FIRST, FIRST + STORIES, BATCH)
]


def seeded(seed: int) -> random.Random:
    """Give the random numbers of a seed."""
    return random.Random(seed)  # noqa: S311 (a story to test with, not a secret)


def ours(evidence: list[bytes], contracts: list[bytes]) -> Any:
    """Rate a story with the kernel; give what the command would print."""
    versions = ContractVersions(tuple(map(parse_contract, contracts)))
    receipts = receipts_of(admit([evidence]), versions)
    output = {
        "receipts": list(receipts.predicates),
        "findings": [finding.to_json() for finding in receipts.findings],
    }
    check_canonical(output)
    return json.loads(canonical_bytes(output))


def comparable(output: Any) -> Any:
    """Leave out what the rules let differ: wording, and which records are named as evidence."""
    for receipt in output["receipts"]:
        for line in receipt["lines"]:
            line.pop("evidence", None)
        for finding in receipt["findings"]:
            finding.pop("message")
    for finding in output["findings"]:
        finding.pop("message")
        finding.pop("digest", None)
    return output


@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_both_readings_agree(seeds: range) -> None:
    """Whole outputs are equal: receipts in all their parts, and the findings beside them."""
    for seed in seeds:
        told = story(seeded(seed))

        expected, _ = rate([b"\n".join(told.evidence)], told.contracts)

        assert comparable(ours(told.evidence, told.contracts)) == comparable(expected), seed


@pytest.mark.parametrize("seed", range(60))
def test_both_readings_refuse_the_same_contracts(seed: int) -> None:
    """What no call may use is misuse in either: nothing is rated (rules 45 to 48)."""
    contracts = misused(seeded(seed))

    _, status = rate([b""], contracts)

    assert status == 2
    with pytest.raises(TallystickError) as caught:
        ours([], contracts)
    assert caught.value.exit_status == 2
