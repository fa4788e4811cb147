"""What the contract says about a piece: rates, rules and their conditions (rules 47 to 50)."""

import pytest

from tests.evidence.records import (
    Json,
    alive,
    ended,
    minutes,
    notice,
    points,
    restored,
    resumed,
    started,
    step,
    suspended,
    waits,
)
from tests.rating.rated import columns, contract, finding_codes, rate, rate_text, rule

HOUR = (started(zone="z1", tier="gold"), ended(by_whom="provider"))


def matched(when: str, *records: Json) -> str:
    """Give the seconds that a rule with these conditions excludes."""
    receipt = rate(records or HOUR, contract(rule("5.1", when, "exclude")))
    seconds: str = receipt["usage"]["excluded"]
    return seconds.removesuffix(".000000")


# -- rules ---------------------------------------------------------------------------------


def test_without_a_rule_time_is_charged() -> None:
    """No rule clause stands on the line (section 5)."""
    assert columns(rate(HOUR), "disposition rule_clause quantity amount") == [
        ("charge", None, "3600.000000", "3.60")
    ]


def test_the_first_rule_that_matches_decides() -> None:
    """The order of the contract is the order of rules."""
    terms = contract(
        rule("1", 'ended_by = "user"', "hold"),
        rule("2", 'ended_by = "provider"', "exclude"),
        rule("3", "", "hold"),
    )

    assert columns(rate(HOUR, terms), "disposition rule_clause") == [("exclude", "2")]


def test_a_rule_may_charge_under_its_clause() -> None:
    """It keeps later rules away."""
    terms = contract(rule("1", 'ended_by = "provider"', "charge"), rule("2", "", "exclude"))

    assert columns(rate(HOUR, terms), "disposition rule_clause") == [("charge", "1")]


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ("", "3600"),
        ('ended_by = "provider"', "3600"),
        ('ended_by = ["user", "provider"]', "3600"),
        ('ended_by = "user"', "0"),
        ("ended_by = []", "0"),
        ('gpu_type = "H100"', "3600"),
        ('gpu_type = "B200"', "0"),
        ('capacity = ["spot", "reserved"]', "3600"),
        ('capacity = "reserved"', "0"),
        ('zone = "z1"', "3600"),
        ('zone = "z2"', "0"),
        ('tier = "gold"', "3600"),
        ('tier = "base"', "0"),
        ('ended_by = "provider", tier = "gold"', "3600"),
        ('ended_by = "provider", tier = "base"', "0"),
        ("attempt_shorter_than_s = 3601", "3600"),
        ("attempt_shorter_than_s = 3600", "0"),
        ("attempt_shorter_than_s = 0", "0"),
        ("first_s = 600", "600"),
        ("first_s = 0", "0"),
        ("first_s = 3600", "3600"),
        ("first_s = 7200", "3600"),
        ("notice_shorter_than_s = 1", "3600"),
        ("notice_shorter_than_s = 0", "0"),
    ],
)
def test_all_conditions_of_a_rule_hold(when: str, seconds: str) -> None:
    """Of a list any word does, and every limit is strict (rule 49)."""
    assert matched(when) == seconds


@pytest.mark.parametrize("when", ['zone = "z1"', 'tier = "gold"', 'gpu_type = "H100"'])
def test_a_field_that_the_attempt_has_not_matches_nothing(when: str) -> None:
    """Unknown is no word (rule 49)."""
    assert matched(when, started(gpu_type=None), ended()) == "0"


@pytest.mark.parametrize(
    "when",
    ['ended_by = "unknown"', "attempt_shorter_than_s = 7200", "notice_shorter_than_s = 7200"],
)
def test_an_open_attempt_matches_no_rule_about_its_end(when: str) -> None:
    """Nobody knows how it will end (rule 14)."""
    assert matched(when, started(), notice("00:10"), step("01:00", 1)) == "0"


@pytest.mark.parametrize(
    ("records", "seconds"),
    [
        ([notice("00:53"), ended(by_whom="provider")], "0"),
        ([notice("00:53:00.000001"), ended(by_whom="provider")], "3600"),
        ([notice("00:53:01"), ended(by_whom="scheduler")], "3600"),
        ([ended(by_whom="scheduler")], "3600"),
        ([ended(by_whom="hardware")], "0"),
        ([notice("00:55"), ended(by_whom="user")], "0"),
        ([notice("01:05"), ended(by_whom="provider")], "3600"),
    ],
)
def test_a_short_notice_is_shorter_than_promised(records: list[Json], seconds: str) -> None:
    """For ends by provider or scheduler; no notice is a lead of nothing (rule 49)."""
    assert matched("notice_shorter_than_s = 420", started(), *records) == seconds


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ('allocation = "held"', "1800"),
        ('allocation = "suspended"', "1200"),
        ('allocation = "notice"', "600"),
        ('allocation = ["notice", "suspended"]', "1800"),
    ],
)
def test_a_rule_may_look_at_the_allocation_lane(when: str, seconds: str) -> None:
    """`held` means that class only (rule 30)."""
    lane = (started(), suspended("00:10"), resumed("00:30"), notice("00:50"), ended())

    assert matched(when, *lane) == seconds


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ('telemetry = "observed"', "1200"),
        ('telemetry = "unknown"', "2400"),
        ('telemetry = "unknown:late_watch"', "600"),
        ('telemetry = ["unknown:lost_tail", "observed"]', "3000"),
        ('telemetry = "unknown:blank"', "0"),
    ],
)
def test_a_rule_may_look_at_the_telemetry_lane(when: str, seconds: str) -> None:
    """`unknown` matches every reason (rule 49)."""
    assert matched(when, started(), points(minutes("00:10", "00:30")), ended()) == seconds


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ('progress = "starting"', "600"),
        ('progress = "waiting"', "1200"),
        ('progress = "waiting:data"', "600"),
        ('progress = "waiting:suspended"', "600"),
        ('progress = "advancing"', "600"),
        ('progress = ["unknown", "starting"]', "1800"),
    ],
)
def test_a_rule_may_look_at_the_progress_lane(when: str, seconds: str) -> None:
    """`waiting` matches every reason (rule 49)."""
    lane = (
        *(started(), restored("00:10", 0), step("00:20", 1), waits("00:20"), step("00:30", 2)),
        *(suspended("00:40"), resumed("00:50"), ended()),
    )

    assert matched(when, *lane) == seconds


