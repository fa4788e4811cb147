"""What is submitted: the options of sbatch, and the script of an attempt. Pure."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tallystick.core.instant import SECOND_US
from tallystick.emit.slurm.call import stated_run
from tallystick.rehearsal.places import SlurmPlace
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.route import Job
from tallystick.rehearsal.trained import ENDED_ON_NOTICE

FOLDER: Final = "slurm"
"""Below the logs of a job: its script, and what each attempt says of itself."""
SCRIPT: Final = "job.sh"
NOTED: Final = "jobs"
"""Which jobs were submitted, for people."""
TASK_PROLOG: Final = "task-prolog.sh"
_MINUTE_US: Final = 60 * SECOND_US

_SCRIPT: Final = """\
#!/bin/bash
# One attempt of a rehearsal. Slurm runs this again when the job was taken back.
folder={folder}
this=$SLURM_JOB_ID-${{SLURM_RESTART_COUNT:-0}}
exec >>{logs}/attempt-$this.log 2>&1
# Notice is for the command; this waits for it.
trap : TERM CONT USR1 USR2
began=$(date +%s)
node=slurm:$SLURM_CLUSTER_NAME:$SLURM_JOB_ID@$SLURMD_NODENAME
# Where there are hooks, they have named the attempt.
export TALLYSTICK_ATTEMPT=${{TALLYSTICK_ATTEMPT:-$node:${{SLURM_JOB_START_TIME:-$began}}}}
# Hooks also name the spool of the node, which the rehearsal does not see.
export TALLYSTICK_SPOOL={spool}
export SLURM_TASK_PROLOG=$folder/{task_prolog}
printf '%s %s\\n' "$began" "$TALLYSTICK_ATTEMPT" >"$folder/$this.draft" &&
mv "$folder/$this.draft" "$folder/$this.began"
{command}
status=$?
printf '%s\\n' "$status" >"$folder/$this.draft" && mv "$folder/$this.draft" "$folder/$this.ended"
# It saved because of a notice: what gave it takes the job back.
if [ "$status" = {on_notice} ]; then sleep {wait_s} & wait $!; fi
# Accounting has whole seconds: what the job said last lies before its end.
sleep 1
exit "$status"
"""
_PROLOG: Final = """\
#!/bin/sh
echo {export}
"""


def script_text(job: Job, plan: Plan, place: SlurmPlace) -> str:
    """Write the script of a job."""
    return _SCRIPT.format(
        folder=shlex.quote(str(job.logs / FOLDER)),
        logs=shlex.quote(str(job.logs)),
        spool=shlex.quote(str(job.spool)),
        task_prolog=TASK_PROLOG,
        command=shlex.join((*_launcher(plan, place), *job.argv)),
        on_notice=ENDED_ON_NOTICE,
        wait_s=-(-plan.limits.detection_us // SECOND_US),
    )


def task_prolog_text(job: Job) -> str:
    """Write what Slurm runs before each task, after the hooks of the node."""
    return _PROLOG.format(export=shlex.quote(f"export TALLYSTICK_SPOOL={job.spool}"))


def _launcher(plan: Plan, place: SlurmPlace) -> tuple[str, ...]:
    """Say how the command is started: notice by pre-emption reaches steps only."""
    if place.launch == "batch":
        return ()
    # The trainer is one task, which starts its workers itself.
    return ("srun",) if plan.job.trainer is None else ("srun", "--nodes=1", "--ntasks=1")


def submit_argv(job: Job, plan: Plan, place: SlurmPlace, name: str) -> tuple[str, ...]:
    """Give the command that submits a job; what the rehearsal relies on comes last and counts."""
    minutes = -(-plan.limits.attempt_us // _MINUTE_US)
    comment = f"tallystick.run={job.run}"
    return (
        *("sbatch", "--parsable", f"--time={minutes}"),
        *_whose(place, place.partition),
        *(() if place.qos is None else (f"--qos={place.qos}",)),
        *place.options,
        # So the pre-empting job, which asks for its nodes, can hit nobody else.
        *(() if place.preempting_partition is None else ("--exclusive",)),
        *(f"--job-name={name}", "--requeue", "--export=ALL", f"--chdir={job.folder}"),
        *(f"--output={job.logs / FOLDER / 'batch-%j.log'}", "--open-mode=append"),
        *((f"--comment={comment}",) if stated_run(comment) == job.run else ()),
        str(job.logs / FOLDER / SCRIPT),
    )


def preempt_argv(place: SlurmPlace, name: str, nodes: str, count: str) -> tuple[str, ...]:
    """Give the command that submits the job which pre-empts another: its nodes, for a second."""
    return (
        *("sbatch", "--parsable", "--time=1"),
        *_whose(place, place.preempting_partition),
        *place.preempting_options,
        *("--exclusive", f"--nodes={count}", f"--nodelist={nodes}"),
        *(f"--job-name={name}", "--no-requeue", "--export=NONE", "--output=/dev/null"),
        *("--chdir=/", "--wrap=sleep 1"),
    )


def notice_argv(place: SlurmPlace, job_id: str) -> tuple[str, ...]:
    """Give the command that tells a job by SIGTERM."""
    to_all = ("--full",) if place.launch == "batch" else ()
    return ("scancel", "--signal=TERM", *to_all, job_id)


def requeue_argv(job_id: str) -> tuple[str, ...]:
    """Give the command that takes a job back; it will run again."""
    return ("scontrol", "requeue", job_id)


def cancel_argv(job_id: str) -> tuple[str, ...]:
    """Give the command that ends a job for good."""
    return ("scancel", job_id)


def _whose(place: SlurmPlace, partition: str | None) -> Sequence[str]:
    stated = {"--partition": partition, "--account": place.account}
    return [f"{key}={value}" for key, value in stated.items() if value is not None]


def read_began(path: Path) -> tuple[int, str] | None:
    """Read when an attempt began and what its key is; None if that is not there, or no such."""
    try:
        began_s, key = path.read_text(encoding="utf-8").rstrip("\n").split(" ", 1)
        return int(began_s), key
    except (OSError, ValueError):
        return None


def read_status(path: Path) -> int | None:
    """Read the exit status of an attempt's command; None if it was killed."""
    try:
        return int(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
