"""Reading contracts: what each term becomes, and every mistake with its line."""

from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.contract.errors import BadContractError, Mistake
from tallystick.contract.parse import parse_contract
from tallystick.contract.terms import Contract, Effect, Rate, Rule, Share, When
from tallystick.core.money import Rounding

CASES = Path(__file__).parents[1] / "conformance" / "cases"
YEAR_2026_US = 1_767_225_600_000_000
YEAR_2027_US = 1_798_761_600_000_000


def mistakes_of(data: str | bytes) -> tuple[Mistake, ...]:
    """Give the mistakes of a contract that has some."""
    with pytest.raises(BadContractError) as raised:
        parse_contract(data.encode() if isinstance(data, str) else data)
    return raised.value.mistakes


def test_terms_that_are_not_stated_have_the_defaults_of_the_format(contracts: Any) -> None:
    """The smallest contract meters GPUs by the second and rounds each line half to even."""
    contract = contracts.parse()

    assert contract == Contract(
        id="acme",
        version=1,
        currency="USD",
        effective_from_us=YEAR_2026_US,
        effective_to_us=None,
        provider="Example Cloud",
        customer="Acme",
        time_zone=None,
        day_close=None,
        unit="gpu",
        gpus_per_node=None,
        granularity_us=1_000_000,
        quantity_rounding="up",
        minimum_us=0,
        rounding=Rounding(2, "half_even"),
        rounding_per="line",
        gap_factor=Fraction(5, 2),
        rates=(),
        rules=(),
        digest=f"sha256:{sha256(contracts.smallest.encode()).hexdigest()}",
    )


def test_every_term_is_read(contracts: Any) -> None:
    """What a contract states replaces every default."""
    data = contracts.toml_bytes(contracts.full)

    contract = parse_contract(data)

    assert contract == Contract(
        id="acme",
        version=3,
        currency="USD",
        effective_from_us=YEAR_2026_US,
        effective_to_us=YEAR_2027_US,
        provider="Example Cloud",
        customer="Acme",
        time_zone="America/New_York",
        day_close="17:00",
        unit="node",
        gpus_per_node=8,
        granularity_us=60_000_000,
        quantity_rounding="half_even",
        minimum_us=600_000_000,
        rounding=Rounding(4, "half_up"),
        rounding_per="receipt",
        gap_factor=Fraction(7, 2),
        rates=(
            Rate("2.1", Fraction(9, 4), "2.250", gpu_type="H100", capacity="spot"),
            Rate("2.2", Fraction(4), "4", zone="z1", tier="gold"),
        ),
        rules=(
            Rule(
                "5.1",
                "A reclaim within the first hour is free.",
                When(ended_by=("provider",), attempt_shorter_than_us=3_600_000_000),
                Effect("exclude"),
            ),
            Rule(
                "6.1",
                None,
                When(
                    first_us=90_000_000,
                    telemetry=("observed", "unknown:blank"),
                    progress=("waiting:data",),
                    allocation=("held",),
                    notice_shorter_than_us=420_000_000,
                    gpu_type=("H100",),
                    capacity=("spot",),
                    zone=("z1",),
                    tier=(),
                ),
                Effect("credit", Share(1, 4)),
            ),
            Rule("7.1", None, When(), Effect("share", Share(1, 2))),
        ),
        digest=f"sha256:{sha256(data).hexdigest()}",
    )


@pytest.mark.parametrize("path", sorted(CASES.glob("*/contract*.toml")), ids=str)
def test_the_contracts_of_the_conformance_cases_are_read(path: Path) -> None:
    """Every published contract is free of mistakes."""
    contract = parse_contract(path.read_bytes())

    assert contract.customer == "Acme"


def test_the_smallest_currency_unit_is_the_default_rounding(contracts: Any) -> None:
    """Yen have no decimal places, and a contract in yen need not say so."""
    data = contracts.smallest.replace("USD", "JPY").encode()

    assert parse_contract(data).rounding.digits == 0


