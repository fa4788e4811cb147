"""The reference itself: it holds the published cases, and its own sums add up."""

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.reference.slow_rate import rate
from tests.reference.stories import bad_line, shuffled, story
from tests.reference.story_contracts import contracts, misused

CASES = Path(__file__).parent.parent / "conformance" / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/expected.json"))
SEEDS = range(24)


def holds(want: Any, got: Any) -> bool:
    """Whether `got` contains `want`: objects by subset, lists element by element."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(
            name in got and holds(part, got[name]) for name, part in want.items()
        )
    if isinstance(want, list):
        return (
            isinstance(got, list)
            and len(want) == len(got)
            and all(holds(one, other) for one, other in zip(want, got, strict=True))
        )
    return type(want) is type(got) and bool(want == got)


def seeded(seed: int) -> random.Random:
    """Give the random numbers of a seed."""
    return random.Random(seed)  # noqa: S311 (a story to test with, not a secret)


def span_us(lane: list[dict[str, str]]) -> Decimal:
    """Give the seconds that a printed lane covers, by its ends alone."""
    return sum((moment(one["end"]) - moment(one["start"]) for one in lane), Decimal(0))


def moment(text: str) -> Decimal:
    """Give a printed time as seconds of its month; stories stay within one."""
    day, hour, minute = int(text[8:10]), int(text[11:13]), int(text[14:16])
    month = 0 if text[5:7] == "03" else -28
    return ((day + month) * 24 + hour) * 3600 + minute * 60 + Decimal(text[17:26])


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_holds_a_published_case(name: str) -> None:
    """A second reading of the rules comes to the published results, too."""
    case = CASES / name
    evidence = [path.read_bytes() for path in sorted(case.glob("evidence*.jsonl"))]
    files = [path.read_bytes() for path in sorted(case.glob("contract*.toml"))]
    expected = json.loads((case / "expected.json").read_bytes())

    output, status = rate(evidence, files)

    assert holds(expected, output)
    assert status == (0 if output["receipts"] else 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_order_and_number_of_deliveries_change_no_receipt(seed: int) -> None:
    """Where no two records share an identity, shuffled copies give the same receipts."""
    told = story(seeded(seed))
    again = told.evidence if told.ordered else shuffled(seeded(seed + 1), told.evidence)
    half = len(again) // 2

    once, _ = rate([b"\n".join(told.evidence)], told.contracts)
    twice, _ = rate([b"\n".join(again[:half]), b"\n".join(again[half:])], told.contracts)

    assert twice["receipts"] == once["receipts"]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_second_is_on_one_line_and_in_one_class(seed: int) -> None:
    """Dispositions partition the metered usage, and lanes 1 and 3 cover the same time."""
    told = story(seeded(seed))

    output, _ = rate([b"\n".join(told.evidence)], told.contracts)

    for receipt in output["receipts"]:
        usage = {name: Decimal(part) for name, part in receipt["usage"].items() if name != "unit"}
        assert usage["metered"] == sum(usage.values()) - usage["metered"]
        for lanes in receipt["timeline"]:
            assert span_us(lanes["allocation"]) == span_us(lanes["progress"])
        if receipt["usage"]["unit"] == "gpu_seconds":
            spent = sum(Decimal(part) for part in receipt["progress"]["gpu_seconds"].values())
            assert usage["metered"] == spent


@pytest.mark.parametrize("seed", SEEDS)
def test_a_refused_line_is_refused_for_what_is_wrong_with_it(seed: int) -> None:
    """A broken line gives the one code for which it was broken, and no receipt."""
    line, code = bad_line(seeded(seed), "somebody/0", 1)

    output, status = rate([line], contracts(seeded(seed)))

    assert [(one["code"], one["line"]) for one in output["findings"]] == [(code, 1)]
    assert status == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_misused_contract_rates_nothing(seed: int) -> None:
    """Contract files that no call may use are misuse, whatever the evidence."""
    told = story(seeded(seed))

    output, status = rate([b"\n".join(told.evidence)], misused(seeded(seed)))

    assert output["receipts"] == []
    assert status == 2
