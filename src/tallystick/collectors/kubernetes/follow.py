"""Following one kind of object: list it, watch it, and go on after whatever breaks.

A watch that goes on from the last version misses nothing, however long the API was away. One that
must list again does: what came and went in between is lost, and that is said.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tallystick.collectors.kubernetes.api import (
    Api,
    ApiDownError,
    Kind,
    KindRefusedError,
    VersionGoneError,
)
from tallystick.collectors.kubernetes.documents import BOOKMARK
from tallystick.collectors.kubernetes.objects import Json, text_at
from tallystick.core.instant import SECOND_US

EXPIRED, UNREACHABLE = "expired", "unreachable"


class Listed(NamedTuple):
    """All objects of a kind; ``is_again`` if some may have come and gone unseen."""

    kind: Kind
    values: tuple[Json, ...]
    at_us: int
    is_again: bool


class Happened(NamedTuple):
    """One object came, changed or went."""

    kind: Kind
    event: str
    value: Json
    at_us: int


class Gap(NamedTuple):
    """A stretch in which nothing was seen; ``replayed`` if all of it came afterwards."""

    kind: Kind
    from_us: int
    to_us: int
    reason: str
    replayed: bool


class Unserved(NamedTuple):
    """A kind that the API does not have, or does not show."""

    kind: Kind
    reason: str


class Trouble(NamedTuple):
    """The API does not answer; it is tried again."""

    kind: Kind
    reason: str


News = Listed | Happened | Gap | Unserved | Trouble


class Pace(NamedTuple):
    """How a follower waits and tells the time.

    Args:
        clock_us: Gives the time.
        pause: Waits some seconds, and tells whether to stop.
        first_s: The first wait after a failure; each next is twice as long.
        most_s: The longest wait.
    """

    clock_us: Callable[[], int]
    pause: Callable[[float], bool]
    first_s: float = 1
    most_s: float = 30


class _Follower:
    """What is known of one kind between two requests."""

    def __init__(self, api: Api, kind: Kind, pace: Pace) -> None:
        self.api, self.kind, self.pace = api, kind, pace
        self.version: str | None = None
        self.alive_us = pace.clock_us()
        self.expired_since_us: int | None = None
        self.down_since_us: int | None = None
        self.is_open = False

    def go_on(self) -> Iterator[News]:
        """List if need be, then watch until the server ends it."""
        self.is_open = False
        if self.version is None:
            listing = self.api.list_all(self.kind)
            now_us = self.pace.clock_us()
            is_again = self.expired_since_us is not None
            yield from self._gaps(now_us)
            yield Listed(self.kind, listing.values, now_us, is_again)
            self.version = listing.version
        events = self.api.watch(self.kind, self.version)
        yield from self._gaps(self.pace.clock_us())
        self.is_open = True
        for event in events:
            self.alive_us = self.pace.clock_us()
            value = event["object"]
            word = event.get("type")
            if word != BOOKMARK:
                typed: Json = {"kind": self.kind.name} | value
                yield Happened(self.kind, str(word), typed, self.alive_us)
            # Kept after the event was taken: what was not taken comes again.
            self.version = text_at(value, "metadata", "resourceVersion") or self.version
        self.alive_us = self.pace.clock_us()

    def _gaps(self, now_us: int) -> Iterator[Gap]:
        """Tell what was not seen until now."""
        if self.expired_since_us is not None:
            yield Gap(self.kind, self.expired_since_us, now_us, EXPIRED, replayed=False)
        elif self.down_since_us is not None:
            yield Gap(self.kind, self.down_since_us, now_us, UNREACHABLE, replayed=True)
        self.expired_since_us = self.down_since_us = None
        self.alive_us = now_us

    def lost_version(self) -> None:
        """List again next time."""
        if self.version is not None and self.expired_since_us is None:
            self.expired_since_us = self.alive_us
        self.version = None

    def went_down(self) -> None:
        """Remember since when nothing is seen.

        Before the first list nothing was promised, and a stream that breaks off is no outage
        until it cannot be opened again.
        """
        if self.down_since_us is None and self.version is not None and not self.is_open:
            self.down_since_us = self.alive_us


def follow(api: Api, kind: Kind, pace: Pace) -> Iterator[News]:
    """Give everything that happens to a kind, until told to stop."""
    follower = _Follower(api, kind, pace)
    wait_s = pace.first_s
    while True:
        since_us = pace.clock_us()
        try:
            yield from follower.go_on()
            wait_s = pace.first_s
            # A server that ends every watch at once is not asked in a tight circle.
            delay_s = 0.0 if pace.clock_us() - since_us >= SECOND_US else pace.first_s
        except VersionGoneError:
            follower.lost_version()
            delay_s = pace.first_s
        except KindRefusedError as error:
            yield Unserved(kind, str(error))
            return
        except ApiDownError as error:
            if follower.is_open:
                wait_s = pace.first_s
            elif wait_s == pace.first_s:
                yield Trouble(kind, str(error))
            follower.went_down()
            delay_s, wait_s = wait_s, min(2 * wait_s, pace.most_s)
        if pace.pause(delay_s):
            return
