"""What the rows of a GPU mean: measured, or unknown."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.emit.dcgm.values import average, known, read_values

HEALTHY = {
    "No. of Processes": "1",
    "Energy Consumed (Joules)": "1575000",
    "Power Usage (Watts)": "Avg: 350.112, Max: 421.75, Min: 88.4",
    "SM Clock (MHz)": "Avg: 1710, Max: 1980, Min: 345",
    "SM Utilization (%)": "Avg: 91, Max: 100, Min: 0",
    "Memory Utilization (%)": "Avg: 44, Max: 63, Min: 0",
}
NOTHING = {
    "No. of Processes": "0",
    "Energy Consumed (Joules)": "Not Specified",
    "Power Usage (Watts)": "Avg: N/A, Max: N/A, Min: N/A",
    "SM Clock (MHz)": "Avg: 0, Max: 0, Min: 0",
    "SM Utilization (%)": "Avg: 0, Max: 0, Min: 0",
    "Memory Utilization (%)": "Avg: 0, Max: 0, Min: 0",
}


def test_a_healthy_block_gives_integers_and_watts_as_printed() -> None:
    """Joules become mJ, averages integers, and power stays the text that was printed (r29)."""
    values = read_values(HEALTHY)

    assert values == {
        "energy_mj": 1_575_000_000,
        "power_w": "350.112",
        "sm_util": 91,
        "mem_util": 44,
        "processes": 1,
    }


def test_zeros_without_samples_are_unknown() -> None:
    """No energy, no power and clocks at 0: none of the zeros was measured (r28)."""
    values = read_values(NOTHING)

    assert set(values.values()) == {None}


def test_zeros_of_an_idle_gpu_are_measured() -> None:
    """With clocks above 0 a GPU was sampled, so its zeros are values."""
    idle = NOTHING | {
        "Energy Consumed (Joules)": "225000",
        "Power Usage (Watts)": "Avg: 50, Max: 51, Min: 49",
        "SM Clock (MHz)": "Avg: 345, Max: 345, Min: 345",
    }

    values = read_values(idle)

    assert values == {
        "energy_mj": 225_000_000,
        "power_w": "50",
        "sm_util": 0,
        "mem_util": 0,
        "processes": 0,
    }


def test_clocks_without_a_reading_are_not_clocks_at_zero() -> None:
    """Unknown clocks do not complete the pattern, so other values stand."""
    values = read_values(NOTHING | {"SM Clock (MHz)": "Avg: N/A, Max: N/A, Min: N/A"})

    assert values["processes"] == 0


def test_one_sample_has_power_and_no_energy() -> None:
    """DCGM#171: energy 0 beside 247 W is one sample less itself, and a cut Min harms nothing."""
    rows = HEALTHY | {
        "Energy Consumed (Joules)": "0",
        "Power Usage (Watts)": "Avg: 247.541, Max: 247.541, Min: 247...",
    }

    values = read_values(rows)

    assert (values["energy_mj"], values["power_w"]) == (None, "247.541")


def test_energy_zero_without_power_stays_zero() -> None:
    """Only power above 0 says that energy 0 was not measured (r27)."""
    rows = HEALTHY | {
        "Energy Consumed (Joules)": "0",
        "Power Usage (Watts)": "Avg: 0, Max: 0, Min: 0",
    }

    values = read_values(rows)

    assert values["energy_mj"] == 0


def test_an_energy_beyond_json_integers_is_unknown() -> None:
    """No record with a larger integer is admitted, and no GPU ever used as much."""
    values = read_values(HEALTHY | {"Energy Consumed (Joules)": "9007199254741"})

    assert values["energy_mj"] is None


def test_a_fraction_is_kept_as_a_decimal_string() -> None:
    """An average with a fraction is neither rounded nor a float."""
    values = read_values(HEALTHY | {"SM Utilization (%)": "Avg: 91.5, Max: 100, Min: 0"})

    assert values["sm_util"] == "91.5"


def test_a_blank_of_32_bits_is_handed_on() -> None:
    """DCGM#83: 2147483632 is below the smallest blank of a print, and coverage refuses it later."""
    values = read_values(HEALTHY | {"SM Utilization (%)": "Avg: 2147483632, Max: 0, Min: 0"})

    assert values["sm_util"] == 2_147_483_632


def test_an_energy_that_is_not_supported_is_unknown() -> None:
    """codecarbon#1316: a board without the counter used an unknown amount, not 0 kWh."""
    values = read_values(HEALTHY | {"Energy Consumed (Joules)": "Not Supported"})

    assert (values["energy_mj"], values["sm_util"]) == (None, 91)


def test_rows_that_are_missing_are_unknown() -> None:
    """What a text does not say is null, never 0."""
    values = read_values({})

    assert set(values.values()) == {None}


@pytest.mark.parametrize(
    "text",
    [
        "N/A",
        "Not Specified",
        "Not Supported",
        "Not Found",
        "Insf. Permission",
        "Unknown",
        "",
        "-8998800",
        "-1",
        "140737488355328",
        "9223372036391664",
        "1.40737e+14",
        "1.40737488355328e+16",
        "2474...",
        "247...",
        "0x10",
        "1,5",
        "NaN",
        "inf",
    ],
)
def test_what_is_no_measured_number_is_unknown(text: str) -> None:
    """Words, cut or negative numbers and blanks of any size are unknown (r27)."""
    assert known(text) is None


@pytest.mark.parametrize("text", ["0", "100", "140737488355327", "350.112", "1e3"])
def test_what_is_a_measured_number_is_known(text: str) -> None:
    """A number from 0 up to the smallest blank is read exactly."""
    assert known(text) == Decimal(text)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Avg: 91, Max: 100, Min: 0", "91"),
        ("Avg: N/A, Max: N/A, Min: N/A", "N/A"),
        ("Max: 100, Avg: 7", "7"),
        ("Avg: 14073748835532800000000000000000...", "14073748835532800000000000000000..."),
        ("97", None),
        (None, None),
    ],
)
def test_the_average_is_the_one_labelled_so(cell: str | None, expected: str | None) -> None:
    """The average is found by its label, not by its place."""
    assert average(cell) == expected


@given(st.decimals(min_value=0, max_value=2**47 - 1, places=3))
def test_energy_is_never_rounded(joules: Decimal) -> None:
    """Every printed energy that fits becomes exactly its thousandfold."""
    values = read_values(HEALTHY | {"Energy Consumed (Joules)": format(joules, "f")})

    fits = joules * 1000 <= 2**53 - 1 and joules > 0
    assert values["energy_mj"] == (int(joules * 1000) if fits else None)
