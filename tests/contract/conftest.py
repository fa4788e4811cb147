"""Contracts for the tests of this folder: the smallest one, and one that states every term."""

from datetime import UTC, date, datetime, time
from typing import Any

import pytest

from tallystick.contract.parse import parse_contract
from tallystick.contract.terms import Contract

SMALLEST = """\
schema = "tallystick.contract/1"
id = "acme"
version = 1
currency = "USD"
effective_from = 2026-01-01T00:00:00Z
parties = { provider = "Example Cloud", customer = "Acme" }
"""

FULL: dict[str, Any] = {
    "schema": "tallystick.contract/1",
    "id": "acme",
    "version": 3,
    "currency": "USD",
    "effective_from": datetime(2026, 1, 1, tzinfo=UTC),
    "effective_to": datetime(2027, 1, 1, tzinfo=UTC),
    "parties": {"provider": "Example Cloud", "customer": "Acme"},
    "calendar": {"time_zone": "America/New_York", "day_close": "17:00"},
    "metering": {
        "unit": "node",
        "gpus_per_node": 8,
        "granularity_s": 60,
        "quantity_rounding": "half_even",
        "minimum_s": 600,
    },
    "rounding": {"digits": 4, "mode": "half_up", "per": "receipt"},
    "telemetry": {"gap_factor": "7/2"},
    "rate": [
        {"clause": "2.1", "per_hour": "2.250", "gpu_type": "H100", "capacity": "spot"},
        {"clause": "2.2", "per_hour": "4", "zone": "z1", "tier": "gold"},
    ],
    "rule": [
        {
            "clause": "5.1",
            "says": "A reclaim within the first hour is free.",
            "when": {"ended_by": "provider", "attempt_shorter_than_s": 3600},
            "then": "exclude",
        },
        {
            "clause": "6.1",
            "when": {
                "first_s": [60, 90],
                "telemetry": ["observed", "unknown:blank"],
                "progress": "waiting:data",
                "allocation": "held",
                "notice_shorter_than_s": 420,
                "gpu_type": "H100",
                "capacity": ["spot"],
                "zone": "z1",
                "tier": [],
            },
            "then": "credit:2/8",
        },
        {"clause": "7.1", "when": {}, "then": "share:1/2"},
    ],
}


def toml_text(value: object) -> str:
    """Write a value in TOML on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return f"[{', '.join(toml_text(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {toml_text(item)}' for key, item in value.items())}}}"
    return str(value)


def toml_bytes(document: dict[str, Any]) -> bytes:
    """Write a document in TOML, one top-level key a line."""
    return "".join(f"{key} = {toml_text(value)}\n" for key, value in document.items()).encode()


def json_form(value: Any) -> Any:
    """Give what a document is as JSON: times become RFC 3339 strings."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list):
        return [json_form(item) for item in value]
    if isinstance(value, dict):
        return {key: json_form(item) for key, item in value.items()}
    return value


class Contracts:
    """What the tests build contracts with."""

    smallest = SMALLEST
    full = FULL
    toml_bytes = staticmethod(toml_bytes)
    json_form = staticmethod(json_form)

    @staticmethod
    def parse(addition: str = "") -> Contract:
        """Read the smallest contract with some lines added."""
        return parse_contract((SMALLEST + addition).encode())


@pytest.fixture(scope="session")
def contracts() -> Contracts:
    """Give the builders."""
    return Contracts()
