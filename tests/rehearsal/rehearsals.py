"""Rehearsals for the tests: plans as text, real processes, and what they leave behind."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from tallystick.emit.spool import Spool, make_spool
from tallystick.rehearsal.attempt import Ground
from tallystick.rehearsal.facts import Facts
from tallystick.rehearsal.journal import JournalTail
from tallystick.rehearsal.local import LocalRoute
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.read_plan import read_plan
from tallystick.rehearsal.rehearse import Outcome, jobs_of, rehearse
from tallystick.rehearsal.route import Job, Route

RUN = "r"
TWIN = "r.uninterrupted"
TRAINER = "[job.trainer]\nworkers = 2\nsteps = 12\nsave_every = 4\n"
STEP_5 = '[[fault]]\nwhen = "step"\nstep = 5\n'
HEAD = """
schema = "tallystick.plan/1"
run = "r"
contract = "contract.toml"
provider = "Example Cloud"
"""
ALLOCATION = '[allocation]\ngpu_count = 2\ngpu_type = "H100"\n'


def plan_of(*parts: str, job: str = TRAINER, faults: str = STEP_5, top: str = "") -> Plan:
    """Make a plan of parts; ``top`` are keys of the plan itself."""
    return read_plan(plan_text(*parts, job=job, faults=faults, top=top))


def plan_text(*parts: str, job: str = TRAINER, faults: str = STEP_5, top: str = "") -> bytes:
    """Write the plan of ``plan_of``."""
    return "\n".join([HEAD, top, job, ALLOCATION, faults, *parts]).encode()


def python_job(folder: Path, program: str, result: str = "result") -> str:
    """Keep a Python program as the job of a plan; its working folder is that of the run."""
    (folder / "job.py").write_text(program)
    return (
        f'[job]\ncommand = [{json.dumps(sys.executable)}, "{{plan}}/job.py"]\n'
        f"result = {json.dumps(result)}\n"
    )


@dataclass
class Done:
    """A rehearsal that was done, and what it left."""

    outcome: Outcome
    jobs: tuple[Job, Job]
    said: list[str]
    own: list[dict[str, Any]] = field(default_factory=list)
    """Records of the rehearsal itself, in order."""

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        """Give the bodies of the rehearsal's own records of a kind."""
        return [record["body"] for record in self.own if record["kind"] == kind]

    def ended_by(self, run: str = RUN) -> list[str]:
        """Tell how the attempts of a run ended."""
        attempts = [b["attempt"] for b in self.bodies("allocation.started") if b["run"] == run]
        ends = {b["attempt"]: b["ended_by"] for b in self.bodies("allocation.ended")}
        return [ends[attempt] for attempt in attempts]

    def journal(self, attempt: str) -> list[dict[str, Any]]:
        """Read what the job itself reported in an attempt."""
        return list(JournalTail(self.jobs[0].spool, attempt).read())

    def restored(self) -> list[int]:
        """Tell from which step each attempt of the run went on."""
        return [
            record["body"]["step"]
            for body in self.bodies("allocation.started")
            if body["run"] == RUN
            for record in self.journal(body["attempt"])
            if record["kind"] == "checkpoint.restored"
        ]

    def codes(self) -> list[str]:
        """Give the codes of what was found."""
        return [finding.code for finding in self.outcome.findings]


def ground_of(plan: Plan, out: Path, route: Route | None = None) -> tuple[Ground, list[str]]:
    """Prepare to rehearse in a folder; gives the list of what will be said, too."""
    said: list[str] = []
    spool = out / "spool"
    make_spool(spool)
    facts = Facts(Spool(spool, "rehearsal/test"), plan)
    return Ground(plan, route or LocalRoute(plan), facts, Event(), said.append), said


def laid_out(plan: Plan, folder: Path) -> tuple[Job, Job]:
    """Make the folders of both jobs."""
    jobs = jobs_of(plan, folder, folder / "out")
    for job in jobs:
        job.folder.mkdir(parents=True)
        job.logs.mkdir(parents=True)
    return jobs


def rehearsed(plan: Plan, folder: Path, route: Route | None = None) -> Done:
    """Rehearse a plan whose file is in a folder."""
    jobs = laid_out(plan, folder)
    ground, said = ground_of(plan, folder / "out", route)
    outcome = rehearse(ground, jobs)
    return Done(outcome, jobs, said, own_records(folder / "out"))


def own_records(out: Path) -> list[dict[str, Any]]:
    """Read what the rehearsal itself put into its spool."""
    waiting = out / "spool" / str(os.geteuid()) / "new"
    files = sorted(waiting.iterdir(), key=lambda path: path.name.split(".")[2])
    return [json.loads(path.read_bytes()) for path in files]


def processes_with(name: str, value: str) -> Iterator[int]:
    """Find processes by their environment, without any of the code that is tested."""
    item = f"{name}={value}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            found = item in (entry / "environ").read_bytes().split(b"\0")
            is_over = (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            continue
        if found and not is_over:
            yield int(entry.name)
