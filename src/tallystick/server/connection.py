"""Connections: how many there are, how long they may take, and what is said to nonsense.

The library closes a connection that idles after an answer. A request that never ends its
headers, an answer that is never read, or connections without number it would bear for ever.
"""

from asyncio import TimerHandle, Transport
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from tallystick.server import problems
from tallystick.server.counts import Counts
from tallystick.server.problems import HttpProblem

_ABORT_AFTER_S = 5


def connection_class(counts: Counts, *, slow_s: int, connections_max: int) -> type["Connection"]:
    """Make the class of a server's connections.

    Args:
        counts: Told of the answers that are given here.
        slow_s: Seconds within which the headers of a request must come.
        connections_max: How many may be open at once.
    """

    class Limited(Connection):
        """A connection with the limits of this server."""

    Limited.counts = counts
    Limited.slow_s = slow_s
    Limited.connections_max = connections_max
    return Limited


class Connection(H11Protocol):
    """One connection."""

    counts: ClassVar[Counts]
    slow_s: ClassVar[int]
    connections_max: ClassVar[int]
    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take a connection, or say that there are too many."""
        is_full = len(self.connections) >= self.connections_max
        super().connection_made(transport)
        if is_full:
            self._tell(problems.connections_full())
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what came, and see whether it made a request."""
        if not self.transport.is_closing():
            super().data_received(data)
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._unwatch()
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that idles; an answer that nobody reads must not keep it open."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(_ABORT_AFTER_S, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request, in our form."""
        del msg
        problem = HttpProblem(400, "bad_request", "expected an HTTP/1.1 request")
        if self._is_waiting:
            self._tell(problem)
        else:  # An answer may be on its way already: nothing can be said in between.
            self.transport.close()

    def _tell(self, problem: HttpProblem) -> None:
        """Say what is wrong before there is a request, and close."""
        headers = {
            **problem.headers,
            "Content-Type": "application/json",
            "Content-Length": str(len(problem.body)),
            "Connection": "close",
        }
        self.counts.count_request(problem.status)
        reason = {400: "Bad Request", 503: "Service Unavailable"}[problem.status]
        lines = [f"HTTP/1.1 {problem.status} {reason}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.transport.write("\r\n".join([*lines, "", ""]).encode("ascii") + problem.body)
        self.transport.close()

    @property
    def _is_waiting(self) -> bool:
        """Whether the last request is answered, if there was one, and the next has not come."""
        return bool(getattr(self.cycle, "response_complete", True))

    def _watch(self) -> None:
        """Give the next request a time limit, unless there is one being answered."""
        if not self._is_waiting:
            self._unwatch()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.slow_s, self._give_up)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._is_waiting:
            self.transport.abort()
