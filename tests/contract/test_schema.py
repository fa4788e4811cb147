"""The JSON Schema and the parser agree on what a contract is."""

import copy
import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallystick.contract
from tallystick.contract.errors import BadContractError
from tallystick.contract.json_form import contract_json
from tallystick.contract.parse import parse_contract

CASES = Path(__file__).parents[1] / "conformance" / "cases"
SCHEMA = json.loads(
    Path(tallystick.contract.__file__).with_name("contract.schema.json").read_text("utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

BEYOND_THE_SCHEMA = {"currency", "effective_from", "effective_to", "gap_factor", "then"}
"""Keys of which the schema knows the form only: zero, order, shares and currencies escape it."""

WRONG_VALUES = st.sampled_from(
    [
        *(-1, 0, 1, 5, 2**53 - 1, 2**53, 2.5, True, False),
        *("", " ", "x", "gpu", "node", "USD", "usd", "ZZZ", "5", "-5", "1.5", "1/2", "3/2", "1/0"),
        *("0", "0/1", "17:00", "25:00", "hold", "credit:1/2", "credit:2/1", "share:0/0"),
        *([], ["x"], [1], [-1], [[]], {}, {"x": 1}, [{}], {"unit": "node"}),
        *(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 1), datetime(2026, 6, 1).date()),  # noqa: DTZ001 (a local date-time is what is tried)
        datetime(2026, 6, 1, 12, 30).time(),  # noqa: DTZ001 (as above)
    ]
)


def inner_paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Give the path of everything in a document."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [
        found
        for part, item in items
        for found in [(*path, part), *inner_paths(item, (*path, part))]
    ]


@st.composite
def spoilt(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    """Remove or replace a few things somewhere in a document."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        *outer, last = draw(st.sampled_from(inner_paths(document)))
        place: Any = document
        for part in outer:
            place = place[part]
        if draw(st.booleans()):
            place[last] = draw(WRONG_VALUES)
        elif len(document) > 1:
            del place[last]
        if isinstance(place, dict) and draw(st.integers(0, 4)) == 0:
            place["unheard_of"] = 1
    return document


def test_the_schema_is_a_schema() -> None:
    """The shipped file satisfies the meta-schema of draft 2020-12."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("path", sorted(CASES.glob("*/contract*.toml")), ids=str)
def test_published_contracts_satisfy_the_schema(contracts: Any, path: Path) -> None:
    """A contract as written, and its terms as we print them, both follow the schema."""
    data = path.read_bytes()
    written = contracts.json_form(tomllib.loads(data.decode()))
    printed = contract_json(parse_contract(data))

    errors = [*VALIDATOR.iter_errors(written), *VALIDATOR.iter_errors(printed)]

    assert errors == []


def test_terms_as_json_state_every_default(contracts: Any) -> None:
    """The printed terms of the smallest contract leave nothing to look up."""
    assert contract_json(contracts.parse()) == {
        "schema": "tallystick.contract/1",
        "id": "acme",
        "version": 1,
        "currency": "USD",
        "effective_from": "2026-01-01T00:00:00.000000Z",
        "parties": {"provider": "Example Cloud", "customer": "Acme"},
        "calendar": {},
        "metering": {
            "unit": "gpu",
            "granularity_s": 1,
            "quantity_rounding": "up",
            "minimum_s": 0,
        },
        "rounding": {"digits": 2, "mode": "half_even", "per": "line"},
        "telemetry": {"gap_factor": "5/2"},
        "rate": [],
        "rule": [],
    }


def test_terms_as_json_read_back_are_the_same_terms(contracts: Any) -> None:
    """Nothing is lost: a contract made of the printed terms says the same."""
    printed = contract_json(parse_contract(contracts.toml_bytes(contracts.full)))
    times = {
        key: datetime.fromisoformat(printed[key]) for key in ("effective_from", "effective_to")
    }

    again = parse_contract(contracts.toml_bytes({**printed, **times}))

    assert contract_json(again) == printed


@given(st.data())
def test_schema_and_parser_refuse_the_same(contracts: Any, data: st.DataObject) -> None:
    """What the schema refuses is a mistake, and mistakes that escape it are the known ones."""
    document = data.draw(spoilt(contracts.full))
    fits = VALIDATOR.is_valid(contracts.json_form(document))

    try:
        parse_contract(contracts.toml_bytes(document))
        mistaken: set[str] = set()
    except BadContractError as error:
        mistaken = {mistake.key.rpartition(".")[2] for mistake in error.mistakes}

    assert mistaken <= BEYOND_THE_SCHEMA if fits else mistaken