def test_any_code_is_a_currency_if_the_digits_are_stated(contracts: Any) -> None:
    """A unit that ISO 4217 does not have, such as credits, needs its digits stated."""
    data = f"{contracts.smallest.replace('USD', 'ZZZ')}[rounding]\ndigits = 3\n".encode()

    contract = parse_contract(data)

    assert (contract.currency, contract.rounding.digits) == ("ZZZ", 3)


@pytest.mark.parametrize(
    ("written", "expected_us"),
    [
        ("2025-12-31T19:00:00-05:00", YEAR_2026_US),
        ("2026-01-01 05:45:00.000001+05:45", YEAR_2026_US + 1),
        ("2026-01-01T00:00:00.0000019Z", YEAR_2026_US + 1),
    ],
)
def test_a_moment_may_have_any_offset(contracts: Any, written: str, expected_us: int) -> None:
    """Offsets are settled exactly; below a microsecond is cut off."""
    data = contracts.smallest.replace("2026-01-01T00:00:00Z", written).encode()

    assert parse_contract(data).effective_from_us == expected_us


@pytest.mark.parametrize(
    ("then", "effect"),
    [
        ("charge", Effect("charge")),
        ("hold", Effect("hold")),
        ("credit:0/7", Effect("credit", Share(0, 1))),
        ("credit:3/3", Effect("credit", Share(1, 1))),
        ("share:50/100", Effect("share", Share(1, 2))),
    ],
)
def test_then_is_read_in_lowest_terms(contracts: Any, then: str, effect: Effect) -> None:
    """Shares from 0 to 1 are taken, and reduced."""
    contract = contracts.parse(f'[[rule]]\nclause = "1"\nthen = "{then}"\n')

    assert contract.rules[0].effect == effect


@pytest.mark.parametrize(
    ("written", "factor"), [("5/2", Fraction(5, 2)), ("2.5", Fraction(5, 2)), ("3", Fraction(3))]
)
def test_a_gap_factor_is_a_ratio_or_a_decimal(
    contracts: Any, written: str, factor: Fraction
) -> None:
    """Both ways of writing an exact factor are read."""
    contract = contracts.parse(f'[telemetry]\ngap_factor = "{written}"\n')

    assert contract.gap_factor == factor


def test_an_empty_list_of_limits_is_a_limit_of_zero(contracts: Any) -> None:
    """Nothing is below any of no limits, as nothing is below zero."""
    contract = contracts.parse('[[rule]]\nclause = "1"\nwhen.first_s = []\nthen = "hold"\n')

    assert contract.rules[0].when.first_us == 0


def test_unknown_keys_and_words_are_no_mistake(contracts: Any) -> None:
    """Outside ``when`` later versions may add keys, and anywhere they may add words."""
    contract = contracts.parse(
        "sla = 1\n[[rule]]\nclause = '1'\nowner = 'x'\nwhen.ended_by = 'aliens'\nthen = 'hold'\n"
    )

    assert contract.rules[0].when.ended_by == ("aliens",)


