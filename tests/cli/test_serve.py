"""``tallystick serve token``: what is printed, and when; the server has tests of its own."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tallystick.app.store import init_store
from tallystick.app.token_errors import BadTokenError, TokenNotFoundError
from tallystick.app.tokens import TokenBook
from tallystick.cli.main import cli
from tests.app.stores import ORIGIN

NOW_US = 1_767_225_600_000_000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a store."""
    monkeypatch.delenv("TALLYSTICK_STORE", raising=False)
    return init_store(tmp_path / "store", ORIGIN).path


def run(store: Path | None, *args: str) -> Result:
    """Call the command."""
    named = [] if store is None else ["--store", str(store)]
    return CliRunner().invoke(cli, ["serve", *args, *named])


def test_a_new_token_is_all_that_is_printed(store: Path) -> None:
    """So that it can go into a file; what to do with it is told beside it."""
    result = run(store, "token", "new", "--name", "n1", "--producer", "slurm-hook/n1")

    token = TokenBook(store / "keys").check(result.stdout.strip(), NOW_US)
    assert (token.name, token.producers) == ("n1", ("slurm-hook/n1",))
    assert result.stderr == f"token {token.id}, shown this once: keep it in a file of mode 0600\n"


def test_as_json_a_new_token_comes_with_what_it_is_for(store: Path) -> None:
    """The object has the text too, this once."""
    result = run(store, "token", "new", "--name", "n1", "--all-producers", "--json")

    fields = json.loads(result.stdout)
    assert TokenBook(store / "keys").check(fields["token"], NOW_US).id == fields["id"]
    assert (fields["producers"], fields["expires"], fields["state"]) == (None, None, "valid")


def test_a_token_may_end(store: Path) -> None:
    """The time has a zone."""
    args = ("token", "new", "--name", "n1", "--all-producers", "--json", "--expires")

    result = run(store, *args, "2126-01-01T00:00:00+01:00")

    assert json.loads(result.stdout)["expires"] == "2125-12-31T23:00:00.000000Z"


def test_a_token_that_is_over_is_an_error(store: Path) -> None:
    """Nothing is printed."""
    args = ("token", "new", "--name", "n1", "--all-producers", "--expires")

    result = run(store, *args, "2020-01-01T00:00:00Z")

    assert isinstance(result.exception, BadTokenError)
    assert result.stdout == ""


@pytest.mark.parametrize("scope", [[], ["--producer", "p", "--all-producers"]])
def test_a_scope_is_said_one_way(store: Path, scope: list[str]) -> None:
    """A token for everything is never made by forgetting something."""
    assert run(store, "token", "new", "--name", "n1", *scope).exit_code == 2


def test_tokens_are_listed_without_their_secrets(store: Path) -> None:
    """Name, state and scope, in lines that fit a terminal."""
    name = "a-very-long-name-of-a-node-that-goes-on"
    made = run(store, "token", "new", "--name", name, "--producer", "p/1", "--producer", "p/2")
    run(store, "token", "new", "--name", "n2", "--all-producers")
    text = made.stdout.strip()

    lines = run(store, "token", "list").stdout.splitlines()

    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith(f"{text.split('_')[1]} a-very-long-name-of-... valid")
    assert lines[1].endswith(" never")
    assert [line.strip() for line in lines[2:4] + lines[5:]] == ["p/1", "p/2", "all producers"]
    assert text.split("_")[2] not in "".join(lines)


def test_as_json_the_list_is_one_object(store: Path) -> None:
    """Neither secret nor hash is in it."""
    run(store, "token", "new", "--name", "n1", "--producer", "p")

    (token,) = json.loads(run(store, "token", "list", "--json").stdout)["tokens"]

    assert set(token) == {"id", "name", "producers", "made", "expires", "revoked", "state"}


def test_a_token_is_revoked_by_its_id(store: Path) -> None:
    """The list says so from then on."""
    run(store, "token", "new", "--name", "n1", "--producer", "p")
    (token,) = json.loads(run(store, "token", "list", "--json").stdout)["tokens"]

    result = run(store, "token", "revoke", token["id"])
    again = run(store, "token", "revoke", token["id"], "--json")

    revoked = json.loads(again.stdout)
    assert result.stdout == f"token {token['id']} of n1: revoked {revoked['revoked']}\n"
    assert revoked["state"] == "revoked"
    assert f"{token['id']} n1" + " " * 22 + "revoked" in run(store, "token", "list").stdout


def test_an_unknown_id_is_an_error(store: Path) -> None:
    """Exit 2, as for any name that is not there."""
    result = run(store, "token", "revoke", "000000000000")

    assert isinstance(result.exception, TokenNotFoundError)
    assert "see `tallystick serve token list`" in str(result.exception)


@pytest.mark.parametrize(
    "args",
    [
        ["--limit", "rate"],
        ["--limit", "rate=0"],
        ["--limit", "rate=-1"],
        ["--limit", "other=1"],
        ["--port", "65536"],
        ["--tls-cert", "nothing"],
        ["token", "new"],
        ["token", "revoke"],
    ],
)
def test_misuse_is_exit_2(store: Path, args: list[str]) -> None:
    """It is told before anything is opened."""
    assert run(store, *args).exit_code == 2


def test_a_store_is_needed() -> None:
    """Without one there is nothing to serve."""
    assert "expected --store DIR" in run(None).stderr


def test_the_store_of_a_subcommand_stands_after_it(store: Path) -> None:
    """Named before, it would be taken for that of the server, and ignored."""
    result = CliRunner().invoke(cli, ["serve", "--store", str(store), "token", "list"])

    assert result.exit_code == 2
    assert "after the subcommand" in result.stderr


@pytest.mark.parametrize(
    "command", [[], ["token", "new"], ["token", "list"], ["token", "revoke"]], ids=" ".join
)
def test_help_has_an_example(command: list[str]) -> None:
    """Every command says how it is used, in lines that fit a terminal."""
    result = run(None, *command, "--help")

    assert "Example" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
