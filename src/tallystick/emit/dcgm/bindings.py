"""Asking DCGM through its Python bindings, which state microseconds and ask for a last sample.

The library may hang, and unloads nothing, so a child loads it. The connection persists: the
engine would forget groups and watches when the child is gone.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.emit.dcgm.child import Tell, told_by_child
from tallystick.emit.dcgm.engine import (
    KEEP_S,
    Begun,
    Board,
    Finished,
    Print,
    Problem,
    Wish,
    clock_us,
)
from tallystick.emit.record import INTEGER_MAX

if TYPE_CHECKING:
    from tallystick.emit.dcgm.values import Value
    from tallystick.emit.deadline import Deadline

FOLDERS = (
    Path("/usr/share/datacenter-gpu-manager-4/bindings/python3"),
    Path("/usr/local/dcgm/bindings/python3"),
)
HOST = "127.0.0.1"
UNUSABLE = "dcgm_bindings_unusable"

_BLANK_32 = 0x7FFFFFF0
_BLANK_64 = 0x7FFFFFFFFFFFFFF0
_BLANK_DOUBLE = 2**47
_CODES = {
    -21: "dcgm_engine_down",
    -26: "dcgm_job_exists",
    -14: "dcgm_job_unknown",
    -5: "dcgm_group_gone",
    -3: "dcgm_window_refused",
    -25: UNUSABLE,  # The library that they load is not there.
}
_SAID_MAX = 200
_CRASHED = Problem("dcgm_failed", "pydcgm: ended without an answer")


def bindings_folder() -> Path | None:
    """Find the bindings; None if the node has none."""
    return next((folder for folder in FOLDERS if (folder / "pydcgm.py").is_file()), None)


class BindingsEngine:
    """DCGM, asked through ``pydcgm``."""

    how = "bindings"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, wish: Wish, deadline: Deadline) -> Begun:
        """Watch boards and begin the record of a job; what is half done is taken back."""
        facts, problems = self._told(lambda tell: self._begin(wish, tell), deadline)
        if "start_us" not in facts:
            return Begun(None, None, None, problems or (_CRASHED,))
        return Begun(facts["group"], facts["watch_us"], facts["start_us"], problems)

    def finish(self, job: str, group: int | None, deadline: Deadline) -> Finished:
        """End the record of a job, read it, and forget it."""
        before_us = clock_us()
        facts, problems = self._told(lambda tell: self._finish(job, group, tell), deadline)
        boards = tuple(Board(**board) for board in facts.get("boards", ()))
        prints = (Print("api", None, facts["print"]),) if "print" in facts else ()
        if "boards" not in facts and not problems:
            problems = (_CRASHED,)
        stop_us = facts.get("stop_us", before_us)
        return Finished(stop_us, facts.get("read_us", stop_us), boards, prints, problems)

    def _told(self, work: Any, deadline: Deadline) -> tuple[dict[str, Any], tuple[Problem, ...]]:
        limit_s = deadline.left_s(keep_s=KEEP_S)
        if limit_s <= 0:
            return {}, (Problem("dcgm_no_time", "no time was left for the bindings"),)
        lines, is_whole = told_by_child(work, limit_s)
        facts: dict[str, Any] = {}
        problems = []
        for line in lines:
            if "code" in line:
                problems.append(Problem(line["code"], line["message"]))
            facts.update(line)
        if not is_whole:
            problems.append(Problem("dcgm_hangs", f"pydcgm: no answer in {limit_s:.1f} s"))
        return facts, tuple(problems)

    def _connect(self, tell: Tell) -> Any:
        sys.path.insert(0, str(self._folder))
        try:
            pydcgm = importlib.import_module("pydcgm")
        except Exception as error:  # noqa: BLE001 (whatever a foreign module does at import)
            tell({"code": UNUSABLE, "message": f"pydcgm: {error}"[:_SAID_MAX]})
            return None
        try:
            return pydcgm, pydcgm.DcgmHandle(ipAddress=HOST, persistAfterDisconnect=True)
        except Exception as error:  # noqa: BLE001 (their errors are classes made at run time)
            tell(_problem("connect", error))
        return None

    def _begin(self, wish: Wish, tell: Tell) -> None:
        connected = self._connect(tell)
        if connected is None:
            return
        pydcgm, handle = connected
        group = None
        try:
            indexes = {uuid: index for index, uuid in _devices(handle).items()}
            lacking = [uuid for uuid in wish.uuids if uuid not in indexes]
            if lacking:
                code = "dcgm_board_missing" if indexes else "dcgm_no_boards"
                tell({"code": code, "message": f"the engine does not list {lacking[0]}"})
                return
            group = pydcgm.DcgmGroup(handle, groupName=wish.job)
            for uuid in wish.uuids:
                group.AddGpu(indexes[uuid])
            group.stats.WatchJobFields(wish.interval_ms * 1000, wish.keep_s, 0)
            tell({"group": _number(group.GetId()), "watch_us": clock_us()})
            try:
                group.stats.StartJobStats(wish.job)
            except Exception as error:
                problem = _problem("start", error)
                if problem["code"] != "dcgm_job_exists":
                    raise
                tell(problem)
            tell({"start_us": clock_us()})
        except Exception as error:  # noqa: BLE001 (see above)
            tell(_problem("begin", error))
            if group is not None:
                group.Delete()

    def _finish(self, job: str, number: int | None, tell: Tell) -> None:
        connected = self._connect(tell)
        if connected is None or number is None:
            return
        pydcgm, handle = connected
        group = pydcgm.DcgmGroup(handle, groupId=_handle(number))
        _try(tell, "update", lambda: handle.GetSystem().UpdateAllFields(1))
        tell({"stop_us": clock_us()})
        try:
            group.stats.StopJobStats(job)
        except Exception as error:  # noqa: BLE001 (see above)
            problem = _problem("stop", error)
            if problem["code"] in {"dcgm_job_unknown", "dcgm_engine_down"}:
                tell(problem)  # The group may be that of somebody else by now.
                return
            tell({**problem, "code": "dcgm_not_stopped"})
        _try(tell, "read", lambda: _read(group.stats.GetJobStats(job), _devices(handle), tell))
        _try(tell, "remove the job", lambda: group.stats.RemoveJob(job))
        _try(tell, "remove the group", group.Delete)


def _number(group: Any) -> int:
    """Give the number of a group, which the bindings have as a C pointer."""
    return int(getattr(group, "value", group))


def _handle(number: int) -> Any:
    import ctypes  # noqa: PLC0415 (in the child, which loads it in any case)

    return ctypes.c_void_p(number)


def _try(tell: Tell, step: str, ask: Any) -> None:
    try:
        ask()
    except Exception as error:  # noqa: BLE001 (their errors are classes made at run time)
        tell(_problem(step, error))


def _problem(step: str, error: Exception) -> dict[str, Any]:
    code = _CODES.get(getattr(error, "value", 0), "dcgm_failed")
    return {"code": code, "message": f"pydcgm, {step}: {error}"[:_SAID_MAX]}


def _devices(handle: Any) -> dict[int, str]:
    discovery = handle.GetSystem().discovery
    return {
        index: _text(discovery.GetGpuAttributes(index).identifiers.uuid)
        for index in discovery.GetAllGpuIds()
    }


def _text(value: Any) -> str:
    return value.decode("ascii", errors="replace") if isinstance(value, bytes) else str(value)


def _read(info: Any, devices: dict[int, str], tell: Tell) -> None:
    boards, raw = [], []
    for gpu in list(info.gpus)[: info.numGpus]:
        stated = _stated(gpu)
        raw.append(stated)
        uuid = devices.get(gpu.gpuId)
        if uuid is None:
            tell({"code": "dcgm_unmapped", "message": f"no UUID for GPU {gpu.gpuId}"})
            continue
        start_us, end_us = (us if us > 0 else None for us in (gpu.startTime, gpu.endTime))
        boards.append(
            {"uuid": uuid, "start_us": start_us, "end_us": end_us, "values": _values(stated)}
        )
    if not raw:
        tell({"code": "dcgm_no_block", "message": "the statistics are of no board"})
    tell({"boards": boards, "print": json.dumps(raw), "read_us": clock_us()})


def _stated(gpu: Any) -> dict[str, Any]:
    return {
        "gpuId": gpu.gpuId,
        "startTime": gpu.startTime,
        "endTime": gpu.endTime,
        "energyConsumed": gpu.energyConsumed,
        "powerUsage.average": repr(gpu.powerUsage.average),
        "smClock.average": gpu.smClock.average,
        "smUtilization.average": gpu.smUtilization.average,
        "memoryUtilization.average": gpu.memoryUtilization.average,
        "processes": gpu.numComputePids + gpu.numGraphicsPids,
    }


def _values(stated: dict[str, Any]) -> dict[str, Value]:
    """Give the five values, unknown where they are in print (r27, r28); energy is in mJ here."""
    energy_mj = _below(stated["energyConsumed"], min(_BLANK_64, INTEGER_MAX + 1))
    power = float(stated["powerUsage.average"])
    is_power = 0 <= power < _BLANK_DOUBLE
    if energy_mj is None and not is_power and stated["smClock.average"] == 0:
        return dict.fromkeys(("energy_mj", "power_w", "sm_util", "mem_util", "processes"))
    if energy_mj == 0 and is_power and power > 0:
        energy_mj = None
    return {
        "energy_mj": energy_mj,
        "power_w": f"{power:.3f}" if is_power else None,
        "sm_util": _below(stated["smUtilization.average"], _BLANK_32),
        "mem_util": _below(stated["memoryUtilization.average"], _BLANK_32),
        "processes": _below(stated["processes"], _BLANK_32),
    }


def _below(number: int, blank: int) -> int | None:
    return number if 0 <= number < blank else None