@pytest.mark.parametrize(
    ("was", "becomes", "line", "key"),
    [
        ('schema = "tallystick.contract/1"', "", None, "schema"),
        ("tallystick.contract/1", "tallystick.contract/2", 1, "schema"),
        ('id = "acme"', "", None, "id"),
        ('"acme"', '" "', 2, "id"),
        ('"acme"', "7", 2, "id"),
        ("version = 1", "", None, "version"),
        ("version = 1", "version = true", 3, "version"),
        ("version = 1", "version = -1", 3, "version"),
        ("version = 1", "version = 9007199254740992", 3, "version"),
        ("version = 1", f"version = 0x{'f' * 5000}", 3, "version"),
        ('currency = "USD"', "", None, "currency"),
        ("USD", "usd", 4, "currency"),
        ("USD", "XAU", 4, "currency"),
        ("USD", "ZZZ", 4, "currency"),
        ("effective_from = 2026-01-01T00:00:00Z", "", None, "effective_from"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00", 5, "effective_from"),
        ("2026-01-01T00:00:00Z", "2026-01-01", 5, "effective_from"),
        ("2026-01-01T00:00:00Z", "00:00:00", 5, "effective_from"),
        ("2026-01-01T00:00:00Z", '"2026-01-01T00:00:00Z"', 5, "effective_from"),
        ("2026-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", 5, "effective_from"),
        ('provider = "Example Cloud", ', "", 6, "parties.provider"),
        (', customer = "Acme"', "", 6, "parties.customer"),
        ('{ provider = "Example Cloud", customer = "Acme" }', "1", 6, "parties"),
    ],
)
def test_mistakes_in_needed_terms(
    contracts: Any, was: str, becomes: str, line: int | None, key: str
) -> None:
    """A needed term that is missing or wrong is a mistake on its line."""
    mistakes = mistakes_of(contracts.smallest.replace(was, becomes))

    assert (mistakes[0].line, mistakes[0].key) == (line, key)


@pytest.mark.parametrize(
    ("addition", "line", "key"),
    [
        ("effective_to = 2027-01-01T00:00:00", 7, "effective_to"),
        ("effective_to = 2026-01-01T00:00:00Z", 7, "effective_to"),
        ("calendar = []", 7, "calendar"),
        ("calendar.time_zone = 5", 7, "calendar.time_zone"),
        ('calendar.day_close = "24:00"', 7, "calendar.day_close"),
        ("calendar.day_close = 17:00:00", 7, "calendar.day_close"),
        ('metering.unit = "rack"', 7, "metering.unit"),
        ('metering.unit = "node"', 7, "metering.gpus_per_node"),
        ("metering.gpus_per_node = 0", 7, "metering.gpus_per_node"),
        ("metering.granularity_s = 0", 7, "metering.granularity_s"),
        ('metering.granularity_s = "1"', 7, "metering.granularity_s"),
        ('metering.quantity_rounding = "half_up"', 7, "metering.quantity_rounding"),
        ("metering.minimum_s = 1.5", 7, "metering.minimum_s"),
        ("rounding.digits = 19", 7, "rounding.digits"),
        ('rounding.mode = "floor"', 7, "rounding.mode"),
        ("rounding.per = 1", 7, "rounding.per"),
        ("telemetry.gap_factor = 2.5", 7, "telemetry.gap_factor"),
        ('telemetry.gap_factor = "0/1"', 7, "telemetry.gap_factor"),
        ('telemetry.gap_factor = "1/0"', 7, "telemetry.gap_factor"),
        ('telemetry.gap_factor = "-1"', 7, "telemetry.gap_factor"),
        ("rate = { clause = '1', per_hour = '1' }", 7, "rate"),
        ("rate = [\n 1]", 8, "rate[1]"),
        ("[[rate]]\nper_hour = '1'", 7, "rate[1].clause"),
        ("[[rate]]\nclause = '1'", 7, "rate[1].per_hour"),
        ("[[rate]]\nclause = '1'\nper_hour = 2.25", 9, "rate[1].per_hour"),
        ("[[rate]]\nclause = '1'\nper_hour = '-1'", 9, "rate[1].per_hour"),
        ("[[rate]]\nclause = '1'\nper_hour = '1e3'", 9, "rate[1].per_hour"),
        ("[[rate]]\nclause = '1'\nper_hour = '\u0661'", 9, "rate[1].per_hour"),
        ("[[rate]]\nclause = '1'\nper_hour = '1000000000000000000'", 9, "rate[1].per_hour"),
        ("[[rate]]\nclause = '1'\nper_hour = '1'\nzone = ['a']", 10, "rate[1].zone"),
        ("[[rule]]\nthen = 'hold'", 7, "rule[1].clause"),
        ("[[rule]]\nclause = '1'", 7, "rule[1].then"),
        ("[[rule]]\nclause = '1'\nthen = 'free'", 9, "rule[1].then"),
        ("[[rule]]\nclause = '1'\nthen = 'hold:1/2'", 9, "rule[1].then"),
        ("[[rule]]\nclause = '1'\nthen = 'credit'", 9, "rule[1].then"),
        ("[[rule]]\nclause = '1'\nthen = 'credit1/2'", 9, "rule[1].then"),
        ("[[rule]]\nclause = '1'\nthen = 'credit:3/2'", 9, "rule[1].then"),
        ("[[rule]]\nclause = '1'\nthen = 'share:0/0'", 9, "rule[1].then"),
        ("[[rule]]\nclause = '1'\nthen = 'share:-1/2'", 9, "rule[1].then"),
        ("[[rule]]\nclause = '1'\nthen = 'share:0.5'", 9, "rule[1].then"),
        ("[[rule]]\nclause = '1'\nsays = ''\nthen = 'hold'", 9, "rule[1].says"),
        ("[[rule]]\nclause = '1'\nwhen = 'x'\nthen = 'hold'", 9, "rule[1].when"),
        ("[[rule]]\nclause = '1'\nthen = 'hold'\n[rule.when]\nx = 1", 11, "rule[1].when.x"),
        ("[[rule]]\nclause = '1'\nthen = 'hold'\nwhen.zone = 1", 10, "rule[1].when.zone"),
        ("[[rule]]\nclause = '1'\nthen = 'hold'\nwhen.zone = [1]", 10, "rule[1].when.zone"),
        ("[[rule]]\nclause = '1'\nthen = 'hold'\nwhen.first_s = -1", 10, "rule[1].when.first_s"),
        ("[[rule]]\nclause = '1'\nthen = 'hold'\nwhen.first_s = '1'", 10, "rule[1].when.first_s"),
    ],
)
def test_mistakes_in_other_terms(contracts: Any, addition: str, line: int, key: str) -> None:
    """A term that is stated wrongly is one mistake, on its line or that of its table."""
    mistakes = mistakes_of(contracts.smallest + addition)

    assert [(mistake.line, mistake.key) for mistake in mistakes] == [(line, key)]


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        (
            "[[rate]]\nclause = '1'\nper_hour = 2.25",
            (
                'expected a decimal string like "2.25", of up to 18 digits on each side, '
                "got the number 2.25"
            ),
        ),
        (
            "[[rule]]\nclause = '1'\nthen = 'hold'\nwhen.endedby = 'user'",
            "unknown condition, did you mean 'ended_by'?",
        ),
        (
            "effective_to = 2027-01-01",
            (
                "expected a date-time with offset like 2026-01-01T00:00:00Z, without quotes, "
                "got the date 2027-01-01"
            ),
        ),
        ("metering.unit = 'rack'", "expected gpu or node, got 'rack'"),
        ("metering.minimum_s = false", "expected an integer from 0 to 2^53-1, got false"),
        ("metering.minimum_s = {}", "expected an integer from 0 to 2^53-1, got a table"),
        ("rounding.digits = [1]", "expected an integer from 0 to 18, got a list"),
        (
            f"metering.minimum_s = 1{'0' * 20}",
            "expected an integer from 0 to 2^53-1, got an integer of more than 20 digits",
        ),
        (
            "calendar.day_close = 17:00:00",
            'expected a time of day like "17:00", got the time 17:00:00',
        ),
        (
            "calendar.day_close = 2026-01-01T17:00:00",
            'expected a time of day like "17:00", got the local date-time 2026-01-01T17:00:00',
        ),
        (
            "calendar.day_close = 2026-01-01T17:00:00Z",
            'expected a time of day like "17:00", got the date-time 2026-01-01T17:00:00+00:00',
        ),
        (f"rounding.per = '{'x' * 100}'", f"expected line or receipt, got '{'x' * 57}...'"),
    ],
)
def test_messages_say_what_was_expected_and_what_was_found(
    contracts: Any, addition: str, message: str
) -> None:
    """A mistake can be put right from its message alone."""
    assert [mistake.message for mistake in mistakes_of(contracts.smallest + addition)] == [message]


