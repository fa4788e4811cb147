"""A fake of DCGM's Python bindings: the calls that are made of them, and an engine in a file.

Like the real ones it forgets what was begun over a connection that does not persist, has numbers
of groups as C pointers, and reports a library that is not there as its error -25. The file
``engine.json`` beside this module is the engine: ``boards``, ``groups``, ``jobs``, ``calls``, and
``fail``, which gives the number of an error by call, or ``hang`` or ``crash``.
"""

import ctypes
import json
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_FILE = Path(__file__).with_name("engine.json")


class DCGMError(Exception):
    """An error of the engine, by number."""

    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


def _call(name: str) -> dict[str, Any]:
    engine: dict[str, Any] = json.loads(_FILE.read_text())
    engine["calls"].append(name)
    _save(engine)
    value = engine["fail"].get(name)
    if value == "hang":
        time.sleep(3600)
    if value == "crash":
        os.kill(os.getpid(), signal.SIGKILL)  # As a fault in the library does it.
    if value is not None:
        raise DCGMError(value)
    return engine


def _save(engine: dict[str, Any]) -> None:
    _FILE.write_text(json.dumps(engine))


class DcgmHandle:
    """A connection."""

    def __init__(self, *, ipAddress: str, persistAfterDisconnect: bool) -> None:  # noqa: N803
        assert (ipAddress, persistAfterDisconnect) == ("127.0.0.1", True)
        if _call("connect")["no_library"]:
            raise DCGMError(-25)

    def GetSystem(self) -> Any:  # noqa: N802
        """Give the system."""
        return SimpleNamespace(discovery=self, UpdateAllFields=lambda wait: _call(f"update {wait}"))

    def GetAllGpuIds(self) -> list[int]:  # noqa: N802
        """List the boards."""
        return [int(index) for index in _call("list")["boards"]]

    def GetGpuAttributes(self, index: int) -> Any:  # noqa: N802
        """Tell who a board is."""
        uuid = _call("attributes")["boards"][str(index)]
        return SimpleNamespace(identifiers=SimpleNamespace(uuid=uuid))


class DcgmGroup:
    """A group of boards."""

    def __init__(
        self,
        handle: DcgmHandle,
        groupId: ctypes.c_void_p | None = None,  # noqa: N803
        groupName: str | None = None,  # noqa: N803
    ) -> None:
        del handle
        self.stats = self
        self._id = 5 if groupId is None else groupId.value
        if groupName is not None:
            engine = _call("create")
            engine["groups"]["5"] = []
            _save(engine)

    def GetId(self) -> ctypes.c_void_p:  # noqa: N802
        """Give its number."""
        return ctypes.c_void_p(self._id)

    def AddGpu(self, index: int) -> None:  # noqa: N802
        """Add a board."""
        engine = _call("add")
        engine["groups"][str(self._id)].append(index)
        _save(engine)

    def WatchJobFields(self, every_us: int, keep_s: int, samples: int) -> None:  # noqa: N802
        """Watch."""
        _call(f"watch {every_us} {keep_s} {samples}")

    def StartJobStats(self, job: str) -> None:  # noqa: N802
        """Begin a record."""
        engine = _call("start")
        engine["jobs"][job] = [time.time_ns() // 1000, 0]
        _save(engine)

    def StopJobStats(self, job: str) -> None:  # noqa: N802
        """End a record."""
        engine = _call("stop")
        if job not in engine["jobs"]:
            raise DCGMError(-14)
        engine["jobs"][job][1] = time.time_ns() // 1000
        _save(engine)

    def GetJobStats(self, job: str) -> Any:  # noqa: N802
        """Read a record."""
        engine = _call("read")
        start_us, end_us = engine["jobs"][job]
        indexes = engine["groups"][str(self._id)]
        gpus = [_usage(index, start_us, end_us, engine["values"]) for index in indexes]
        return SimpleNamespace(numGpus=len(gpus), gpus=[*gpus, None, None])

    def RemoveJob(self, job: str) -> None:  # noqa: N802
        """Forget a record."""
        engine = _call("remove")
        del engine["jobs"][job]
        _save(engine)

    def Delete(self) -> None:  # noqa: N802
        """Remove the group."""
        engine = _call("delete")
        del engine["groups"][str(self._id)]
        _save(engine)


def _usage(index: int, start_us: int, end_us: int, values: dict[str, Any]) -> Any:
    def average(name: str) -> Any:
        return SimpleNamespace(average=values[name])

    return SimpleNamespace(
        gpuId=index,
        startTime=start_us,
        endTime=end_us,
        energyConsumed=values["energy"],
        powerUsage=average("power"),
        smClock=average("clock"),
        smUtilization=average("sm"),
        memoryUtilization=average("mem"),
        numComputePids=values["compute"],
        numGraphicsPids=0,
    )
