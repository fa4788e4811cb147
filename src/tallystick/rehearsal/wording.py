"""A plan in sentences, for whoever has to approve of it."""

from tallystick.core.quantity import seconds_text
from tallystick.rehearsal.plan import Fault, Limits


def fault_sentence(number: int, fault: Fault) -> str:
    """Say where a fault comes, what it does, and what follows."""
    parts = [f"attempt {number}, {_place(fault)}"]
    if fault.notice_us is not None:
        parts.append(f"notice {_seconds(fault.notice_us)} before")
    target = "all of the job" if fault.target == "all" else f"the worker with {_rank(fault)}"
    parts.append(f"{target} is killed")
    parts.append(f"the attempt counts as ended by {fault.ended_by}")
    if fault.wait_us:
        parts.append(f"the next one waits {_seconds(fault.wait_us)}")
    return "; ".join(parts)


def limit_sentences(limits: Limits) -> list[str]:
    """Say when something is given up."""
    fruitless = limits.restarts_without_progress_max
    return [
        f"a run after {limits.attempts_max} attempts, or {fruitless} that saved nothing new",
        f"an attempt after {_seconds(limits.attempt_us)}",
        f"what is left of an attempt {_seconds(limits.detection_us)} after its fault",
    ]


def _place(fault: Fault) -> str:
    match fault.when:
        case "step":
            return f"after step {fault.step}"
        case "saving":
            which = "a save" if fault.step is None else f"the save of step {fault.step}"
            return f"in the middle of {which}"
        case "before_first_save":
            return f"after step {fault.step or 1}, before anything was saved"
        case "restoring":
            return "while it restores"
        case "time":
            return f"{_seconds(fault.after_us or 0)} after its start"


def _rank(fault: Fault) -> str:
    return f"RANK={fault.target.removeprefix('rank:')}"


def _seconds(duration_us: int) -> str:
    return f"{seconds_text(duration_us).rstrip('0').rstrip('.')} s"
