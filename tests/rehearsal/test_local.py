"""The local route: what a keeper holds, and that nothing outlives it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tallystick.rehearsal.errors import (
    JobNotStartedError,
    NoTargetError,
    RouteUnavailableError,
    SurvivorsError,
)
from tallystick.rehearsal.kept import ATTEMPT_VARIABLE, Kept, end_marked
from tallystick.rehearsal.local import LocalRoute, check_available
from tallystick.rehearsal.processes import status
from tallystick.rehearsal.route import Gone, Job, Started
from tests.rehearsal.rehearsals import laid_out, plan_of, processes_with

FAMILY = """
import os, signal, subprocess, sys, time
from pathlib import Path
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
subprocess.Popen(sleeper, env={**os.environ, "RANK": "1"}, start_new_session=True)
between = os.fork()
if between == 0:  # A daemon: its parent ends, and it has a session of its own.
    os.setsid()
    if os.fork() == 0:
        subprocess.Popen(sleeper)
        Path("daemon").touch()
        time.sleep(600)
    os._exit(0)
os.waitpid(between, 0)
while not Path("daemon").exists():
    time.sleep(0.01)
Path("ready").touch()
time.sleep(600)
"""


@pytest.fixture
def route() -> Iterator[LocalRoute]:
    """Give a route that is closed in the end."""
    made = LocalRoute(plan_of())
    yield made
    made.close()


def job_of(folder: Path, program: str) -> Job:
    """Make a job of a Python program."""
    _, job = laid_out(plan_of(), folder)
    return replace(job, argv=(sys.executable, "-c", program))


def started(route: LocalRoute, job: Job, number: int = 1) -> Started:
    """Start an attempt of a job."""
    attempt = route.start(job, number)
    assert attempt is not None
    return attempt


def gone(route: LocalRoute, attempt: Started) -> Gone:
    """Wait for the end of an attempt."""
    while (found := route.look(attempt).gone) is None:
        time.sleep(0.01)
    return found


def ready(job: Job) -> None:
    """Wait until a job says that it is ready."""
    while not (job.folder / "ready").exists():
        time.sleep(0.01)


def leader_of(attempt: Started) -> int:
    """Give the number of the process that was started."""
    return int(attempt.ids[0].removeprefix("pid:").split("@")[0])


def keeper_of(attempt: Started) -> int:
    """Give the number of its keeper."""
    found = status(leader_of(attempt))
    assert found is not None
    return found.parent


def running(attempt: Started) -> list[int]:
    """Find all that was started for an attempt."""
    return list(processes_with("TALLYSTICK_ATTEMPT", attempt.attempt))


def test_a_job_ends_as_it_ends(route: LocalRoute, tmp_path: Path) -> None:
    """Exit code or signal; what it printed is in its log."""
    job = job_of(tmp_path, "print('said'); raise SystemExit(3)")
    killed = job_of(tmp_path / "b", "import os; os.kill(os.getpid(), 9)")

    attempt = started(route, job)

    end = gone(route, attempt)
    assert (end.exit_code, end.signal) == (3, None)
    assert (job.logs / "attempt-1.log").read_text() == "said\n"
    assert gone(route, started(route, killed, 2)).signal == 9


def test_what_a_job_leaves_behind_is_ended_with_it(route: LocalRoute, tmp_path: Path) -> None:
    """Children in sessions of their own, and daemons, are gone when the attempt is."""
    job = job_of(tmp_path, FAMILY)
    attempt = started(route, job)
    ready(job)
    assert len(running(attempt)) == 4

    os.kill(leader_of(attempt), signal.SIGKILL)

    assert gone(route, attempt).signal == 9
    assert running(attempt) == []


def test_closing_ends_everything(route: LocalRoute, tmp_path: Path) -> None:
    """A job that ignores what it is told is ended all the same; twice is once."""
    job = job_of(tmp_path, FAMILY)
    attempt = started(route, job)
    ready(job)

    route.close()
    route.close()

    assert running(attempt) == []


def test_ending_an_attempt_is_followed_by_its_end(route: LocalRoute, tmp_path: Path) -> None:
    """Every process of it is killed by its id."""
    job = job_of(tmp_path, FAMILY)
    attempt = started(route, job)
    ready(job)

    acts = route.end(attempt)

    assert gone(route, attempt).signal == 9
    assert {act.act for act in acts} == {"SIGKILL"}
    assert attempt.ids[0] in {act.id for act in acts}
    assert route.end(attempt) == ()
    assert route.notice(attempt) == ()


def test_the_death_of_a_keeper_ends_its_job(route: LocalRoute, tmp_path: Path) -> None:
    """Whoever kills the keeper gets no job that runs on without one."""
    job = job_of(tmp_path, FAMILY)
    attempt = started(route, job)
    ready(job)

    os.kill(keeper_of(attempt), signal.SIGKILL)

    assert gone(route, attempt).exit_code is None
    assert running(attempt) == []


def test_a_keeper_that_is_told_to_end_takes_its_job_along(
    route: LocalRoute, tmp_path: Path
) -> None:
    """SIGTERM is no way to be rid of the keeper alone."""
    job = job_of(tmp_path, FAMILY)
    attempt = started(route, job)
    ready(job)

    os.kill(keeper_of(attempt), signal.SIGTERM)

    gone(route, attempt)
    assert running(attempt) == []


def test_a_keeper_that_hangs_does_not_save_its_job(tmp_path: Path) -> None:
    """It is ended itself, and the job is found by the key in its environment."""
    environment = {**os.environ, ATTEMPT_VARIABLE: "one that hangs"}
    argv = [sys.executable, "-c", "import time; time.sleep(600)"]
    asked = {"argv": argv, "environment": environment, "folder": str(tmp_path)}
    kept = Kept("one that hangs", {**asked, "log": str(tmp_path / "log")})
    found = status(kept.leader.pid)
    assert found is not None
    os.kill(found.parent, signal.SIGSTOP)

    kept.close(limit_s=0.0)

    assert list(processes_with(ATTEMPT_VARIABLE, "one that hangs")) == []
    assert status(found.parent) is None


def test_a_job_that_is_elsewhere_by_now_runs_on(route: LocalRoute, tmp_path: Path) -> None:
    """Asked with everything stopped: no is no, and nothing was killed."""
    job = job_of(tmp_path, FAMILY)
    attempt = started(route, job)
    ready(job)

    hit = route.interrupt(attempt, "all", lambda: False)

    assert hit is None
    assert route.look(attempt).gone is None
    assert len(running(attempt)) == 4


def test_everything_stands_still_while_the_route_asks(route: LocalRoute, tmp_path: Path) -> None:
    """What is asked then is true when the kill comes."""
    job = job_of(tmp_path, FAMILY)
    attempt = started(route, job)
    ready(job)
    states: list[str] = []

    def still() -> bool:
        for pid in running(attempt):
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            states.append(stat.rpartition(")")[2].split()[0])
        return True

    hit = route.interrupt(attempt, "all", still)

    gone(route, attempt)
    assert states == ["T"] * 4
    assert hit is not None
    assert [act.act for act in hit] == ["SIGSTOP"] * 4 + ["SIGKILL"] * 4
    assert running(attempt) == []


def test_a_worker_is_known_by_its_rank(route: LocalRoute, tmp_path: Path) -> None:
    """Only it is killed; a rank that nobody has is told by name."""
    job = job_of(tmp_path, FAMILY)
    attempt = started(route, job)
    ready(job)

    with pytest.raises(NoTargetError, match="rank:2") as caught:
        route.interrupt(attempt, "rank:2", lambda: True)
    hit = route.interrupt(attempt, "rank:1", lambda: True)

    assert caught.value.code == "rehearsal_no_target"
    assert hit is not None
    (killed,) = [act.id for act in hit if act.act == "SIGKILL"]
    while any(f"pid:{pid}@" in killed for pid in running(attempt)):
        time.sleep(0.01)
    assert len(running(attempt)) == 3


def test_a_program_that_cannot_be_run_is_told(route: LocalRoute, tmp_path: Path) -> None:
    """With the reason of the system, and no keeper is left."""
    job = replace(job_of(tmp_path, ""), argv=("/nowhere",))

    with pytest.raises(JobNotStartedError, match="no such file"):
        route.start(job, 1)


def test_every_attempt_has_a_key_of_its_own(route: LocalRoute, tmp_path: Path) -> None:
    """It names the machine, its boot, the rehearsal, the run and the number."""
    job = job_of(tmp_path, "")

    first = started(route, job)
    second = started(route, job, 2)

    assert first.attempt.startswith("local:")
    assert first.attempt.endswith(":r:1")
    assert second.attempt == f"{first.attempt[:-1]}2"


def test_a_job_has_the_environment_of_the_caller_but_for_its_rank(
    monkeypatch: pytest.MonkeyPatch, route: LocalRoute, tmp_path: Path
) -> None:
    """A rehearsal within another job is no worker of it."""
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("TALLYSTICK_TEST", "kept")
    names = "RANK", "TALLYSTICK_TEST", "TALLYSTICK_RUN_ID"
    job = job_of(tmp_path, f"import os; print([os.environ.get(each) for each in {names}])")

    gone(route, started(route, job))

    assert (job.logs / "attempt-1.log").read_text() == "[None, 'kept', 'r']\n"


def test_a_result_outside_the_folder_of_the_run_is_none(route: LocalRoute, tmp_path: Path) -> None:
    """A link to another file is not the job's result."""
    job = job_of(tmp_path, "")
    (job.folder / "real").write_bytes(b"1")
    (job.folder / "link").symlink_to("/etc/passwd")

    assert route.result(job, "real") == job.folder / "real"
    assert route.result(job, "link") is None
    assert route.result(job, "nothing") is None