def test_a_zone_is_looked_up_if_the_caller_can(contracts: Any) -> None:
    """An unknown time zone is one more mistake for those who have the database."""
    data = f"{contracts.smallest}calendar.time_zone = 'Mars/Olympus'\n".encode()

    with pytest.raises(BadContractError) as raised:
        parse_contract(data, zone_exists=lambda name: name == "UTC")

    assert [(mistake.line, mistake.key) for mistake in raised.value.mistakes] == [
        (7, "calendar.time_zone")
    ]


class Term(NamedTuple):
    """A line of a contract, what it looks like with a mistake, and where that is reported."""

    right: str
    wrong: str
    key: str
    line_back: int | None = 0
    """How many lines above it is reported, None for no line at all."""


TERMS = (
    Term('schema = "tallystick.contract/1"', "schema = 1", "schema"),
    Term('id = "acme"', "#", "id", None),
    Term("version = 1", "version = '1'", "version"),
    Term('currency = "USD"', 'currency = "dollar"', "currency"),
    Term("effective_from = 2026-01-01T00:00:00Z", "effective_from = 2026-01-01", "effective_from"),
    Term("effective_to = 2027-01-01T00:00:00Z", "effective_to = 'never'", "effective_to"),
    Term("[parties]", "[parties] # 1", ""),
    Term('provider = "P"', "#", "parties.provider", 1),
    Term('customer = "C"', "customer = []", "parties.customer"),
    Term("[metering]", "[metering] # 2", ""),
    Term('unit = "gpu"', 'unit = "GPU"', "metering.unit"),
    Term("granularity_s = 1", "granularity_s = 0", "metering.granularity_s"),
    Term("minimum_s = 0", "minimum_s = 0.0", "metering.minimum_s"),
    Term("[rounding]", "[rounding] # 3", ""),
    Term('mode = "up"', 'mode = "UP"', "rounding.mode"),
    Term("[[rate]]", "[[rate]] # 4", ""),
    Term('clause = "2.1"', "#", "rate[1].clause", 1),
    Term('per_hour = "2"', "per_hour = 2", "rate[1].per_hour"),
    Term("[[rule]]", "[[rule]] # 5", ""),
    Term('clause = "4"', 'clause = ""', "rule[1].clause"),
    Term('then = "hold"', 'then = "Hold"', "rule[1].then"),
    Term("[[rule]]", "[[rule]] # 6", ""),
    Term('clause = "5"', "clause = 5", "rule[2].clause"),
    Term('when = { zone = "z" }', 'when = { zome = "z" }', "rule[2].when.zome"),
    Term('then = "share:1/2"', "#", "rule[2].then", 3),
)


@given(st.sets(st.sampled_from(range(len(TERMS)))))
def test_any_set_of_mistakes_is_reported_in_full(wrong: set[int]) -> None:
    """However many mistakes a contract has, one reading names them all, by line."""
    text = "\n".join(
        term.wrong if position in wrong else term.right for position, term in enumerate(TERMS)
    )
    expected = sorted(
        (0 if term.line_back is None else position + 1 - term.line_back, term.key)
        for position, term in enumerate(TERMS)
        if position in wrong and term.key
    )

    try:
        parse_contract(text.encode())
        mistakes: tuple[Mistake, ...] = ()
    except BadContractError as error:
        mistakes = error.mistakes

    assert sorted((mistake.line or 0, mistake.key) for mistake in mistakes) == expected
    assert [mistake.line or 0 for mistake in mistakes] == [line for line, _ in expected]
