"""Sampling boards at a cadence: rounds of reading, handed on in batches.

A round that comes late keeps its real time and is not made up for. A value that NVML does not give
is a null, also while a board is lost; a board that it does not list has no point. When NVML says
nothing at all, that is told as a failed scrape of the node.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tallystick.collectors.collected import Collected
from tallystick.collectors.nvml.errors import BoardLostError, NvmlDownError
from tallystick.collectors.nvml.library import METRICS, Board, Library, Look
from tallystick.core.finding import InputFinding
from tallystick.core.instant import SECOND_US, format_instant
from tallystick.evidence.draft import draft_record

SOURCE = "nvml"
REOPEN_US = 60 * SECOND_US
_FLUSH_US = 60 * SECOND_US
_FLUSH_ROUNDS_MAX = 600

_BLANK: Mapping[str, int | None] = dict.fromkeys(METRICS)


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """What to sample.

    Args:
        node: Name of this node, as the scheduler calls it.
        every_us: Cadence.
        for_us: How long, None for until stopped.
        boot: Identity of the node's boot; counters do not go on over another one.
        flush_rounds: After how many rounds a batch is handed on; None for those of a minute.
    """

    node: str
    every_us: int
    for_us: int | None = None
    boot: str | None = None
    flush_rounds: int | None = None

    @property
    def rounds_a_batch(self) -> int:
        """Give the rounds that a crash may cost at most."""
        if self.flush_rounds is not None:
            return self.flush_rounds
        return min(_FLUSH_ROUNDS_MAX, max(1, _FLUSH_US // self.every_us))


class Pace(NamedTuple):
    """The clocks of a loop: the time of day, one that nobody sets, and a wait.

    ``wait`` waits some microseconds; True means that somebody asks to stop.
    """

    clock_us: Callable[[], int]
    steady_us: Callable[[], int]
    wait: Callable[[int], bool]


@dataclass(slots=True)
class _Sampler:
    library: Library
    settings: SampleSettings
    pace: Pace
    _batch: Collected = field(default_factory=Collected)
    _points: dict[str, list[list[Any]]] = field(default_factory=dict)
    _down: list[tuple[int, str]] = field(default_factory=list)
    _told: tuple[Board, ...] | None = None
    _watched: frozenset[str] = frozenset()
    _unread: tuple[str, ...] = ()
    _engine: str | None = None
    _promised_by: str | None = None
    _opened_us: int = field(init=False)
    _is_open: bool = True
    _is_doubtful: bool = False

    def __post_init__(self) -> None:
        self._opened_us = self.pace.steady_us()

    def round(self) -> None:
        """Look, and read every board once."""
        at_us = self.pace.clock_us()
        try:
            self._open_again()
            self._name_engine()
            look = self.library.look()
            lost = self._read(look)
        except NvmlDownError as error:
            self._is_open = False
            self._down.append((at_us, str(error)))
            return
        self._is_doubtful = bool(look.unread or look.lost or lost)
        self._tell_failures()
        self._tell_look(look, lost, at_us)

    def _open_again(self) -> None:
        """Open NVML again where only that can show what has changed."""
        now_us = self.pace.steady_us()
        is_old = now_us - self._opened_us >= REOPEN_US
        if self._is_open and not (self._is_doubtful and is_old):
            return
        self._opened_us = now_us
        self._engine = None
        self.library.open()
        self._is_open = True

    def _name_engine(self) -> None:
        """Name what answers, once after each opening; under another one all is promised anew."""
        if self._engine is not None:
            return
        engine = " ".join(filter(None, (SOURCE, self.library.driver(), self.settings.boot)))
        if engine != self._promised_by:
            self._watched = frozenset()
        self._engine = self._promised_by = engine

    def _read(self, look: Look) -> frozenset[str]:
        """Read the boards; give those that turned out to be lost."""
        lost = set()
        for board in look.boards:
            at_us = self.pace.clock_us()
            try:
                values = self.library.read(board.uuid)
            except BoardLostError:
                lost.add(board.uuid)
                if board.uuid not in self._watched:
                    continue  # It was lost before anybody watched it.
                values = dict(_BLANK)
            when = format_instant(at_us)
            points = self._points.setdefault(board.uuid, [])
            points.append([when, *(_text(values[metric]) for metric in METRICS)])
        return frozenset(lost)

    def _tell_look(self, look: Look, lost: frozenset[str], at_us: int) -> None:
        if look.unread:
            if look.unread != self._unread:
                for problem in look.unread:
                    self._batch.findings.append(InputFinding("board_unreadable", problem))
            self._unread = look.unread
            self._watch(look.boards, at_us)
            return  # A list that lacks a board for want of an answer would call it lost.
        self._unread = ()
        boards = tuple(board for board in look.boards if board.uuid not in lost)
        if boards != self._told:
            body = {"node": self.settings.node, "devices": [_device(each) for each in boards]}
            self._tell("device.inventory", body, at_us)
            self._told = boards
        self._watch(boards, at_us)

    def _watch(self, boards: tuple[Board, ...], at_us: int) -> None:
        """Promise to sample the boards that nobody promised to sample yet."""
        uuids = [board.uuid for board in boards if board.uuid not in self._watched]
        if not uuids:
            return
        self._watched |= frozenset(uuids)
        body = {
            "node": self.settings.node,
            "source": SOURCE,
            "engine": self._engine,
            "cadence_us": self.settings.every_us,
            "keep_us": None,
            "gpus": uuids,
        }
        self._tell("telemetry.watch", body, at_us)

    def _tell_failures(self) -> None:
        if not self._down:
            return
        (first_us, reason), (last_us, _) = self._down[0], self._down[-1]
        body = {
            "node": self.settings.node,
            "from": format_instant(min(first_us, last_us)),
            "to": format_instant(max(first_us, last_us)),
            "reason": reason,
        }
        self._tell("telemetry.scrape_failed", body, None)
        self._down = []

    def flush(self) -> Collected:
        """Give what was gathered: one record for each board and metric."""
        self._tell_failures()
        for uuid, rows in self._points.items():
            for place, metric in enumerate(METRICS, start=1):
                body = {
                    "gpu": uuid,
                    "metric": metric,
                    "cadence_us": self.settings.every_us,
                    "points": [[row[0], row[place]] for row in rows],
                }
                self._tell("telemetry.points", body, None)
        batch, self._batch, self._points = self._batch, Collected(), {}
        return batch

    def _tell(self, kind: str, body: dict[str, Any], at_us: int | None) -> None:
        producer = f"{SOURCE}/{self.settings.node}"
        now_us = self.pace.clock_us()
        self._batch.add(
            draft_record(kind, body, producer=producer, at_us=at_us, observed_us=now_us)
        )


def sample(library: Library, settings: SampleSettings, pace: Pace) -> Iterator[Collected]:
    """Sample until the time is over or somebody asks to stop; batches come as they fill.

    Args:
        library: NVML, open.
        settings: What to sample.
        pace: The clocks.
    """
    sampler = _Sampler(library, settings, pace)
    begin_us = due_us = pace.steady_us()
    rounds = 0
    while True:
        sampler.round()
        rounds += 1
        if rounds % settings.rounds_a_batch == 1 % settings.rounds_a_batch:
            yield sampler.flush()  # The first at once: it says that sampling began.
        now_us = pace.steady_us()
        due_us += settings.every_us * (1 + max(0, now_us - due_us) // settings.every_us)
        is_last = settings.for_us is not None and due_us - begin_us > settings.for_us
        if is_last or pace.wait(max(0, due_us - now_us)):
            break
    rest = sampler.flush()
    if rest.records or rest.findings:
        yield rest


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _device(board: Board) -> dict[str, Any]:
    body = {
        "uuid": board.uuid,
        "index": board.nvml_index,
        "pci_bus_id": board.pci_bus_id,
        "minor": board.minor,
        "mig": board.mig,
    }
    return {name: value for name, value in body.items() if value is not None}
