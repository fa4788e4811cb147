"""Options that take several values."""

import click
import pytest
from click.testing import CliRunner

from tallystick.cli.options import SeveralValues, repeat_name


@click.command()
@click.argument("path", required=False)
@click.option("--evidence", cls=SeveralValues)
@click.option("--key", "-k", "keys", cls=SeveralValues)
@click.option("--json", "as_json", is_flag=True)
def example(
    path: str | None, evidence: tuple[str, ...], keys: tuple[str, ...], *, as_json: bool
) -> None:
    """Print what was given."""
    click.echo(f"{path} {evidence} {keys} {as_json}")


@pytest.mark.parametrize(
    ("args", "printed"),
    [
        ([], "None () () False"),
        (["--evidence", "a"], "None ('a',) () False"),
        (["--evidence", "a", "b", "-"], "None ('a', 'b', '-') () False"),
        (["--evidence", "a", "b", "--json"], "None ('a', 'b') () True"),
        (
            ["--evidence", "a", "--key", "k", "l", "--evidence", "b"],
            "None ('a', 'b') ('k', 'l') False",
        ),
        (["--evidence=a", "b"], "None ('a', 'b') () False"),
        (["-k", "k", "l"], "None () ('k', 'l') False"),
        (["p", "--evidence", "a", "b"], "p ('a', 'b') () False"),
        (["--evidence", "a", "--", "p"], "p ('a',) () False"),
        (["--evidence", "--json", "--json"], "None ('--json',) () True"),
    ],
)
def test_values_run_up_to_the_next_option(args: list[str], printed: str) -> None:
    """Values of one option stand together or apart; arguments come before them, or after --."""
    result = CliRunner().invoke(example, args)

    assert result.output == f"{printed}\n"


def test_an_option_without_a_value_is_misuse() -> None:
    """At least one value follows the name."""
    result = CliRunner().invoke(example, ["--evidence"])

    assert result.exit_code == 2
    assert "requires an argument" in result.output


def test_an_argument_is_not_taken_from_among_values() -> None:
    """What follows the values of an option belongs to it."""
    result = CliRunner().invoke(example, ["--evidence", "a", "p"])

    assert result.output == "None ('a', 'p') () False\n"


def test_other_options_are_left_as_they_are() -> None:
    """Only the values of the named option get the name again."""
    repeated = list(repeat_name(["-x", "1", "2", "-k", "a", "b", "-", "-y"], ["-k"]))

    assert repeated == ["-x", "1", "2", "-k", "a", "-k", "b", "-k", "-", "-y"]