def test_suspended_time_is_metered() -> None:
    """Like held time, unless a rule says otherwise (section 5)."""
    receipt = rate((started(), suspended("00:10"), ended()))

    assert columns(receipt, "disposition quantity") == [("charge", "3600.000000")]


def test_the_first_seconds_are_wall_clock() -> None:
    """Suspended or not (rule 49)."""
    records = (started(), alive("00:00"), suspended("00:00"), resumed("00:05"), ended())

    assert matched("first_s = 600", *records) == "600"


# -- rates ---------------------------------------------------------------------------------


def test_the_first_rate_that_matches_counts() -> None:
    """By GPU type, capacity, zone and tier, each of which fits any if it is not stated."""
    terms = contract(
        rate_text("2.1", "9", gpu_type="B200"),
        rate_text("2.2", "9", capacity="reserved"),
        rate_text("2.3", "9", zone="z2"),
        rate_text("2.4", "9", tier="base"),
        rate_text("2.5", "2.50", gpu_type="H100", capacity="spot", zone="z1", tier="gold"),
        rate_text("2.6", "9"),
        per_hour=None,
    )

    assert columns(rate(HOUR, terms), "rate_clause per_hour amount") == [("2.5", "2.50", "2.50")]


def test_no_rate_holds() -> None:
    """Nobody named a price, so the amount is unknown, and so is what is owed (rule 50)."""
    receipt = rate(HOUR, contract(rate_text("2.1", "1", gpu_type="B200"), per_hour=None))

    assert columns(receipt, "disposition rate_clause per_hour amount at_least at_most") == [
        ("hold", None, None, None, "0.00", None)
    ]
    assert finding_codes(receipt) == [("no_rate", "a")]
    assert receipt["totals"]["held_at_most"] is None
    assert receipt["totals"]["net"] == {"at_least": "0.00", "at_most": None}


def test_no_rate_is_told_once_an_attempt() -> None:
    """However many pieces lack one (rule 50)."""
    terms = contract(rule("1", "first_s = 600", "charge"), per_hour=None)

    receipt = rate(HOUR, terms)

    assert columns(receipt, "disposition rule_clause") == [("hold", None), ("hold", "1")]
    assert finding_codes(receipt) == [("no_rate", "a")]


def test_an_exclusion_stands_without_a_rate() -> None:
    """What costs nothing needs no price, and is no finding (rule 50)."""
    receipt = rate(HOUR, contract(rule("1", "", "exclude"), per_hour=None))

    assert columns(receipt, "disposition rate_clause amount") == [("exclude", None, "0.00")]
    assert finding_codes(receipt) == []


def test_a_rule_that_holds_without_a_rate_lacks_one_too() -> None:
    """Its clause stays on the line (rule 50)."""
    receipt = rate(HOUR, contract(rule("1", "", "hold"), per_hour=None))

    assert columns(receipt, "disposition rule_clause") == [("hold", "1")]
    assert finding_codes(receipt) == [("no_rate", "a")]


def test_no_contract_holds() -> None:
    """No version is in force: no contract, no clause, no price (rule 50)."""
    receipt = rate(HOUR, contract(rule("1", "", "exclude"), since="02:00"))

    assert columns(receipt, "disposition contract rate_clause rule_clause amount at_most") == [
        ("hold", None, None, None, None, None)
    ]
    assert finding_codes(receipt) == [("no_contract", "a")]
    assert receipt["contracts"] == []


# -- versions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contracts", "lines"),
    [
        (
            [contract(until="00:20"), contract(version=2, since="00:20")],
            [("acme@1", "1200.000000"), ("acme@2", "2400.000000")],
        ),
        (
            [contract(), contract(version=2, since="00:20", until="00:30")],
            [("acme@1", "3000.000000"), ("acme@2", "600.000000")],
        ),
        (
            [contract(version=2), contract(version=1, since="00:20")],
            [("acme@2", "3600.000000")],
        ),
        (
            [contract(until="00:20"), contract(version=2, since="00:30")],
            [("acme@1", "1200.000000"), ("acme@2", "1800.000000"), (None, "600.000000")],
        ),
    ],
)
def test_the_highest_version_in_force_counts(
    contracts: list[bytes], lines: list[tuple[str | None, str]]
) -> None:
    """Ranges are half-open and may overlap or leave a hole (rule 47)."""
    assert columns(rate(HOUR, *contracts), "contract quantity") == lines


def test_the_order_of_files_does_not_matter() -> None:
    """Versions are known by number."""
    contracts = (contract(until="00:20"), contract(version=2, since="00:20"))

    assert rate(HOUR, *contracts) == rate(HOUR, *reversed(contracts))
