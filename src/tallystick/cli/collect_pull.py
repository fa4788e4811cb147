"""``tallystick collect pull``: raw samples of a live Prometheus or VictoriaMetrics."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.collect_options import read_instant, read_key, read_seconds
from tallystick.cli.findings import finding_sentence
from tallystick.cli.options import SeveralValues, json_option, say, store_option
from tallystick.cli.status_line import StatusLine
from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import format_instant

if TYPE_CHECKING:
    from tallystick.app.pull import Progress, Pulled, PullRequest
    from tallystick.collectors.pull import Query, Server

_KINDS = ("prometheus", "victoriametrics")
_TOKEN_BYTES_MAX = 1 << 16
_QUERIES_BYTES_MAX = 1 << 20
_SHOWN_MAX = 20


@click.command("pull")
@click.option("--url", metavar="URL", required=True, help="The server, up to before /api/v1.")
@click.option(
    "--match",
    "matches",
    cls=SeveralValues,
    metavar="SELECTOR...",
    help="Which series: a metric name, or one with labels in braces.",
)
@click.option(
    "--queries",
    "queries_file",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE.toml",
    help="Selectors as [[query]] with match and perhaps metric and cadence.",
)
@click.option(
    "--cadence",
    "cadence_us",
    type=read_seconds,
    metavar="SECONDS",
    help="How often targets are scraped; never guessed.",
)
@click.option("--from", "from_us", type=read_instant, metavar="TIME", required=True)
@click.option(
    "--to", "to_us", type=read_instant, metavar="TIME", required=True, help="Not included."
)
@click.option("--node-label", metavar="LABEL", help="Label that names the node of a target.")
@click.option(
    "--node", type=read_key, metavar="NAME", help="Node of targets that have no such label."
)
@click.option("--kind", type=click.Choice(_KINDS), help="What the server is; found out without.")
@click.option("--bearer-token-file", "token_file", type=click.Path(dir_okay=False), metavar="FILE")
@click.option(
    "--basic-auth-file",
    "user_file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="A line NAME:PASSWORD; neither ever stands on the command line.",
)
@click.option(
    "--ca-file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Certificates to trust, as PEM.",
)
@click.option(
    "--span",
    "span_us",
    type=read_seconds,
    metavar="SECONDS",
    default="3600",
    show_default=True,
    help="How much time a segment holds at most.",
)
@store_option()
@json_option()
def pull_command(
    *,
    url: str,
    token_file: str | None,
    user_file: str | None,
    ca_file: str | None,
    store: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Pull raw samples from a live server and seal them into segments of a store.

    Call it again after it was cut short, and it goes on where it was.

    \b
    Example:
      tallystick collect pull --url http://prometheus:9090 \\
        --match DCGM_FI_DEV_GPU_UTIL --cadence 15 --node-label Hostname \\
        --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --store DIR
    """
    # Arrow and SQLite are loaded for a pull only.
    from tallystick.app.pull import pull  # noqa: PLC0415
    from tallystick.app.store import open_store  # noqa: PLC0415

    request = _request(**options)
    server = _server(url, token_file, user_file, ca_file)
    with open_store(store, notice=say) as opened, Meter() as meter:
        pulled = pull(opened, server, request, meter.show_progress)
    if as_json:
        click.echo(canonical_bytes(_to_json(pulled)))
    else:
        _print(pulled)
    if not (pulled.segments or pulled.outages or pulled.resumed):
        click.get_current_context().exit(1)


def _request(
    *,
    matches: tuple[str, ...],
    queries_file: str | None,
    cadence_us: int | None,
    kind: str | None,
    **rest: Any,
) -> "PullRequest":
    from tallystick.app.pull import PullRequest  # noqa: PLC0415
    from tallystick.collectors.pull import Kind, Query  # noqa: PLC0415

    if bool(matches) == (queries_file is not None):
        raise click.UsageError("expected one of --match SELECTOR... and --queries FILE.toml")
    if matches and cadence_us is None:
        raise click.UsageError("expected --cadence SECONDS with --match")
    if rest["from_us"] >= rest["to_us"]:
        raise click.UsageError("expected --from before --to")
    queries = (
        tuple(Query(match, None, cadence_us) for match in matches if cadence_us)
        if queries_file is None
        else _read_queries(queries_file, cadence_us)
    )
    return PullRequest(
        queries=queries,
        cadence_us=cadence_us or max(query.cadence_us for query in queries),
        kind=None if kind is None else Kind(kind),
        **rest,
    )


def _read_queries(path: str, cadence_us: int | None) -> "tuple[Query, ...]":
    from tallystick.app.files import read_file  # noqa: PLC0415
    from tallystick.collectors.pull import read_queries  # noqa: PLC0415

    return read_queries(path, read_file(path, bytes_max=_QUERIES_BYTES_MAX), cadence_us)


def _server(
    url: str, token_file: str | None, user_file: str | None, ca_file: str | None
) -> "Server":
    from tallystick.collectors.pull import Server  # noqa: PLC0415

    if token_file is not None and user_file is not None:
        raise click.UsageError("expected one of --bearer-token-file and --basic-auth-file")
    token = user = None
    if token_file is not None:
        token = _secret(token_file)
        if not token or not token.isascii() or not token.isprintable():
            raise click.UsageError("expected a token of one line in --bearer-token-file")
    if user_file is not None:
        user = _secret(user_file)
        if ":" not in user or not user.isprintable():
            raise click.UsageError("expected one line NAME:PASSWORD in --basic-auth-file")
    return Server(url, token=token, user=user, ca_file=ca_file)


def _secret(path: str) -> str:
    from tallystick.app.files import read_file  # noqa: PLC0415

    data = read_file(path, bytes_max=_TOKEN_BYTES_MAX)
    return data.decode("utf-8", errors="replace").strip()


class Meter(StatusLine):
    """Shows on a terminal how far a pull is."""

    def show_progress(self, progress: "Progress") -> None:
        """Say how far it is."""
        percent = progress.done_ms * 100 // progress.of_ms
        self.show(f"{percent}%  {progress.rows} samples")


def _to_json(pulled: "Pulled") -> dict[str, Any]:
    return {
        "kind": str(pulled.kind),
        "resumed": pulled.resumed,
        "segments": [
            {
                "segment": each.digest,
                "metric": each.metric,
                "rows": each.rows,
                "from": format_instant(each.from_us),
                "to": format_instant(each.to_us),
                "gpus": each.gpus,
                "new": each.is_new,
            }
            for each in pulled.segments
        ],
        "rows": pulled.rows,
        "outages": pulled.outages,
        "findings": [finding.to_json() for finding in pulled.findings],
        "size": pulled.size,
    }


def _print(pulled: "Pulled") -> None:
    for each in pulled.segments[:_SHOWN_MAX]:
        span = f"{format_instant(each.from_us)[:19]}Z {each.rows:>9} rows {each.gpus:>5} GPUs"
        click.echo(f"{span}  {each.metric[:26]}")
    if len(pulled.segments) > _SHOWN_MAX:
        click.echo(f"and {len(pulled.segments) - _SHOWN_MAX} more")
    new = sum(each.is_new for each in pulled.segments)
    counts = f"segments {len(pulled.segments)}, of them new {new}  rows {pulled.rows}"
    click.echo(f"{counts}  outages {pulled.outages}  findings {len(pulled.findings)}")
    click.echo(f"the log has {pulled.size} records")
    for finding in pulled.findings:
        click.echo(finding_sentence(finding), err=True)
