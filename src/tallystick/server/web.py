"""The addresses of the server: each reads a request, has one thing done, and answers in JSON."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallystick.app.admit import clock_us
from tallystick.app.ingest import Ingest, Ingested, Limits, LineFullError
from tallystick.app.token_errors import TokenRejectedError, TokensUnusableError
from tallystick.app.tokens import Token, TokenBook
from tallystick.core.errors import TallystickError
from tallystick.server import problems
from tallystick.server.counts import CONTENT_TYPE, Counts
from tallystick.server.problems import HttpProblem
from tallystick.server.rates import Rates
from tallystick.stores.delivery import Answer

RECORDS = "/v1/records"
_TYPES = frozenset({"application/x-ndjson", "application/jsonl"})
_BLANK = b" \t\r"
_DIGITS_MAX = 15


def make_app(ingest: Ingest, book: TokenBook, limits: Limits, counts: Counts) -> ASGIApp:
    """Make the application that serves a store.

    Args:
        ingest: The line before the store.
        book: Who may send what.
        limits: How much is taken.
        counts: Where it is counted.
    """
    web = _Web(ingest, book, limits, counts)
    app = Starlette(
        routes=[
            Route(RECORDS, web.records, methods=["POST"]),
            Route("/healthz", web.health, methods=["GET"]),
            Route("/metrics", web.metrics, methods=["GET"]),
        ],
        exception_handlers={
            HttpProblem: _answer_problem,
            HTTPException: _answer_http,
            ClientDisconnect: _answer_gone,
            Exception: _answer_failure,
        },
    )
    app.router.redirect_slashes = False
    return _Counted(app, counts)


class _Web:
    """What the addresses share."""

    def __init__(self, ingest: Ingest, book: TokenBook, limits: Limits, counts: Counts) -> None:
        self._counts = counts
        self._ingest = ingest
        self._book = book
        self._limits = limits
        self._rates = Rates(limits.rate, limits.burst)

    async def records(self, request: Request) -> Response:
        """Admit the records of a request."""
        token = self._token(request)
        _check_type(request)
        self._check_rate(token)
        lines = self._lines(await self._body(request))
        self._check_rate(token)
        self._rates.take(token.id, len(lines), time.monotonic_ns())
        allows = None if token.producers is None else token.allows
        try:
            future = self._ingest.submit(lines, allows)
        except LineFullError as error:
            raise problems.line_full() from error
        try:
            result = await asyncio.wrap_future(future)
        except TallystickError as error:
            raise problems.store_failed(error.code) from error
        self._counts.count_ingested(result, time.monotonic_ns())
        return _json(_answers(result))

    async def health(self, request: Request) -> Response:
        """Say whether the store can be read and written."""
        del request
        try:
            # Not wait_for, which would end the check for everybody who waits for it.
            future = asyncio.wrap_future(self._ingest.check())
            done, _ = await asyncio.wait({future}, timeout=self._limits.busy_s)
            if not done:
                raise problems.store_failed("store_busy")
            result = future.result()
        except LineFullError as error:
            raise problems.line_full() from error
        except TallystickError as error:
            raise problems.store_failed(error.code) from error
        self._counts.count_ingested(result, time.monotonic_ns())
        return _json({"status": "ok", "size": result.size})

    async def metrics(self, request: Request) -> Response:
        """Say what was counted."""
        del request
        text = self._counts.text(self._ingest.waiting, time.monotonic_ns())
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    def _token(self, request: Request) -> Token:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            raise problems.token_missing()
        try:
            return self._book.check(text.strip(), clock_us())
        except TokenRejectedError as error:
            raise problems.token_rejected(str(error)) from error
        except TokensUnusableError as error:
            raise problems.store_failed(error.code) from error

    def _check_rate(self, token: Token) -> None:
        wait_s = self._rates.wait_s(token.id, time.monotonic_ns())
        if wait_s:
            raise problems.rate_exceeded(wait_s)

    async def _body(self, request: Request) -> bytes:
        """Read a body, and not a byte more than is taken, whatever its length is said to be."""
        limit = self._limits.body_bytes
        stated = request.headers.get("content-length", "0")
        if len(stated) > _DIGITS_MAX or int(stated) > limit:
            raise problems.too_large("bytes", limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.slow_s):
                async for chunk in request.stream():
                    self._counts.count_bytes(len(chunk))
                    body += chunk
                    if len(body) > limit:
                        raise problems.too_large("bytes", limit)
        except TimeoutError as error:
            raise problems.too_slow(self._limits.slow_s) from error
        return bytes(body)

    def _lines(self, body: bytes) -> list[bytes]:
        """Cut a body into records at LF; blank lines are none, but count against the limit."""
        limit = self._limits.batch_lines
        if body.count(b"\n", 0, -1) >= limit:
            raise problems.too_large("lines", limit)
        return [line for line in body.split(b"\n") if line.strip(_BLANK)]


class _Counted:
    """An application whose answers are counted."""

    def __init__(self, app: ASGIApp, counts: Counts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._counts.count_request(message["status"])
            await send(message)

        await self._app(scope, receive, count)


def _check_type(request: Request) -> None:
    stated = request.headers.get("content-type", "")
    if stated.partition(";")[0].strip().lower() not in _TYPES:
        raise problems.wrong_type(stated)
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise problems.wrong_type(encoding)


def _answers(result: Ingested) -> dict[str, Any]:
    return {"answers": list(_stated(result.answers)), "size": result.size}


def _stated(answers: Iterable[Answer]) -> Iterable[dict[str, Any]]:
    for word, leaf, finding in answers:
        stated: dict[str, Any] = {"answer": word}
        if leaf is not None:
            stated["leaf"] = leaf
        if finding is not None:
            stated |= {"code": finding.code, "message": finding.message}
        yield stated


def _json(value: dict[str, Any]) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


async def _answer_problem(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, HttpProblem), "it is registered for these"
    return error.answer()


async def _answer_http(request: Request, error: Exception) -> Response:
    """Say in our form that there is no such address, or that it is asked otherwise."""
    assert isinstance(error, HTTPException), "it is registered for these"
    if error.status_code == 404:
        message = f"nothing is at {request.url.path[:80]!a}: records go to {RECORDS}"
        return HttpProblem(404, "not_found", message, {"Connection": "close"}).answer()
    headers = {"Connection": "close", **(error.headers or {})}
    message = f"{request.method[:20]} is not for this address"
    return HttpProblem(error.status_code, "method_not_allowed", message, headers).answer()


async def _answer_gone(request: Request, error: Exception) -> Response:
    """Answer somebody who has gone: nothing of the request was used."""
    del request, error
    message = "the connection ended within the body"
    return HttpProblem(400, "bad_request", message, {"Connection": "close"}).answer()


async def _answer_failure(request: Request, error: Exception) -> Response:
    del request, error
    return problems.internal().answer()
