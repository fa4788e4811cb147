"""``tallystick keys new``: what it prints and writes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tallystick.app.errors import UnwritableFileError
from tallystick.cli.main import cli


def run(*args: str) -> Result:
    """Call the command."""
    return CliRunner().invoke(cli, ["keys", "new", *args])


def test_the_public_key_is_printed(tmp_path: Path) -> None:
    """Standard output is the line to hand over; where the files lie is told beside it."""
    path = tmp_path / "acme.key"

    result = run("-o", str(path), "--name", "acme.example")

    assert result.exit_code == 0
    assert result.stdout == Path(f"{path}.vkey").read_text(encoding="utf-8")
    assert result.stdout.startswith("acme.example+")
    assert result.stderr == f"private key: {path}, public key: {path}.vkey\n"


def test_as_json_the_secret_is_named_and_not_shown(tmp_path: Path) -> None:
    """The object has the public key and both paths."""
    path = tmp_path / "acme.key"

    result = run("-o", str(path), "--json")

    fields = json.loads(result.stdout)
    assert fields == {
        "name": "acme",
        "keyid": "+".join(fields["vkey"].split("+", 2)[:2]),
        "vkey": Path(f"{path}.vkey").read_text(encoding="utf-8").strip(),
        "private_key": str(path),
        "public_key": f"{path}.vkey",
    }


def test_a_second_key_does_not_replace_the_first(tmp_path: Path) -> None:
    """Keys are not overwritten."""
    run("-o", str(tmp_path / "acme.key"))

    result = run("-o", str(tmp_path / "acme.key"))

    assert isinstance(result.exception, UnwritableFileError)


@pytest.mark.parametrize("args", [[], ["-o"], ["extra", "-o", "x"]])
def test_misuse_is_exit_2(args: list[str]) -> None:
    """Without a file there is nowhere to write to."""
    assert run(*args).exit_code == 2


def test_help_has_an_example() -> None:
    """The example names a key in the form that the network of logs uses."""
    assert "tallystick keys new -o provider.key" in run("--help").stdout