def test_what_it_would_do_can_be_read(route: LocalRoute, tmp_path: Path) -> None:
    """The command as a shell would take it, its folder, and every signal."""
    job = replace(job_of(tmp_path, ""), argv=("a", "b c"))

    text = "\n".join(route.touches(job))

    assert "'b c'" in text
    assert str(job.folder) in text
    assert {"SIGTERM", "SIGSTOP", "SIGCONT", "SIGKILL"} <= set(text.replace(",", " ").split())
    assert "start time" in "\n".join(route.never_touches())


def test_a_machine_that_cannot_hold_processes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another system, or a kernel without handles for processes."""
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(RouteUnavailableError, match="expected Linux") as caught:
        check_available()
    monkeypatch.undo()

    def refuse(pid: int) -> int:
        raise OSError(38, f"no handle for {pid}")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    with pytest.raises(RouteUnavailableError, match=r"Linux 5\.3"):
        check_available()

    assert caught.value.code == "rehearsal_route_unavailable"


def test_what_cannot_be_ended_is_named() -> None:
    """A process that is still there when the time is over is told by its id."""
    argv = (sys.executable, "-c", "import time; time.sleep(600)")
    marked = {**os.environ, ATTEMPT_VARIABLE: "an attempt of this test"}
    with subprocess.Popen(argv, env=marked) as process:
        found = status(process.pid)
        with pytest.raises(SurvivorsError) as caught:
            end_marked("an attempt of this test", limit_s=0)

    assert found is not None
    assert found.process.id in str(caught.value)
    assert caught.value.code == "rehearsal_survivors"
