"""``tallystick contract``: pages, warnings, mistakes and the schema."""

import json
from hashlib import sha256
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from tallystick.cli.contract_page import duration_text
from tallystick.cli.main import cli
from tallystick.contract.errors import BadContractError

CASES = Path(__file__).parents[1] / "conformance" / "cases"

CONTRACT = """\
schema = "tallystick.contract/1"
id = "acme-spot"
version = 3
currency = "USD"
effective_from = 2026-01-01T00:00:00Z
effective_to = 2027-01-01T00:00:00.5Z
parties = { provider = "Example Cloud", customer = "Acme" }
calendar = { time_zone = "America/New_York", day_close = "17:00" }
[metering]
unit = "node"
gpus_per_node = 8
granularity_s = 60
minimum_s = 600
[rounding]
digits = 1
mode = "half_up"
per = "receipt"
[telemetry]
gap_factor = "3"
[[rate]]
clause = "2.1"
gpu_type = "H100"
capacity = "spot"
per_hour = "2.25"
[[rate]]
clause = "2.2"
per_hour = "12.25"
[[rule]]
clause = "5.1"
says = "A reclaim by the provider within the first hour is free."
when = { ended_by = ["provider", "scheduler"], attempt_shorter_than_s = 3600 }
then = "exclude"
[[rule]]
clause = "Schedule B, section 4.2"
when = { telemetry = "unknown", notice_shorter_than_s = 90, first_s = 420, zone = "z1" }
then = "credit:2/8"
[[rule]]
clause = "6"
when = {}
then = "share:1/2"
"""

PAGE = """\
acme-spot@3 (contract.toml)
  sha256:{digest}
  provider    Example Cloud
  customer    Acme
  in force    from 2026-01-01T00:00:00Z = 2025-12-31 19:00:00 EST
              until 2027-01-01T00:00:00.500000Z = 2026-12-31 19:00:00 EST
  time zone   America/New_York
  day closes  at 17:00
  metering    time of each node (8 GPUs) and attempt, rounded up to 1 min, at
              least 10 min
  telemetry   samples over 3 cadences apart leave a gap
  money       USD with 1 decimal place, rounded half away from zero once per
              receipt

Rates in USD for one node and hour; the first that fits counts
  2.1   2.25  GPU type H100, capacity spot
  2.2  12.25  any

Rules; the first that matches decides, and time that none matches is charged
  5.1  ended by provider or scheduler, and attempt shorter than 1 h: not charged
       "A reclaim by the provider within the first hour is free."
  Schedule B, section 4.2
       telemetry unknown, and zone z1, and first 7 min of the attempt, and less
       than 90 s of notice by who took it back: charged, and 1/4 of it given
       back
  6    always: 1/2 of the price charged
"""


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """Run the command with some arguments."""
    return CliRunner().invoke(cli, ["contract", *arguments], input=stdin)


def test_a_contract_is_told_in_plain_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says everything that the contract says, in 80 columns."""
    monkeypatch.chdir(tmp_path)
    Path("contract.toml").write_text(CONTRACT, encoding="utf-8")

    result = run("check", "contract.toml")

    digest = sha256(CONTRACT.encode()).hexdigest()
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == PAGE.format(digest=digest)


@pytest.mark.parametrize("path", sorted(CASES.glob("*/contract*.toml")), ids=str)
def test_pages_fit_80_columns(path: Path) -> None:
    """The page of no published contract is wider than a terminal."""
    result = run("check", "-", stdin=path.read_bytes())

    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_texts_of_a_contract_do_not_reach_the_terminal_raw() -> None:
    """Control characters are printed as escapes, and line breaks as spaces."""
    text = CONTRACT.replace('"Acme"', '"A\\nc\\u001b[31mme"')

    result = run("check", "-", stdin=text)

    assert "  customer    A c\\x1b[31mme\n" in result.stdout


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59+00:00"])
def test_the_ends_of_the_calendar_have_no_local_time(moment: str) -> None:
    """A moment without a local time is told in UTC alone."""
    zone = "America/New_York" if moment.startswith("0") else "Asia/Tokyo"
    text = CONTRACT.replace("2027-01-01T00:00:00.5Z", "9999-12-31T23:59:59.5Z")
    text = text.replace("2026-01-01T00:00:00Z", moment).replace("America/New_York", zone)

    result = run("check", "-", stdin=text)

    assert f"from {moment.replace('+00:00', 'Z')}\n" in result.stdout


def test_a_contract_without_rates_and_rules_is_told_so() -> None:
    """What is missing is said, and the warning goes to standard error."""
    text = CONTRACT[: CONTRACT.index("[metering]")].replace("acme-spot", "x")

    result = run("check", "-", stdin=text)

    assert result.stdout.splitlines()[-3:] == [
        "No rates: all GPU time is held, unless a rule excludes it.",
        "",
        "No rules: all time is charged.",
    ]
    assert result.stderr == (
        "warning: standard input: rate: no rate: all time that no rule excludes is held\n"
    )
    assert result.exit_code == 0


def test_mistakes_end_the_check() -> None:
    """The error names every mistake and stands for exit 2."""
    result = run("check", "-", stdin="version = 1\nid = 5\n")

    assert isinstance(result.exception, BadContractError)
    assert (result.exception.exit_status, len(result.exception.mistakes)) == (2, 6)
    assert result.stdout == ""


def test_json_has_the_terms_of_each_contract() -> None:
    """The terms in JSON follow the schema that the other command prints."""
    printed = json.loads(run("check", "--json", "-", stdin=CONTRACT).stdout)

    [contract] = printed["contracts"]
    jsonschema.validate(contract["terms"], json.loads(run("schema").stdout))
    assert (contract["source"], contract["name"]) == ("standard input", "acme-spot@3")
    assert (printed["warnings"], printed["mistakes"]) == ([], [])


def test_json_has_the_mistakes() -> None:
    """Mistakes are data too: one object, and still an error."""
    result = run("check", "--json", "-", stdin=CONTRACT.replace('"2.25"', "2.25"))

    assert isinstance(result.exception, BadContractError)
    assert json.loads(result.stdout) == {
        "contracts": [],
        "warnings": [],
        "mistakes": [
            {
                "source": "standard input",
                "line": 24,
                "key": "rate[1].per_hour",
                "message": 'expected a decimal string like "2.25", '
                "of up to 18 digits on each side, got the number 2.25",
            }
        ],
    }


@pytest.mark.parametrize(
    ("duration_us", "text"),
    [(0, "0 s"), (90_000_000, "90 s"), (420_000_000, "7 min"), (7_200_000_000, "2 h")],
)
def test_durations_are_told_in_the_largest_whole_unit(duration_us: int, text: str) -> None:
    """An hour is an hour, and a minute and a half is seconds."""
    assert duration_text(duration_us) == text


@pytest.mark.parametrize("command", [[], ["check"], ["schema"]])
def test_help_is_there(command: list[str]) -> None:
    """Each command explains itself."""
    result = run(*command, "--help")

    assert result.exit_code == 0
    assert "Usage:" in result.stdout
