"""What cannot be brought about from outside: a failure of the server's own."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tallystick.app.ingest import Ingest, Limits
from tallystick.app.tokens import TokenBook
from tallystick.server.counts import Counts
from tallystick.server.web import make_app
from tests.server.servers import stored, token_of


def test_a_failure_of_the_server_tells_nothing(store: Path) -> None:
    """One object with a code; the trace goes to the server's own standard error."""
    sent: list[dict[str, Any]] = []
    broken: Any = None
    app = make_app(broken, TokenBook(store / "keys"), Limits(), Counts())
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/healthz",
        "headers": [],
        "query_string": b"",
    }

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        await asyncio.sleep(0)
        sent.append(message)

    async def ask() -> None:
        await app(scope, receive, send)

    with pytest.raises(AttributeError):
        asyncio.run(ask())

    start, body = sent
    assert start["status"] == 500
    assert body["body"] == (
        b'{"code":"internal_error","message":"the server failed: see what it said where it runs"}'
    )


def test_a_client_that_goes_leaves_nothing(store: Path) -> None:
    """A body that ends early is no batch."""
    sent: list[dict[str, Any]] = []
    ingest = Ingest(store, Limits(), lambda _: None)
    token = token_of(store)
    app = make_app(ingest, TokenBook(store / "keys"), Limits(), Counts())
    headers = [
        (b"authorization", f"Bearer {token}".encode()),
        (b"content-type", b"application/jsonl"),
    ]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/records",
        "headers": headers,
        "query_string": b"",
    }
    parts: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{}\n", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return parts.pop(0)

    async def send(message: Any) -> None:
        await asyncio.sleep(0)
        sent.append(message)

    async def ask() -> None:
        await app(scope, receive, send)

    asyncio.run(ask())
    ingest.close()

    assert sent[0]["status"] == 400
    assert stored(store) == []
