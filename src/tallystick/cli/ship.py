"""``tallystick ship``: bring what waits in a spool to a store or a server."""

import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from tallystick.app.errors import NotShippedError
from tallystick.app.files import read_file
from tallystick.cli.options import json_option, node_settings_option, say, store_option
from tallystick.cli.status_line import StatusLine
from tallystick.cli.stopping import stops_on_signals
from tallystick.core.canonical import canonical_bytes
from tallystick.emit.follow import ship_on, ship_once
from tallystick.emit.post import Answer, NotSentError, Poster
from tallystick.emit.settings import read_settings
from tallystick.emit.ship import Shipped, Shipper

_WORDS = ("accepted", "exists", "conflict", "refused")
_TOKEN_BYTES_MAX = 4096
_Send = Callable[[Sequence[bytes]], Sequence[Answer]]


@click.command("ship")
@click.option(
    "--spool",
    envvar="TALLYSTICK_SPOOL",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="The spool; TALLYSTICK_SPOOL or the node's settings name it too.",
)
@store_option(required=False)
@click.option("--to", "url", metavar="URL", help="A server started by `tallystick serve`.")
@click.option("--token-file", metavar="FILE", help="Holds the token for the server.")
@click.option("--ca-file", metavar="FILE", help="Certificates to trust instead of the system's.")
@node_settings_option()
@click.option("--follow", is_flag=True, help="Go on until stopped.")
@click.option(
    "--every",
    "every_s",
    default=10.0,
    type=click.FloatRange(0.1, 3600),
    metavar="SECONDS",
    help="How long to wait when nothing is left.  [default: 10]",
)
@json_option()
def ship_command(
    *,
    spool: Path | None,
    store: Path | None,
    url: str | None,
    token_file: str | None,
    ca_file: str | None,
    config: Path,
    follow: bool,
    every_s: float,
    as_json: bool,
) -> None:
    """Send the records that wait in a spool; a file goes once the log has answered for it.

    Records that exist already are no problem, and what the log will not take is set aside in
    the spool. With --follow, failures are tried again, ever more slowly.

    \b
    Examples:
      tallystick ship --spool /var/spool/tallystick --store DIR
      tallystick ship --to https://receipts.example:8480 --token-file token --follow
    """
    if (store is None) == (url is None):
        raise click.UsageError("expected either --store DIR or --to URL")
    if url is not None and token_file is None:
        raise click.UsageError("expected --token-file with --to")
    settings = read_settings(config, os.environ)
    place = spool or settings.spool
    shipper = Shipper(place, socket.gethostname(), settings.trusted_uids())
    try:
        with _sender(store, url, token_file, ca_file) as send:
            if follow:
                _follow(shipper, send, place, every_s)
                return
            with StatusLine() as line:
                shipped = ship_once(shipper, send, lambda now: line.show(f"{now.total} records"))
    except NotSentError as error:
        raise NotShippedError(str(error)) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotShippedError(f"{error.filename or place}: {reason}") from error
    _print(shipped, as_json=as_json)
    sys.exit(1 if shipped.problems else 0)


@contextmanager
def _sender(
    store: Path | None, url: str | None, token_file: str | None, ca_file: str | None
) -> Iterator[_Send]:
    if store is not None:
        from tallystick.app.ship import store_sender  # noqa: PLC0415 (needs SQLite)
        from tallystick.app.store import open_store  # noqa: PLC0415 (needs SQLite)

        with open_store(store, notice=say) as opened:
            yield store_sender(opened.log)
        return
    assert url is not None, "one of the two is given"
    assert token_file is not None, "checked before"
    token = read_file(token_file, bytes_max=_TOKEN_BYTES_MAX).decode(errors="replace").strip()
    poster = Poster(url, token, ca_file=ca_file)
    try:
        yield poster.post
    finally:
        poster.close()


def _follow(shipper: Shipper, send: _Send, spool: Path, every_s: float) -> None:
    with stops_on_signals() as stopped:
        ship_on(shipper, send, spool, every_s=every_s, wait=stopped.wait, say=say)


def _print(shipped: Shipped, *, as_json: bool) -> None:
    counts = {word: shipped.counts.get(word, 0) for word in _WORDS}
    if as_json:
        click.echo(canonical_bytes({**counts, "problems": shipped.problems}))
        return
    click.echo("  ".join(f"{word} {count}" for word, count in counts.items()))
    for problem in shipped.problems:
        say(problem)
