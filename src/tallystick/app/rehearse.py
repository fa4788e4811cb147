"""Rehearsing a plan: what it would do, doing it, and what is left of it in its folder.

Everything goes into one folder, which must be new or empty: the job's own files and logs, the
spool of the evidence, a store with it, receipts and bundles of both runs, and the packet.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tallystick.app.contracts import read_contracts
from tallystick.app.errors import UnwritableFileError
from tallystick.app.files import read_file, write_file
from tallystick.contract.document import CONTRACT_BYTES_MAX
from tallystick.emit.spool import Spool, make_spool
from tallystick.rehearsal.attempt import Ground
from tallystick.rehearsal.errors import RehearsalFolderError
from tallystick.rehearsal.facts import Facts
from tallystick.rehearsal.plan import Plan, RouteName
from tallystick.rehearsal.read_plan import read_plan
from tallystick.rehearsal.rehearse import Outcome, jobs_of, rehearse
from tallystick.rehearsal.route import Job, Route
from tallystick.rehearsal.wording import fault_sentence, limit_sentences

if TYPE_CHECKING:
    from tallystick.app.rehearsal_papers import Papers

ROUTES: Final[dict[RouteName, tuple[str, str]]] = {
    "local": ("tallystick.rehearsal.local", "LocalRoute"),
    "slurm": ("tallystick.rehearsal.slurm", "SlurmRoute"),
    "kubernetes": ("tallystick.rehearsal.kubernetes", "KubernetesRoute"),
}
"""Each route is made from the plan, and loaded when one asks for it."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A plan that was read, with what follows from it."""

    plan: Plan
    path: Path
    data: bytes
    """Of the plan, as it was read."""
    contract: Path
    contract_data: bytes
    out: Path
    route: Route
    jobs: tuple[Job, Job]
    """The uninterrupted one, and the one that faults hit."""


class Rehearsed(NamedTuple):
    """A rehearsal that was done."""

    outcome: Outcome
    papers: "Papers"


def load_rehearsal(path: Path, out: Path | None = None) -> Rehearsal:
    """Read a plan and its contract; nothing is started or written.

    Args:
        path: The plan.
        out: Where everything goes; None is ``NAME.rehearsal`` beside the plan.

    Raises:
        UnreadableFileError: the plan or its contract cannot be read.
        BadPlanError: the plan has mistakes.
        BadContractError: the contract has mistakes.
        TallystickError: its route is not available here.
    """
    data = read_file(str(path), bytes_max=CONTRACT_BYTES_MAX + 1)
    plan = read_plan(data, str(path))
    folder = path.absolute().parent
    contract = folder / plan.contract
    ((_, contract_data, _),) = read_contracts([str(contract)])
    place = (out or path.with_name(f"{path.stem}.rehearsal")).absolute()
    return Rehearsal(
        plan=plan,
        path=path,
        data=data,
        contract=contract,
        contract_data=contract_data,
        out=place,
        route=_route(plan),
        jobs=jobs_of(plan, folder, place),
    )


def run_rehearsal(
    rehearsal: Rehearsal, *, stop: Event, say: Callable[[str], None] = lambda _: None
) -> Rehearsed:
    """Rehearse, and write down what came of it.

    Args:
        rehearsal: What ``load_rehearsal`` gave.
        stop: Set when somebody asks to stop.
        say: Told what happens.

    Raises:
        RehearsalFolderError: its folder is in use.
        RehearsalStoppedError: somebody asked to stop.
        TallystickError: something cannot be started, ended or written.
    """
    from tallystick.app.rehearsal_papers import write_papers  # noqa: PLC0415 (needs SQLite)

    plan = rehearsal.plan
    _lay_out(rehearsal)
    spool = rehearsal.jobs[0].spool
    make_spool(spool)
    facts = Facts(Spool(spool, f"rehearsal/{socket.gethostname()}"), plan)
    outcome = rehearse(Ground(plan, rehearsal.route, facts, stop, say), rehearsal.jobs)
    say("receipts, bundles and packet")
    papers = write_papers(plan, rehearsal.route, rehearsal.out, spool)
    return Rehearsed(outcome, papers)


def _route(plan: Plan) -> Route:
    module, name = ROUTES[plan.route]
    route: Route = getattr(import_module(module), name)(plan)
    return route


def _lay_out(rehearsal: Rehearsal) -> None:
    """Make the folder, closed to others, with all that has to be there before the first attempt.

    Raises:
        RehearsalFolderError: it holds something already.
        UnwritableFileError: it cannot be made.
    """
    out = rehearsal.out
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise RehearsalFolderError(str(out))
        for job in rehearsal.jobs:
            job.folder.mkdir(parents=True)
            job.logs.mkdir(parents=True)
    except OSError as error:
        raise UnwritableFileError(str(out), (error.strerror or str(error)).lower()) from error
    write_file(out / "plan.toml", rehearsal.data)
    write_file(out / "contract.toml", rehearsal.contract_data)


def preview(rehearsal: Rehearsal) -> dict[str, Any]:
    """Say what a rehearsal would start, touch and write, and what it would leave alone."""
    plan = rehearsal.plan
    return {
        "plan": str(rehearsal.path),
        "digest": plan.digest,
        "route": plan.route,
        "out": str(rehearsal.out),
        "contract": str(rehearsal.contract),
        "runs": [_job_json(rehearsal.route, job) for job in rehearsal.jobs],
        "faults": [fault_sentence(number, each) for number, each in enumerate(plan.faults, 1)],
        "limits": limit_sentences(plan.limits),
        "never": list(rehearsal.route.never_touches()),
        "tolerance": plan.tolerance_text,
    }


def _job_json(route: Route, job: Job) -> dict[str, Any]:
    return {"run": job.run, "argv": list(job.argv), "touches": list(route.touches(job))}
