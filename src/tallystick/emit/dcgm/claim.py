"""Which statistics are those of an attempt: what does not fit is told and not claimed.

The attempt's boards are what the prolog wrote down, its window lies between two moments of our
own clock, and the engine's times only have to agree with them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.emit.dcgm.engine import SECOND_US, Problem
from tallystick.emit.record import format_instant

if TYPE_CHECKING:
    from tallystick.emit.dcgm.engine import Board, Finished

SLACK_US = 2 * SECOND_US
NOTHING: dict[str, Any] = dict.fromkeys(
    ("energy_mj", "power_w", "sm_util", "mem_util", "processes")
)


class Window(NamedTuple):
    """What the prolog wrote down of a watch, and when the attempt ended."""

    start_us: int
    steady_us: int
    ended_us: int
    interval_us: int
    keep_us: int


class Claims(NamedTuple):
    """Bodies of statistics without their attempt, and why there are not more."""

    bodies: tuple[dict[str, Any], ...]
    problems: tuple[Problem, ...]


def steady_us() -> int:
    """Read a clock that nobody sets."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def claims(
    finished: Finished, window: Window, uuids: tuple[str, ...], now_steady_us: int
) -> Claims:
    """Give what can be claimed of the boards of an attempt."""
    is_refused = any(problem.code == "dcgm_window_refused" for problem in finished.problems)
    if is_refused and not finished.boards:  # The same error of a later step refuses nothing.
        return _reversed(finished, window, uuids)
    problems: list[Problem] = []
    stepped = _stepped(finished.stop_us - window.start_us, now_steady_us - window.steady_us)
    if stepped is not None and finished.boards:
        return Claims((), (stepped,))
    bodies = []
    for board in finished.boards:
        if board.uuid not in uuids:
            message = f"{board.uuid} is no board of the attempt: the group was changed"
            problems.append(Problem("dcgm_group_changed", message))
            continue
        span, problem = _span(board, finished, window)
        problems += [problem] if problem is not None else _unknown(board)
        if span is not None:
            bodies.append(_body(board.uuid, span, window, board.values))
    if finished.boards:
        there = {board.uuid for board in finished.boards}
        problems += [
            Problem("dcgm_board_missing", f"the statistics are without {uuid}")
            for uuid in uuids
            if uuid not in there
        ]
    return Claims(tuple(bodies), tuple(problems))


def _span(
    board: Board, finished: Finished, window: Window
) -> tuple[tuple[int, int] | None, Problem | None]:
    """Give the time that the engine's window and ours have in common, if they agree."""
    if board.start_us is None or board.end_us is None:
        return None, Problem("dcgm_window_unreadable", f"{board.uuid}: no start and end")
    slack_us = window.interval_us + SLACK_US
    agrees = (
        abs(board.start_us - window.start_us) <= slack_us
        and abs(board.end_us - window.ended_us) <= slack_us
        and abs(finished.stop_us - window.ended_us) <= slack_us
    )
    if not agrees:
        printed = f"{format_instant(board.start_us)} to {format_instant(board.end_us)}"
        ours = f"{format_instant(window.start_us)} to {format_instant(window.ended_us)}"
        message = f"{board.uuid}: the engine's window is {printed}, the attempt's {ours}"
        return None, Problem("dcgm_window_differs", message)
    # A printed time is cut to the second, so the end lies up to one second after it.
    end_us = min(finished.stop_us, board.end_us + SECOND_US)
    return (max(window.start_us, board.start_us), end_us), None


def _unknown(board: Board) -> list[Problem]:
    values = board.values
    is_blank = values["energy_mj"] is None and values["power_w"] is None
    if is_blank and not any(values[name] for name in ("sm_util", "mem_util", "processes")):
        return [Problem("dcgm_blank", f"{board.uuid}: nothing was sampled")]
    if values["energy_mj"] is None:
        message = f"{board.uuid}: no two samples of the energy counter, or a reset of it"
        return [Problem("dcgm_energy_unknown", message)]
    return []


def _stepped(clock_us: int, steady_clock_us: int) -> Problem | None:
    off_us = clock_us - steady_clock_us
    if abs(off_us) <= SLACK_US:
        return None
    message = f"the clock was set by {off_us / SECOND_US:+.3f} s during the attempt"
    return Problem("dcgm_clock_step", message)


def _reversed(finished: Finished, window: Window, uuids: tuple[str, ...]) -> Claims:
    """Say that the window ends before it starts, which is why the engine gave nothing."""
    if finished.stop_us >= window.start_us:
        return Claims((), ())
    span = (window.start_us, finished.stop_us)
    bodies = tuple(_body(uuid, span, window, NOTHING) for uuid in uuids)
    message = "the clock was set back: the engine's window ends before it starts"
    return Claims(bodies, (Problem("dcgm_clock_step", message),))


def _body(
    uuid: str, span: tuple[int, int], window: Window, values: dict[str, Any]
) -> dict[str, Any]:
    return {
        "gpu": uuid,
        "start": format_instant(span[0]),
        "end": format_instant(span[1]),
        "keep_us": window.keep_us,
        **values,
    }
