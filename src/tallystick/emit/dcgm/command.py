"""Asking DCGM through its program ``dcgmi``.

It prints local times, so it runs in UTC; it prints errors beside everything else, so what went
wrong is told by its words and its exit status. Once it does not answer it is asked no more.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.command import Ran, run_command
from tallystick.emit.dcgm.engine import (
    Begun,
    Board,
    Finished,
    Print,
    Problem,
    Wish,
    clock_us,
    limit_s,
)
from tallystick.emit.dcgm.report import read_report

if TYPE_CHECKING:
    from tallystick.emit.dcgm.report import Report
    from tallystick.emit.deadline import Deadline

PROGRAM = "dcgmi"

_GROUP = re.compile(
    r'^Successfully created group ".*" with a group ID of ([0-9]{1,9})\s*$', re.MULTILINE
)
_WORDS = (
    ("unable to establish a connection", "dcgm_engine_down"),
    ("this job id is in use", "dcgm_job_exists"),
    ("no data is available", "dcgm_job_unknown"),
    ("was not found", "dcgm_job_unknown"),
    ("generic unspecified error", "dcgm_window_refused"),
)
_STATUSES = {
    235: "dcgm_engine_down",
    230: "dcgm_job_exists",
    242: "dcgm_job_unknown",
    251: "dcgm_group_gone",
    253: "dcgm_window_refused",
}
_SAID_MAX = 200


class Said(NamedTuple):
    """What one call gave, and what was wrong with it."""

    ran: Ran
    problem: Problem | None


class CommandEngine:
    """DCGM, asked through ``dcgmi``."""

    how = "command"

    def __init__(self, path: str) -> None:
        self._path = path
        self._is_silent = False

    def begin(self, wish: Wish, deadline: Deadline) -> Begun:
        """Watch boards and begin the record of a job; what is half done is taken back."""
        listed = self._ask(deadline, "discovery", "-l")
        if listed.problem is not None:
            return _nothing(listed.problem)
        indexes, missing = _indexes(read_report(listed.ran.text), wish.uuids)
        if missing is not None:
            return _nothing(missing)
        words = ("group", "-c", wish.job, "-a", ",".join(map(str, indexes)))
        made = self._ask(deadline, *words)
        match = _GROUP.search(made.ran.text)
        if match is None:
            return _nothing(made.problem or Problem("dcgm_failed", _said(words, made.ran)))
        group = int(match[1])
        if made.problem is not None:
            return self._taken_back(deadline, group, made.problem)
        return self._watch(wish, group, deadline)

    def _watch(self, wish: Wish, group: int, deadline: Deadline) -> Begun:
        number = str(group)
        every, keep = str(wish.interval_ms), str(wish.keep_s)
        watched = self._ask(deadline, "stats", "-g", number, "-e", "-u", every, "-m", keep)
        watch_us = clock_us()
        if watched.problem is not None:
            return self._taken_back(deadline, group, watched.problem)
        started = self._ask(deadline, "stats", "-g", number, "-s", wish.job)
        if started.problem is None:
            return Begun(group, watch_us, clock_us(), ())
        if started.problem.code == "dcgm_job_exists":
            # The first start stands. Whether it is that of this attempt is told by its times.
            return Begun(group, watch_us, clock_us(), (started.problem,))
        return self._taken_back(deadline, group, started.problem)

    def _taken_back(self, deadline: Deadline, group: int, problem: Problem) -> Begun:
        gone = self._ask(deadline, "group", "-d", str(group))
        further = () if gone.problem is None else (gone.problem,)
        return Begun(None, None, None, (problem, *further))

    def finish(self, job: str, group: int | None, deadline: Deadline) -> Finished:
        """End the record of a job, read it in both forms, and forget it."""
        stop_us = clock_us()
        stopped = self._ask(deadline, "stats", "-x", job)
        problems = _found(stopped)
        if stopped.problem is not None and stopped.ran.status is not None:
            if stopped.problem.code == "dcgm_job_unknown":
                # The group may be that of somebody else by now, so it is left alone.
                said = Print("stop", stopped.ran.status, stopped.ran.text)
                return Finished(stop_us, stop_us, (), (said,), tuple(problems))
            if stopped.problem.code != "dcgm_engine_down":
                problems = [Problem("dcgm_not_stopped", stopped.problem.message)]
        prints, read_us = self._read(job, deadline, problems)
        texts = {each.form: each.text for each in prints if each.status == 0}
        boards: tuple[Board, ...] = ()
        if "gpus" in texts:
            # Each by itself: a list would end a block that breaks off.
            devices = read_report(texts.get("devices", "")).devices
            boards, unread = _boards(read_report(texts["gpus"]), devices)
            problems += unread
        problems += _found(self._ask(deadline, "stats", "-r", job))
        if group is not None:
            problems += _found(self._ask(deadline, "group", "-d", str(group)))
        return Finished(stop_us, read_us, boards, tuple(prints), tuple(dict.fromkeys(problems)))

    def _read(
        self, job: str, deadline: Deadline, problems: list[Problem]
    ) -> tuple[list[Print], int]:
        """Have both forms printed, since neither says all, and which UUID an index is."""
        prints: list[Print] = []
        read_us = clock_us()
        for form, words in (
            ("summary", ("stats", "-j", job)),
            ("gpus", ("stats", "-v", "-j", job)),
            ("devices", ("discovery", "-l")),
        ):
            said = self._ask(deadline, *words)
            if said.ran.output:
                prints.append(Print(form, said.ran.status, said.ran.text))
            problems += _found(said)
            read_us = clock_us() if form == "gpus" else read_us
        return prints, read_us

    def _ask(self, deadline: Deadline, *words: str) -> Said:
        if self._is_silent:
            return Said(Ran(None, b"", "not asked"), None)
        if not _is_there(self._path):
            self._is_silent = True
            ran = Ran(None, b"", f"{PROGRAM}: not found in {self._path}")
            return Said(ran, Problem("dcgm_absent", str(ran.problem)))
        env = {"PATH": self._path, "TZ": "UTC0"}
        ran = run_command((PROGRAM, *words), limit_s=limit_s(deadline), env=env)
        if ran.problem is not None:
            self._is_silent = True
            return Said(ran, Problem(_silence(ran.problem), f"{ran.problem} ({' '.join(words)})"))
        if ran.status == 0:
            return Said(ran, None)
        code = _code(ran)
        self._is_silent = code == "dcgm_engine_down"
        return Said(ran, Problem(code, _said(words, ran)))


def _is_there(path: str) -> bool:
    return any(os.access(f"{folder}/{PROGRAM}", os.X_OK) for folder in path.split(":"))


def _silence(problem: str) -> str:
    if "no answer" in problem:
        return "dcgm_hangs"
    return "dcgm_no_time" if "no time was left" in problem else "dcgm_failed"


def _code(ran: Ran) -> str:
    text = ran.text.lower()
    words = (code for word, code in _WORDS if word in text)
    return next(words, _STATUSES.get(ran.status or 0, "dcgm_failed"))


def _said(words: tuple[str, ...], ran: Ran) -> str:
    lines = [line.strip() for line in ran.text.split("\n") if line.strip()]
    said = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
    return f"{PROGRAM} {' '.join(words)}: ended with {ran.status}: {said[:_SAID_MAX]}"


def _found(said: Said) -> list[Problem]:
    return [] if said.problem is None else [said.problem]


def _nothing(problem: Problem) -> Begun:
    return Begun(None, None, None, (problem,))


def _indexes(report: Report, uuids: tuple[str, ...]) -> tuple[list[int], Problem | None]:
    """Turn UUIDs into the engine's own indexes, which are nobody else's."""
    if not report.devices:
        return [], Problem("dcgm_no_boards", "the engine lists no board: it runs without a driver")
    by_uuid = {uuid: index for index, uuid in report.devices}
    missing = [uuid for uuid in uuids if uuid not in by_uuid]
    if missing:
        return [], Problem("dcgm_board_missing", f"the engine does not list {missing[0]}")
    return [by_uuid[uuid] for uuid in uuids], None


def _boards(
    report: Report, devices: tuple[tuple[int, str], ...]
) -> tuple[tuple[Board, ...], list[Problem]]:
    """Give the boards that have statistics, by the list that was printed in the same call."""
    from tallystick.emit.dcgm.printed_time import utc_us  # noqa: PLC0415 (start-up)
    from tallystick.emit.dcgm.values import read_values  # noqa: PLC0415 (start-up)

    if not report.blocks:
        return (), [Problem("dcgm_no_block", "the statistics are of no board: none under MIG")]
    by_index: dict[int, set[str]] = {}
    for index, uuid in devices:
        by_index.setdefault(index, set()).add(uuid)
    boards, problems = [], []
    for block in report.blocks:
        uuids = by_index.get(block.gpu_index, set())
        if not block.whole:
            problems.append(Problem("dcgm_cut_short", f"the text of GPU {block.gpu_index} ends"))
        if len(uuids) != 1:
            problems.append(Problem("dcgm_unmapped", f"no UUID for GPU {block.gpu_index}"))
            continue
        start, end = block.rows.get("Start Time", ""), block.rows.get("End Time", "")
        values = read_values(block.rows)
        boards.append(Board(next(iter(uuids)), utc_us(start), utc_us(end), values))
    return tuple(boards), problems
