"""Reading a plan from the bytes of its file, with all mistakes at once.

A key that is not known is a mistake too: a limit with a misspelt name would not be kept.
"""

import re
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Final, get_args

from tallystick.contract.document import contract_document, contract_text
from tallystick.contract.errors import BadContractError
from tallystick.contract.parse import located
from tallystick.contract.table import Note, Table
from tallystick.contract.wording import describe, one_of, suggestion
from tallystick.core.canonical import sha256_digest
from tallystick.core.instant import DAY_US, SECOND_US
from tallystick.rehearsal.errors import BadPlanError
from tallystick.rehearsal.places import (
    KUBERNETES_KEYS,
    SLURM_KEYS,
    read_kubernetes,
    read_slurm,
)
from tallystick.rehearsal.plan import (
    SCHEMA,
    Allocation,
    Capacity,
    EndedBy,
    Fault,
    Limits,
    OnNotice,
    Plan,
    PlannedJob,
    RouteName,
    Trainer,
    When,
)
from tallystick.rehearsal.trained import RESULT

RUN_BYTES_MAX: Final = 80  # An attempt key has room for it, a host, and more.
FAULTS_MAX: Final = 20
ATTEMPTS_MAX: Final = 100
WORKERS_MAX: Final = 64
STEPS_MAX: Final = 1_000_000
STEP_MS_MAX: Final = 60_000
GPUS_MAX: Final = 1_000_000
WAIT_MAX_US: Final = 7 * DAY_US

_ROUTES: Final[tuple[RouteName, ...]] = get_args(RouteName)
_WHENS: Final[tuple[When, ...]] = get_args(When)
_ENDED_BY: Final[tuple[EndedBy, ...]] = get_args(EndedBy)
_ON_NOTICE: Final[tuple[OnNotice, ...]] = get_args(OnNotice)
_CAPACITIES: Final[tuple[Capacity, ...]] = get_args(Capacity)
_SECONDS: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,6}))?")
_DECIMAL: Final = re.compile(r"[0-9]{1,18}(\.[0-9]{1,60})?")
_TARGET: Final = re.compile(r"all|rank:(0|[1-9][0-9]{0,5})")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_KNOWN: Final = {
    "": (
        *("schema", "run", "route", "contract", "provider", "promised_notice_s", "tolerance"),
        *("job", "allocation", "limits", "fault", "slurm", "kubernetes"),
    ),
    "job": ("command", "environment", "result", "trainer"),
    "trainer": ("workers", "steps", "save_every", "seed", "step_ms", "on_notice"),
    "allocation": ("gpu_count", "gpu_type", "capacity", "zone", "tier"),
    "limits": ("attempts_max", "restarts_max_without_progress", "attempt_s", "detection_s"),
    "fault": ("when", "step", "after_s", "target", "notice_s", "wait_s", "ended_by"),
    "slurm": SLURM_KEYS,
    "kubernetes": KUBERNETES_KEYS,
}


def read_plan(data: bytes, name: str = "plan") -> Plan:
    """Read a plan.

    Args:
        data: The bytes of the file; their digest becomes part of the record.
        name: The file's name, for messages.

    Raises:
        BadPlanError: it is no TOML, or it has mistakes; the error has all of them.
    """
    try:
        text = contract_text(data, name)
        document = contract_document(text, name)
    except BadContractError as error:
        raise BadPlanError(error.mistakes) from error
    notes: list[Note] = []
    plan = _plan(Table(document, (), notes), sha256_digest(data))
    if notes:
        raise BadPlanError(located(notes, text, name))
    return plan


