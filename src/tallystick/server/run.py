"""Running the server: the socket, the signals that end it, and the library's settings.

Requests that are being answered when a signal comes are answered; then the store is let go.
"""

import ipaddress
import signal
import socket
import ssl

import uvicorn

from tallystick.app.ingest import Ingest
from tallystick.app.store import find_store, open_store
from tallystick.app.tokens import TokenBook, list_tokens
from tallystick.server.connection import connection_class
from tallystick.server.counts import Counts
from tallystick.server.errors import CannotListenError, TlsUnusableError
from tallystick.server.options import ServeOptions
from tallystick.server.web import make_app

_IDLE_S = 10
_HEADER_BYTES_MAX = 16 * 1024
_BACKLOG = 256


def run(options: ServeOptions) -> None:
    """Serve a store until SIGTERM or SIGINT.

    Raises:
        TallystickError: the store, the address or the certificate cannot be used.
    """
    folder = find_store(options.store)
    if not list_tokens(folder.keys):
        options.notice("no token was made yet: see `tallystick serve token new`")
    with open_store(options.store, notice=options.notice):
        pass  # Better no server than one without a store.
    ingest = Ingest(options.store, options.limits, options.notice)
    try:
        config = _config(options, ingest, TokenBook(folder.keys))
        with _listen(options.host, options.port) as listening:
            server = uvicorn.Server(config)
            _stop_at_signals(server)
            _say_where(options, listening)
            server.run(sockets=[listening])
    finally:
        ingest.close()


def _config(options: ServeOptions, ingest: Ingest, book: TokenBook) -> uvicorn.Config:
    limits, counts = options.limits, Counts()
    config = uvicorn.Config(
        make_app(ingest, book, limits, counts),
        http=connection_class(counts, slow_s=limits.slow_s, connections_max=limits.connections),
        loop="asyncio",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        workers=1,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=limits.slow_s,
        h11_max_incomplete_event_size=_HEADER_BYTES_MAX,
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
    )
    try:
        config.load()
    except (ssl.SSLError, OSError) as error:
        raise TlsUnusableError(str(options.tls_cert), str(error).lower()) from error
    return config


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotListenError(host, port, reason.lower()) from error


def _stop_at_signals(server: uvicorn.Server) -> None:
    """Have signals end the server; the library gives them back to us when it has ended."""

    def stop(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _say_where(options: ServeOptions, listening: socket.socket) -> None:
    host, port = listening.getsockname()[:2]
    scheme = "http" if options.tls_cert is None else "https"
    shown = f"[{host}]" if ":" in host else host
    if options.tls_cert is None and not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
        options.notice(
            "warning: other machines can connect, and tokens and records go in plain text:"
            " give --tls-cert and --tls-key"
        )
    options.notice(f"listening on {scheme}://{shown}:{port}")
