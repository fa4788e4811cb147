"""Whether a value is a measurement (rule 21)."""

import pytest

from tallystick.timeline.values import Reading, is_zero, read_value

USABLE, BLANK, IMPOSSIBLE = Reading.USABLE, Reading.BLANK, Reading.IMPOSSIBLE


@pytest.mark.parametrize(
    ("value", "metric", "expected"),
    [
        (None, "sm_util", BLANK),
        ("", "sm_util", BLANK),
        ("N/A", "sm_util", BLANK),
        ("nan", "sm_util", BLANK),
        ("inf", "sm_util", BLANK),
        (" 5", "sm_util", BLANK),
        ("5 ", "sm_util", BLANK),
        ("0x10", "sm_util", BLANK),
        ("1_0", "sm_util", BLANK),
        ("٣", "sm_util", BLANK),
        (".", "sm_util", BLANK),
        ("e5", "sm_util", BLANK),
        ("1e", "sm_util", BLANK),
        ("0", "sm_util", USABLE),
        ("-0", "sm_util", USABLE),
        ("+5", "sm_util", USABLE),
        ("5.", "sm_util", USABLE),
        (".5", "sm_util", USABLE),
        ("1e2", "sm_util", USABLE),
        ("1E-3", "sm_util", USABLE),
        (5, "sm_util", USABLE),
        (-1, "sm_util", IMPOSSIBLE),
    ],
)
def test_a_value_is_a_plain_decimal_number(
    value: str | int | None, metric: str, expected: Reading
) -> None:
    """Sign, digits and exponent are optional parts of a number; anything else is blank."""
    assert read_value(value, metric) is expected


@pytest.mark.parametrize(
    ("value", "metric", "expected"),
    [
        ("2147483631", "power", USABLE),
        ("2147483631.999", "power", USABLE),
        ("2147483632", "power", BLANK),
        ("2147483632", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", USABLE),
        ("2147483632", "pcie_tx_Bytes", USABLE),
        ("2147483632", "power_violation", USABLE),
        ("140737488355327", "energy", USABLE),
        ("140737488355328", "energy", BLANK),
        ("1.40737488355328e14", "energy", BLANK),
        ("9.223372036854776e18", "energy", BLANK),
        ("2147483632", "sm_util", BLANK),
        ("1e99999999999999999999", "energy", BLANK),
        ("1e-99999999999999999999", "energy", USABLE),
        ("-1e99999999999999999999", "energy", IMPOSSIBLE),
        ("-1e-99999999999999999999", "energy", IMPOSSIBLE),
        ("0e99999999999999999999", "energy", USABLE),
        ("9" * 100_000, "energy", BLANK),
    ],
)
def test_a_sentinel_is_blank(value: str, metric: str, expected: Reading) -> None:
    """From the lowest 32-bit blank on, or the 64-bit one for metrics that count in 64 bits."""
    assert read_value(value, metric) is expected


@pytest.mark.parametrize(
    ("value", "metric", "expected"),
    [
        ("100", "GPU_UTIL", USABLE),
        ("100.1", "GPU_UTIL", IMPOSSIBLE),
        ("1", "SM_ACTIVE", USABLE),
        ("1.37", "SM_ACTIVE", IMPOSSIBLE),
        ("2", "util_active", IMPOSSIBLE),
        ("101", "temperature", USABLE),
        ("-3", "temperature", IMPOSSIBLE),
        ("-0.000", "temperature", USABLE),
    ],
)
def test_a_value_beyond_what_its_metric_can_have_is_impossible(
    value: str, metric: str, expected: Reading
) -> None:
    """Nothing is negative, no utilisation is above 100, nothing active above 1."""
    assert read_value(value, metric) is expected


@pytest.mark.parametrize(
    ("value", "zero"),
    [(0, True), ("0", True), ("-0.00", True), ("0e9999999", True), (1, False), (None, False)],
)
def test_zero_is_stated(value: str | int | None, zero: bool) -> None:  # noqa: FBT001
    """Nothing is not zero."""
    assert is_zero(value) is zero
