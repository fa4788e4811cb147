"""``tallystick serve``: take evidence over HTTP, and say who may send it."""

from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from tallystick.app.admit import clock_us
from tallystick.app.ingest import Limits
from tallystick.app.store import find_store
from tallystick.app.tokens import Token, list_tokens, new_token, revoke_token
from tallystick.cli.collect_options import read_instant
from tallystick.cli.options import json_option, say, store_option
from tallystick.core.canonical import canonical_bytes

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_LIMITS = tuple(each.name for each in fields(Limits))


def _read_limit(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if name not in _LIMITS or not number.isascii() or not number.isdigit() or len(number) > 12:
        message = f"expected NAME=NUMBER with a name of {', '.join(_LIMITS)}, got {text!r}"
        raise click.BadParameter(message)
    if int(number) == 0:
        raise click.BadParameter(f"expected {name} above 0")
    return name, int(number)


@click.group(invoke_without_command=True)
@store_option(required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8480,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option("--tls-cert", type=_FILE, metavar="FILE", help="Certificate chain, PEM.")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="Its private key, PEM.")
@click.option(
    "--limit",
    "limits",
    type=_read_limit,
    multiple=True,
    metavar="NAME=N",
    help=f"Another limit than usual: {', '.join(_LIMITS)}.",
)
@click.pass_context
def serve(
    ctx: click.Context,
    *,
    store: Path | None,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    limits: tuple[tuple[str, int], ...],
) -> None:
    """Take evidence over HTTP into a store, and answer every record.

    Records are posted to /v1/records as JSON lines; /healthz and /metrics say how it
    goes. SIGTERM ends it, after what was begun is answered.

    \b
    Example:
      tallystick serve token new --store DIR --name n1 --producer slurm-hook/n1
      tallystick serve --store DIR --host 0.0.0.0 --tls-cert n.pem --tls-key n.key
    """
    if ctx.invoked_subcommand is not None:
        if ctx.get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError("expected --store after the subcommand")
        return
    if store is None:
        raise click.UsageError("expected --store DIR")
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key come together")
    # By name, as all commands are loaded: the server stands beside the command line.
    options = import_module("tallystick.server.options").ServeOptions(
        store, host, port, tls_cert, tls_key, replace(Limits(), **dict(limits)), say
    )
    import_module("tallystick.server.start").serve(options)


@serve.group()
def token() -> None:
    """Say who may send evidence, and of which producers."""


@token.command("new")
@click.option("--name", required=True, metavar="NAME", help="Who gets it, a node for example.")
@click.option(
    "--producer",
    "producers",
    multiple=True,
    metavar="NAME",
    help="What it may send: this producer and those below it; * is any part.",
)
@click.option("--all-producers", is_flag=True, help="It may send everything.")
@click.option(
    "--expires", "expires_us", type=read_instant, metavar="TIME", help="When it ends [never]."
)
@store_option()
@json_option()
def new_command(
    *,
    name: str,
    producers: tuple[str, ...],
    all_producers: bool,
    expires_us: int | None,
    store: Path,
    as_json: bool,
) -> None:
    """Make a token and print it, once: only a keyed hash of it is kept.

    \b
    Example:
      tallystick serve token new --store DIR --name n1 --producer slurm-hook/n1 \\
        --producer spool/n1 --producer 'slurm-task/*@n1' > n1.token
    """
    if all_producers == bool(producers):
        raise click.UsageError("expected --producer NAME or --all-producers")
    keys = find_store(store).keys
    scope = None if all_producers else producers
    made, text = new_token(keys, name, scope, clock_us(), expires_us)
    if as_json:
        click.echo(canonical_bytes({"token": text, **_token_json(made, clock_us())}))
        return
    click.echo(text)
    click.echo(f"token {made.id}, shown this once: keep it in a file of mode 0600", err=True)


@token.command("list")
@store_option()
@json_option()
def list_command(*, store: Path, as_json: bool) -> None:
    """List the tokens that were made, also those that are over.

    \b
    Example:
      tallystick serve token list --store DIR
    """
    tokens = list_tokens(find_store(store).keys)
    now_us = clock_us()
    if as_json:
        click.echo(canonical_bytes({"tokens": [_token_json(each, now_us) for each in tokens]}))
        return
    click.echo(f"{'id':<13}{'name':<24.24}{'state':<9}{'made':<17}expires")
    for each in tokens:
        shown = each.name if len(each.name) <= 23 else each.name[:20] + "..."
        click.echo(
            f"{each.id:<13}{shown:<24}{each.state(now_us):<9}"
            f"{_minute(each.made):<17}{_minute(each.expires)}"
        )
        for producer in each.producers or ("all producers",):
            click.echo(f"             {producer}")


@token.command("revoke")
@click.argument("token_id", metavar="ID")
@store_option()
@json_option()
def revoke_command(*, token_id: str, store: Path, as_json: bool) -> None:
    """End a token; a server that runs refuses it from its next request on.

    \b
    Example:
      tallystick serve token revoke 1f2e3d4c5b6a --store DIR
    """
    revoked = revoke_token(find_store(store).keys, token_id, clock_us())
    if as_json:
        click.echo(canonical_bytes(_token_json(revoked, clock_us())))
        return
    click.echo(f"token {revoked.id} of {revoked.name}: revoked {revoked.revoked}")


def _token_json(token: Token, now_us: int) -> dict[str, Any]:
    producers = None if token.producers is None else list(token.producers)
    return {
        "id": token.id,
        "name": token.name,
        "producers": producers,
        "made": token.made,
        "expires": token.expires,
        "revoked": token.revoked,
        "state": token.state(now_us),
    }


def _minute(text: str | None) -> str:
    return "never" if text is None else f"{text[:10]} {text[11:16]}"
