"""Receipts of the records of a test, under contracts that are written in a line or two.

The price is 3.60 an hour unless a test says otherwise: a second costs 0.001, a minute 0.06.
"""

from collections.abc import Iterable
from typing import Any

from tallystick.contract.parse import parse_contract
from tallystick.contract.versions import ContractVersions
from tallystick.receipt.assemble import Receipts, receipts_of
from tests.evidence.records import Json, admitted, clock, moment

HELD_WHEN_DARK = """\
[[rule]]
clause = "4.2"
when = { telemetry = "unknown" }
then = "hold"
"""


def contract(
    *parts: str,
    version: int = 1,
    per_hour: str | None = "3.60",
    since: str = "2026-01-01T00:00:00.000000Z",
    until: str | None = None,
) -> bytes:
    """Write a contract of one rate, with further tables of TOML."""
    lines = [
        'schema = "tallystick.contract/1"',
        'id = "acme"',
        f"version = {version}",
        'currency = "USD"',
        f"effective_from = {moment(since)}",
        *([] if until is None else [f"effective_to = {moment(until)}"]),
        'parties = { provider = "Example Cloud", customer = "Acme" }',
        *([] if per_hour is None else [rate_text("2.1", per_hour)]),
        *parts,
    ]
    return ("\n".join(lines) + "\n").encode()


def rate_text(clause: str, per_hour: str, **wanted: str) -> str:
    """Write a rate, for attempts that have what is wanted."""
    conditions = [f'{key} = "{value}"' for key, value in wanted.items()]
    stated = [f'clause = "{clause}"', f'per_hour = "{per_hour}"']
    return "\n".join(["[[rate]]", *stated, *conditions])


def rule(clause: str, when: str, then: str) -> str:
    """Write a rule."""
    return f'[[rule]]\nclause = "{clause}"\nwhen = {{ {when} }}\nthen = "{then}"'


def metering(**terms: int | str) -> str:
    """Write how time is metered."""
    return _table("metering", terms)


def rounding(**terms: int | str) -> str:
    """Write how money is rounded."""
    return _table("rounding", terms)


def _table(name: str, terms: dict[str, int | str]) -> str:
    rows = (f"{key} = {value!r}" for key, value in terms.items())
    return "\n".join([f"[{name}]", *rows]).replace("'", '"')


def rate_all(records: Iterable[Json], *contracts: bytes) -> Receipts:
    """Rate every run."""
    versions = ContractVersions(tuple(map(parse_contract, contracts or (contract(),))))
    return receipts_of(admitted(records), versions)


def rate(records: Iterable[Json], *contracts: bytes) -> Json:
    """Give the receipt of the only run."""
    (receipt,) = rate_all(records, *contracts).predicates
    return receipt


def columns(receipt: Json, names: str) -> list[tuple[Any, ...]]:
    """Give some columns of every line; a line that lacks one has nothing there."""
    return [tuple(line.get(name) for name in names.split()) for line in receipt["lines"]]


def pieces(line: Json) -> list[str]:
    """Give the intervals of a line: ``00:00-01:00``, or with GPUs ``00:00-01:00 g1 g2``."""
    texts = []
    for piece in line["pieces"]:
        gpus = [] if piece["gpus"] is None else [str(gpu) for gpu in piece["gpus"]]
        texts.append(" ".join([f"{clock(piece['start'])}-{clock(piece['end'])}", *gpus]))
    return texts


def finding_codes(receipt: Json) -> list[tuple[str, str | None]]:
    """Give code and attempt of each finding, as they stand."""
    return [(each["code"], each["attempt"]) for each in receipt["findings"]]