def _plan(top: Table, digest: str) -> Plan:
    _only_known(top, "")
    schema = top.text("schema")
    if schema and schema != SCHEMA:
        top.note("schema", f"expected {SCHEMA!r}, got {describe(schema)}")
    route = top.word("route", _ROUTES, "local")
    for place in ("slurm", "kubernetes"):
        if place in top and place != route:
            top.note(place, f"expected no such table with route {route!r}")
    tolerance = _tolerance(top)
    return Plan(
        run=_run(top),
        route=route,
        job=_job(top.table("job")),
        allocation=_allocation(top.table("allocation")),
        faults=_faults(top, "scheduler" if route == "slurm" else "provider"),
        limits=_limits(top.table("limits")),
        tolerance=Fraction(tolerance),
        tolerance_text=tolerance,
        promised_notice_us=_seconds_us(top, "promised_notice_s"),
        contract=_printable(top, "contract", top.text("contract")),
        provider=_optional_printable(top, "provider"),
        slurm=read_slurm(_place(top, "slurm")) if route == "slurm" else None,
        kubernetes=read_kubernetes(_place(top, "kubernetes")) if route == "kubernetes" else None,
        digest=digest,
    )


def _only_known(table: Table, name: str) -> None:
    known = _KNOWN[name]
    for key in table.others(known):
        table.note(key, f"unknown key{suggestion(key, known)}")


def _place(top: Table, name: str) -> Table:
    table = top.table(name)
    _only_known(table, name)
    return table


def _run(top: Table) -> str:
    run = _printable(top, "run", top.text("run"))
    if len(run.encode(errors="replace")) > RUN_BYTES_MAX:
        top.note("run", f"expected at most {RUN_BYTES_MAX} bytes, got more")
    return run


def _printable(table: Table, key: str, text: str) -> str:
    if not text.isprintable():
        table.note(key, f"expected printable characters only, got {describe(text)}")
    return text


def _optional_printable(table: Table, key: str) -> str | None:
    text = table.optional_text(key)
    return None if text is None else _printable(table, key, text)


def _job(table: Table) -> PlannedJob:
    _only_known(table, "job")
    command = table.words("command") or ()
    if ("command" in table) == ("trainer" in table):
        table.note("command", "expected either a command or [job.trainer]")
    elif "command" in table and not (command and command[0]):
        table.note("command", "expected a list of a program and its arguments")
    if any("\0" in argument for argument in command):
        table.note("command", "expected no NUL character in it")
    return PlannedJob(
        trainer=_trainer(table.table("trainer")) if "trainer" in table else None,
        command=command,
        environment=_environment(table),
        result=_result(table),
    )


def _environment(job: Table) -> tuple[tuple[str, str], ...]:
    table = job.table("environment")
    found = []
    for key in table.others(()):
        value = table.optional_text(key)
        if _NAME.fullmatch(key) is None or key.startswith("TALLYSTICK_"):
            table.note(key, "expected the name of a variable that does not begin with TALLYSTICK_")
        elif value is not None and "\0" in value:
            table.note(key, "expected no NUL character in it")
        elif value is not None:
            found.append((key, value))
    return tuple(found)


def _result(job: Table) -> str:
    if "trainer" in job:
        if "result" in job:
            job.note("result", f"the trainer's own is {RESULT!r}; leave this out")
        return RESULT
    result = job.text("result")
    path = PurePosixPath(result)
    if result and (path.is_absolute() or ".." in path.parts or not path.name):
        job.note("result", "expected the path of a file below the folder of the run")
    return _printable(job, "result", result)


def _trainer(table: Table) -> Trainer:
    _only_known(table, "trainer")
    steps = table.optional_integer("steps", 40, least=1, most=STEPS_MAX)
    return Trainer(
        workers=table.optional_integer("workers", 2, least=1, most=WORKERS_MAX),
        steps=steps,
        save_every=table.optional_integer("save_every", 10, least=1, most=STEPS_MAX),
        seed=table.optional_integer("seed", 1, least=0, most=2**32 - 1),
        step_ms=table.optional_integer("step_ms", 0, least=0, most=STEP_MS_MAX),
        on_notice=table.word("on_notice", _ON_NOTICE, "end"),
    )


