"""``tallystick-node ship``: the shipper where only the standard library is."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from tallystick.emit.follow import ship_on, ship_once
from tallystick.emit.post import NotSentError, Poster
from tallystick.emit.settings import FILE, read_settings
from tallystick.emit.ship import Shipper

_TOKEN_BYTES_MAX = 4096


def ship_command(argv: list[str]) -> int:
    """Ship to a server; 0 if everything that waited was answered, 1 if not, 2 for misuse."""
    options = _parse(argv)
    settings = read_settings(options.config, os.environ)
    spool = options.spool or settings.spool
    shipper = Shipper(spool, socket.gethostname(), settings.trusted_uids())
    try:
        with options.token_file.open(encoding="ascii") as file:
            token = file.read(_TOKEN_BYTES_MAX).strip()
        poster = Poster(options.to, token, ca_file=options.ca_file)
        if not options.follow:
            return _ship_once(shipper, poster)
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        every_s = options.every
        ship_on(shipper, poster.post, spool, every_s=every_s, wait=stopped.wait, say=_say)
    except (OSError, ValueError, NotSentError) as error:
        _say(f"not_sent: {error}")
        return 1
    return 0


def _ship_once(shipper: Shipper, poster: Poster) -> int:
    shipped = ship_once(shipper, poster.post, lambda _: None)
    counts = "  ".join(f"{word} {count}" for word, count in sorted(shipped.counts.items()))
    sys.stdout.write(f"{counts or 'nothing waited'}\n")
    for problem in shipped.problems:
        _say(problem)
    return 1 if shipped.problems else 0


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tallystick-node ship")
    parser.add_argument("--to", required=True, metavar="URL", help="address of the server")
    parser.add_argument("--token-file", type=Path, required=True, metavar="FILE")
    parser.add_argument("--ca-file", metavar="FILE", help="certificates to trust")
    parser.add_argument("--spool", type=Path, metavar="DIR", help="instead of the settings'")
    parser.add_argument("--config", type=Path, default=FILE, metavar="FILE")
    parser.add_argument("--follow", action="store_true", help="go on until stopped")
    parser.add_argument("--every", type=float, default=10.0, metavar="SECONDS")
    return parser.parse_args(argv)


def _say(text: str) -> None:
    sys.stderr.write(f"tallystick-node: {text}\n")
    sys.stderr.flush()
