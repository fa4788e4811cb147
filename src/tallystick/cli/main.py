"""The ``tallystick`` command: each subcommand is loaded only when it is called."""

import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from tallystick import __version__
from tallystick.app.errors import UnwritableFileError
from tallystick.core.errors import TallystickError

_COMMANDS = {
    "checkpoint": ("tallystick.cli.checkpoint", "checkpoint"),
    "collect": ("tallystick.cli.collect", "collect"),
    "contract": ("tallystick.cli.contract", "contract"),
    "demo": ("tallystick.cli.demo", "demo_command"),
    "doctor": ("tallystick.cli.doctor", "doctor_command"),
    "hook": ("tallystick.cli.hook", "hook"),
    "init": ("tallystick.cli.init", "init_command"),
    "keys": ("tallystick.cli.keys", "keys"),
    "ledger": ("tallystick.cli.ledger", "ledger"),
    "log": ("tallystick.cli.log", "log"),
    "packet": ("tallystick.cli.packet", "packet"),
    "rate": ("tallystick.cli.rate", "rate_command"),
    "receipt": ("tallystick.cli.receipt", "receipt"),
    "rehearse": ("tallystick.cli.rehearse", "rehearse_command"),
    "run": ("tallystick.cli.run", "run"),
    "segment": ("tallystick.cli.segment", "segment"),
    "serve": ("tallystick.cli.serve", "serve"),
    "ship": ("tallystick.cli.ship", "ship_command"),
    "witness": ("tallystick.cli.witness", "witness"),
}


class _LazyGroup(click.Group):
    """A group that imports a subcommand when it is asked for, so that the rest costs nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the subcommands."""
        del ctx
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one subcommand."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tallystick")
def cli() -> None:
    """Receipts for GPU runs: durable, replayable, verifiable by anyone.

    \b
    Example:
      tallystick collect slurm sacct.psv --cluster c1 --timezone UTC \\
        --dry-run --json > evidence.jsonl
      tallystick rate --evidence evidence.jsonl --contract contract.toml
    """


def main() -> None:
    """Run the command line; an error of ours is one line with a stable code."""
    try:
        cli(prog_name="tallystick")
    except TallystickError as error:
        _fail(error)
    except OSError as error:  # What reads and writes files has errors of its own.
        place = str(error.filename or "standard output")
        _fail(UnwritableFileError(place, (error.strerror or str(error)).lower()))


def _fail(error: TallystickError) -> NoReturn:
    with suppress(OSError):  # Perhaps nothing can be said; the exit status can.
        click.echo(f"tallystick: {error.code}: {error}", err=True)
    sys.exit(error.exit_status)
