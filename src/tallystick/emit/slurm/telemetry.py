"""What DCGM is asked at the prolog and at the epilog, and what is written down of it.

Whatever goes wrong becomes a ``telemetry.problem``, so that a board without statistics has its
reason beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.emit.dcgm.engine import SECOND_US, Problem, Wish, clock_us

if TYPE_CHECKING:
    from tallystick.emit.dcgm.engine import Begun, Engine, Print
    from tallystick.emit.dcgm.process import EngineProcess
    from tallystick.emit.devices import Identity
    from tallystick.emit.settings import Settings
    from tallystick.emit.slurm.call import Call
    from tallystick.emit.slurm.held import Held
    from tallystick.emit.slurm.node import Place

SOURCE = "dcgm"
ENGINE = "nv-hostengine"
PRINT_BYTES_MAX = 48 << 10
_NAME_BYTES_MAX = 63
_CUT = "\n[cut: the first {kept} of {size} bytes]\n"


def begin_watch(key: str, call: Call, identity: Identity, place: Place) -> dict[str, Any] | None:
    """Begin to watch a job's GPUs; None where nothing can be watched."""
    if place.settings.dcgm == "off":
        return None
    if not identity.gpus:
        reason = identity.problem or "the attempt has no board that is known"
        code = "dcgm_mig" if "MIG" in reason else "dcgm_boards_unknown"
        _tell_problems(key, call, place, (Problem(code, reason),))
        return None
    uuids = tuple(uuid for uuid, _ in identity.gpus)
    if any(uuid.startswith("MIG-") for uuid in uuids):
        problem = Problem("dcgm_mig", "the engine keeps no statistics of MIG instances")
        _tell_problems(key, call, place, (problem,))
        return None
    return _watched(key, call, place, _wish(key, call, uuids, place.settings))


def _watched(key: str, call: Call, place: Place, wish: Wish) -> dict[str, Any] | None:
    from tallystick.emit.dcgm.claim import steady_us  # noqa: PLC0415 (start-up)
    from tallystick.emit.dcgm.process import engine_process  # noqa: PLC0415 (start-up)

    process = engine_process()
    steady_before_us = steady_us() - clock_us()
    engine, begun = _begun(wish, place)
    _tell_problems(key, call, place, begun.problems)
    if begun.watch_us is None:
        return None
    body = {
        "node": call.node,
        "source": SOURCE,
        "engine": ENGINE,
        "process": None if process is None else process.word,
        "cadence_us": wish.interval_ms * 1000,
        "keep_us": wish.keep_s * SECOND_US,
        "gpus": list(wish.uuids),
    }
    place.spool.put("telemetry.watch", body, begun.watch_us)
    assert begun.start_us is not None, "what is watched was begun"
    return {
        "job": wish.job,
        "group": begun.group,
        "process": body["process"],
        "start_us": begun.start_us,
        "steady_us": begun.start_us + steady_before_us,
        "interval_us": body["cadence_us"],
        "keep_us": body["keep_us"],
        "how": engine.how,
    }


def _wish(key: str, call: Call, uuids: tuple[str, ...], settings: Settings) -> Wish:
    """Name the job after its attempt, so that a requeued job is another one to the engine."""
    start = key.rpartition(":")[2]
    name = f"tallystick-{call.job_id}-{start}"
    return Wish(
        job=name[:_NAME_BYTES_MAX],
        uuids=uuids,
        interval_ms=max(1, settings.dcgm_interval_us // 1000),
        keep_s=max(1, settings.dcgm_keep_us // SECOND_US),
    )


def _begun(wish: Wish, place: Place) -> tuple[Engine, Begun]:
    """Begin, with ``dcgmi`` after all where nothing but the bindings' own loading failed."""
    engine = _engine(place.settings.dcgm, place.settings)
    begun = engine.begin(wish, place.deadline)
    codes = {problem.code for problem in begun.problems}
    if place.settings.dcgm == "auto" and "dcgm_bindings_unusable" in codes:
        engine = _engine("command", place.settings)
        again = engine.begin(wish, place.deadline)
        begun = again._replace(problems=(*begun.problems, *again.problems))
    return engine, begun


def _engine(how: str, settings: Settings) -> Engine:
    if how in {"auto", "bindings"}:
        from tallystick.emit.dcgm.bindings import (  # noqa: PLC0415 (start-up)
            FOLDERS,
            BindingsEngine,
            bindings_folder,
        )

        folder = bindings_folder()
        if folder is not None or how == "bindings":
            return BindingsEngine(folder or FOLDERS[0])
    from tallystick.emit.dcgm.command import CommandEngine  # noqa: PLC0415 (start-up)

    return CommandEngine(settings.path)


def finish_watch(held: Held, call: Call, place: Place) -> None:
    """Export what was watched: what the engine says, and what of it is the attempt's."""
    if held.watch is None or held.ended_us is None or place.settings.dcgm == "off":
        return
    from tallystick.emit.dcgm.claim import Window, claims, steady_us  # noqa: PLC0415 (start-up)
    from tallystick.emit.dcgm.process import engine_process  # noqa: PLC0415 (start-up)

    watch = held.watch
    _tell_restart(held.attempt, call, place, engine_process(), watch["process"])
    engine = _engine(watch["how"], place.settings)
    finished = engine.finish(watch["job"], watch["group"], place.deadline)
    window = Window(
        start_us=watch["start_us"],
        steady_us=watch["steady_us"],
        ended_us=held.ended_us,
        interval_us=watch["interval_us"],
        keep_us=watch["keep_us"],
    )
    now_steady_us = finished.stop_us + steady_us() - clock_us()
    uuids = tuple(uuid for uuid, _ in held.gpus)
    found = claims(finished, window, uuids, now_steady_us)
    for body in found.bodies:
        put = {"attempt": held.attempt, **body}
        place.spool.put("telemetry.job_stats", put, finished.read_us)
    _tell_problems(held.attempt, call, place, (*finished.problems, *found.problems))
    for each in finished.prints:
        _tell_print(held.attempt, call, place, each)


def _tell_restart(
    attempt: str, call: Call, place: Place, process: EngineProcess | None, before: str | None
) -> None:
    """Say when the engine began, if it is another one than the prolog saw."""
    if process is None or before is None or process.word == before:
        return
    message = f"the engine was {before} at the prolog and is {process.word}"
    _tell_problems(attempt, call, place, (Problem("dcgm_engine_restarted", message),))
    if process.started_us is not None:
        body = {"node": call.node, "engine": ENGINE, "process": process.word}
        place.spool.put("telemetry.engine_started", body, process.started_us)


def _tell_problems(key: str, call: Call, place: Place, problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        body = {
            "attempt": key,
            "node": call.node,
            "source": SOURCE,
            "code": problem.code,
            "message": problem.message,
        }
        place.spool.put("telemetry.problem", body, clock_us())


def _tell_print(key: str, call: Call, place: Place, each: Print) -> None:
    body = {
        "attempt": key,
        "node": call.node,
        "engine": ENGINE,
        "form": each.form,
        "status": each.status,
        "text": cut(each.text),
    }
    place.spool.put("telemetry.dcgm_print", body, clock_us())


def cut(text: str) -> str:
    """Shorten a text to what one record holds, and say that it was."""
    data = text.encode("utf-8", errors="backslashreplace")
    if len(data) <= PRINT_BYTES_MAX:
        return text
    mark = _CUT.format(kept=PRINT_BYTES_MAX, size=len(data))
    return data[:PRINT_BYTES_MAX].decode("utf-8", errors="ignore") + mark
