"""``tallystick hook``: what runs on nodes, and putting it there."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tallystick.app.files import write_file
from tallystick.app.node_files import (
    Installed,
    default_python,
    install_node,
    node_file,
    uninstall_node,
)
from tallystick.cli.options import json_option
from tallystick.core.canonical import canonical_bytes, sha256_digest
from tallystick.emit.hook import HOOKS, run_hook

_PLACE = Path("/etc/tallystick")
_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.group("hook")
def hook() -> None:
    """Hooks of the scheduler: they write down what they see, and never fail a job.

    \b
    Examples:
      tallystick hook install --to https://receipts.example:8480
      tallystick hook file -o tallystick-node.pyz
    """


def _folder_option(verb: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--folder",
        default=_PLACE,
        show_default=True,
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False),
        help=f"Where hooks and settings {verb}.",
    )


def _hook_command(name: str) -> click.Command:
    @click.command(
        name,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        help=f"""Run the {name} hook; Slurm's variables are its input, and it ends with 0.

        \b
        Example:
          SLURM_JOB_ID=7 SLURM_CLUSTER_NAME=c1 tallystick hook {name}
        """,
    )
    @click.argument("rest", nargs=-1, type=click.UNPROCESSED)
    def command(rest: tuple[str, ...]) -> None:
        sys.exit(run_hook([name, *rest]))

    return command


for _name in HOOKS:
    hook.add_command(_hook_command(_name))


@hook.command("file")
@click.option(
    "-o",
    "output",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write it.",
)
@json_option()
def file_command(output: Path, *, as_json: bool) -> None:
    """Write the one file that a node needs: hooks and shipper, for Python 3.9 and later.

    \b
    Example:
      tallystick hook file -o tallystick-node.pyz
    """
    data = node_file()
    write_file(output, data, mode=0o755)
    if as_json:
        said = {"file": str(output), "bytes": len(data), "digest": sha256_digest(data)}
        click.echo(canonical_bytes(said))
        return
    click.echo(f"{output}  {len(data)} bytes  {sha256_digest(data)}")


@hook.command("install")
@_folder_option("go")
@click.option(
    "--spool",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where records wait; else what the settings say.",
)
@click.option("--to", "url", metavar="URL", help="Server that the shipper's unit sends to.")
@click.option(
    "--python",
    default=default_python,
    metavar="FILE",
    help="The nodes' interpreter, 3.9 or later; /usr/bin/python3 where it exists.",
)
@json_option()
def install_command(
    *, folder: Path, spool: Path | None, url: str | None, python: str, as_json: bool
) -> None:
    """Put hooks, settings, spool and the shipper's unit on this node; then say what to do.

    \b
    Example:
      tallystick hook install --to https://receipts.example:8480
    """
    installed = install_node(folder, spool=spool, url=url, python=python)
    if as_json:
        said = {
            "files": [str(path) for path in installed.files],
            "slurm_conf": list(installed.slurm_conf),
            "spool": str(installed.spool),
        }
        click.echo(canonical_bytes(said))
        return
    _print_installed(installed, folder, click.echo, with_unit=url is not None)


@hook.command("uninstall")
@_folder_option("are")
@json_option()
def uninstall_command(*, folder: Path, as_json: bool) -> None:
    """Remove hooks and unit from this node; settings and what waits in the spool stay.

    Take the lines out of slurm.conf and run `scontrol reconfigure` first.

    \b
    Example:
      tallystick hook uninstall
    """
    gone = uninstall_node(folder)
    if as_json:
        click.echo(canonical_bytes({"removed": [str(path) for path in gone]}))
        return
    for path in gone:
        click.echo(f"removed {path}")
    click.echo("Settings and spool are left; `tallystick ship` sends what still waits.")


def _print_installed(
    installed: Installed, folder: Path, echo: Callable[[str], None], *, with_unit: bool
) -> None:
    for path in installed.files:
        echo(f"wrote {path}")
    echo(f"spool {installed.spool}")
    echo("")
    echo("Add to slurm.conf, then run `scontrol reconfigure`:")
    for line in installed.slurm_conf:
        echo(f"  {line}")
    echo("")
    if with_unit:
        echo(f"Put the node's token into {folder}/token (mode 0600), then:")
        echo(f"  systemctl link {folder}/tallystick-ship.service")
        echo("  systemctl enable --now tallystick-ship")
    else:
        echo("Send what waits: tallystick ship --spool DIR --store STORE, or --to URL.")
    echo("Check it: tallystick doctor --node")
