"""The one file that nodes get: hooks, and the shipper over HTTP.

Hooks come first and load nothing that they do not need; what is wrong with their call is no
error of theirs.
"""

from __future__ import annotations

import sys

USAGE = """\
usage: tallystick-node HOOK [--config FILE]
       tallystick-node ship --to URL --token-file FILE [--spool DIR] [--follow] [--every SECONDS]

Hooks: slurm-prolog slurm-epilog slurm-prologctld slurm-epilogctld task-prolog.
They end with 0 whatever happens. `ship` sends what waits in the spool and removes what the
log has; with --follow it goes on until it is stopped.

Example:
  tallystick-node ship --to https://receipts.example:8480 --token-file /etc/tallystick/token
"""


def main(argv: list[str] | None = None) -> int:
    """Run a hook or the shipper."""
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] == "ship":
        from tallystick.emit.ship_command import ship_command  # noqa: PLC0415 (start-up)

        return ship_command(words[1:])
    if words and words[0] not in {"-h", "--help"}:
        from tallystick.emit.hook import run_hook  # noqa: PLC0415 (start-up)

        return run_hook(words)
    sys.stdout.write(USAGE)
    return 0 if words else 2