def _allocation(table: Table) -> Allocation:
    _only_known(table, "allocation")
    return Allocation(
        gpu_count=table.optional_integer("gpu_count", 1, least=1, most=GPUS_MAX),
        gpu_type=_printable(table, "gpu_type", table.text("gpu_type")),
        capacity=table.word("capacity", _CAPACITIES, "spot"),
        zone=_optional_printable(table, "zone"),
        tier=_optional_printable(table, "tier"),
    )


def _limits(table: Table) -> Limits:
    _only_known(table, "limits")
    return Limits(
        attempts_max=table.optional_integer("attempts_max", 5, least=1, most=ATTEMPTS_MAX),
        restarts_without_progress_max=table.optional_integer(
            "restarts_max_without_progress", 3, least=1, most=ATTEMPTS_MAX
        ),
        attempt_us=_positive_us(table, "attempt_s", 600 * SECOND_US),
        detection_us=_positive_us(table, "detection_s", 60 * SECOND_US),
    )


def _faults(top: Table, ended_by: EndedBy) -> tuple[Fault, ...]:
    tables = top.tables("fault")
    if not tables and "fault" not in top:
        top.note("fault", "missing, expected at least one [[fault]]")
    if len(tables) > FAULTS_MAX:
        top.note("fault", f"expected at most {FAULTS_MAX} faults, got {len(tables)}")
    return tuple(_fault(table, number, ended_by) for number, table in enumerate(tables, start=1))


def _fault(table: Table, number: int, ended_by: EndedBy) -> Fault:
    _only_known(table, "fault")
    if "when" not in table:
        table.note("when", f"missing, expected {one_of(_WHENS)}")
    when = table.word("when", _WHENS, "step")
    _check_fits(table, when, number)
    target = table.optional_text("target") or "all"
    if _TARGET.fullmatch(target) is None:
        table.note("target", f"expected 'all' or 'rank:N', got {describe(target)}")
    has_step = "step" in table
    return Fault(
        when=when,
        step=table.optional_integer("step", 1, least=1) if has_step else None,
        after_us=_seconds_us(table, "after_s"),
        target=target,
        notice_us=_seconds_us(table, "notice_s"),
        wait_us=_seconds_us(table, "wait_s") or 0,
        ended_by=table.word("ended_by", _ENDED_BY, ended_by),
    )


def _check_fits(table: Table, when: When, number: int) -> None:
    """Note what a kind of fault lacks or cannot have."""
    if when == "step" and "step" not in table:
        table.note("step", "missing, expected the step after which it comes")
    if when in {"restoring", "time"} and "step" in table:
        table.note("step", f"expected no step with when = {when!r}")
    if (when == "time") != ("after_s" in table):
        table.note("after_s", "expected with when = 'time', and only there")
    if when == "restoring" and number == 1:
        table.note("when", "the first attempt restores nothing: expected another fault before it")


def _tolerance(top: Table) -> str:
    text = top.optional_text("tolerance") or "0"
    if _DECIMAL.fullmatch(text) is None:
        top.note("tolerance", f'expected a decimal string like "0.001", got {describe(text)}')
        return "0"
    return text


def _positive_us(table: Table, key: str, default_us: int) -> int:
    value_us = _seconds_us(table, key)
    if value_us == 0:
        table.note(key, "expected more than 0 seconds")
    return default_us if value_us is None else value_us


def _seconds_us(table: Table, key: str) -> int | None:
    """Read seconds as a decimal string, None if they are absent or wrong."""
    text = table.optional_text(key)
    if text is None:
        return None
    match = _SECONDS.fullmatch(text)
    value_us = 0
    if match is not None:
        value_us = int(match[1]) * SECOND_US + int((match[2] or "").ljust(6, "0"))
    if match is None or value_us > WAIT_MAX_US:
        expected = f'seconds as a decimal string like "1.5", at most {WAIT_MAX_US // SECOND_US}'
        table.note(key, f"expected {expected}, got {describe(text)}")
        return None
    return value_us
