"""Tests for the handle that a training loop reports through."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

from tallystick.emit.progress.attach import attach
from tallystick.emit.progress.run import Run
from tests.emit.progress.jobs import events, kinds, new_run, steps, told

JOB = """
import os, sys, time
from tallystick import emit
run = emit.attach("r", attempt="a", spool=sys.argv[1])
run.restored(None)
"""


def job(code: str, spool: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a job in a process of its own; it says a line when it is where it should be."""
    return subprocess.Popen(
        [sys.executable, "-c", JOB + textwrap.dedent(code), str(spool)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(process: subprocess.Popen[str]) -> str:
    """Wait for a line of a job."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_what_was_reported_survives_sigkill(tmp_path: Path) -> None:
    """The moment the call returns, a step is kept, and so is all before it."""
    process = job(
        """
        for n in range(1, 1001):
            run.step(n)
        print("there", flush=True)
        time.sleep(600)
        """,
        tmp_path,
    )
    assert line_of(process) == "there"

    process.kill()
    process.communicate()

    assert [step for step, _ in steps(tmp_path)] == list(range(1, 1001))
    assert [each["producer"]["seq"] for each in told(tmp_path)] == list(range(1003))


def test_a_job_ends_with_its_last_step_reported(tmp_path: Path) -> None:
    """A stride saves reports up; the interpreter's end gives the last one out."""
    process = job("run._every = run._stride = 10\nfor n in range(1, 14): run.step(n)", tmp_path)
    process.communicate()

    assert process.returncode == 0
    assert steps(tmp_path) == [(10, 10), (13, 10)]


def test_every_step_is_a_report(tmp_path: Path) -> None:
    """One that is told twice in a row is one step."""
    run = new_run(tmp_path)
    run.restored("c7", 7)

    for step in (8, 8, 9):
        run.step(step)

    assert steps(tmp_path) == [(8, 1), (9, 1)]


def test_a_stride_bounds_what_is_not_reported(tmp_path: Path) -> None:
    """After a report the next comes a stride later at the latest."""
    run = new_run(tmp_path, every=4)
    run.restored(None)

    for step in range(1, 11):
        run.step(step)

    assert steps(tmp_path) == [(4, 4), (8, 4)]


def test_calls_that_are_further_apart_widen_the_stride(tmp_path: Path) -> None:
    """Who calls after every tenth step has not stated every step."""
    run = new_run(tmp_path)
    run.restored(None)

    run.step(10)
    run.step(20)

    assert steps(tmp_path) == [(10, 10), (20, 10)]


@pytest.mark.parametrize(("every", "gap"), [(1, 1), (1, 7), (5, 1), (25, 10), (10, 25)])
def test_no_step_is_further_from_its_report_than_the_stride_says(
    tmp_path: Path, every: int, gap: int
) -> None:
    """Whenever the job dies, the steps it had completed lie within the last report's stride."""
    run = new_run(tmp_path, every=every)
    run.restored(None)

    for step in range(1, 100):
        if step % gap == 0:
            run.step(step)
        reported = steps(tmp_path)
        if reported:
            last, stride = reported[-1]
            assert last <= step <= last + stride - 1


def test_a_rollback_is_reported_at_once(tmp_path: Path) -> None:
    """A step below the last one is news, whatever the stride."""
    run = new_run(tmp_path, every=10)
    run.restored(None)

    for step in (10, 3):
        run.step(step)

    assert steps(tmp_path) == [(10, 19), (3, 19)]


def test_a_save_tells_the_steps_before_it(tmp_path: Path) -> None:
    """What a checkpoint holds was completed, so it is reported first."""
    run = new_run(tmp_path, every=100)
    run.restored(None)
    run.step(1)
    run.step(2)

    with run.checkpoint(2):
        pass

    assert [each for each in kinds(tmp_path) if each.startswith(("progress.step", "check"))] == [
        "checkpoint.restored",
        "progress.step",
        "checkpoint.begun",
        "checkpoint.committed",
    ]


def test_a_wait_ends_when_its_block_does(tmp_path: Path) -> None:
    """Even by an exception, which goes on."""
    run = new_run(tmp_path)

    with pytest.raises(KeyError), run.waiting("checkpoint_storage"):
        raise KeyError

    assert kinds(tmp_path)[-2:] == ["progress.waiting", "progress.resumed"]
    assert events(tmp_path, "progress.waiting") == [{"reason": "checkpoint_storage"}]


def test_an_unknown_reason_is_other(tmp_path: Path) -> None:
    """The log has five words for it."""
    run = new_run(tmp_path)

    with run.waiting("coffee"):
        pass

    assert events(tmp_path, "progress.waiting") == [{"reason": "other"}]


def test_acceptance_names_the_run(tmp_path: Path) -> None:
    """And the output's digest and step, if they are stated."""
    run = new_run(tmp_path)

    run.accept("sha256:00", step=3)
    run.reject(by="judge", criterion="loss below 2")

    assert events(tmp_path, "output.accepted", "output.rejected") == [
        {"run": "r", "by": "job", "criterion": "finished", "step": 3, "digest": "sha256:00"},
        {"run": "r", "by": "judge", "criterion": "loss below 2"},
    ]


def test_threads_share_a_journal(tmp_path: Path) -> None:
    """Each line is whole, and each number is there once."""
    run = new_run(tmp_path)

    def report(first: int) -> None:
        for step in range(first, first + 500):
            run._report(step)  # noqa: SLF001 (any order)

    threads = [threading.Thread(target=report, args=(n * 1000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(steps(tmp_path)) == 2000
    assert [each["producer"]["seq"] for each in told(tmp_path)] == list(range(2002))


def test_a_signal_handler_may_report_in_the_middle_of_a_report(tmp_path: Path) -> None:
    """A notice comes whenever it likes, and saves."""
    process = job(
        """
        import signal
        def save(*_):
            with run.checkpoint(run._seen or 0):
                pass
            os._exit(0)
        signal.signal(signal.SIGTERM, save)
        print("there", flush=True)
        n = 0
        while True:
            n += 1
            run.step(n)
        """,
        tmp_path,
    )
    line_of(process)

    process.send_signal(signal.SIGTERM)
    process.communicate()

    assert process.returncode == 0
    assert kinds(tmp_path)[-1] == "checkpoint.committed"
    assert [each["producer"]["seq"] for each in told(tmp_path)] == list(range(len(told(tmp_path))))


def test_a_fork_is_a_writer_of_its_own(tmp_path: Path) -> None:
    """The parent goes on in its journal, and a child that says nothing has none."""
    process = job(
        """
        run.step(1)
        silent = os.fork()
        if silent == 0:
            os._exit(0)
        os.waitpid(silent, 0)
        child = os.fork()
        if child == 0:
            run.step(2)
            os._exit(0)
        os.waitpid(child, 0)
        run.step(3)
        """,
        tmp_path,
    )
    process.communicate()

    writers = {each["body"]["writer"] for each in told(tmp_path)}
    assert len(writers) == 2
    assert sorted(step for step, _ in steps(tmp_path)) == [1, 2, 3]


def test_ranks_but_the_first_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless they are asked to."""
    monkeypatch.setenv("RANK", "3")

    run = attach("r", attempt="a", spool=tmp_path)
    run.step(1)
    run.close()

    assert run.problem is None
    assert list(tmp_path.iterdir()) == []


def test_all_ranks_speak_beside_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their records have kinds of their own, so no step counts twice."""
    monkeypatch.setenv("RANK", "3")
    run = new_run(tmp_path, ranks="all")

    run.step(1)

    assert kinds(tmp_path) == ["rank.attempt.linked", "rank.progress.started", "rank.progress.step"]
    assert {each["body"]["rank"] for each in told(tmp_path)} == {3}


def test_both_clocks_are_kept(tmp_path: Path) -> None:
    """Wall and monotonic, of the moment."""
    run = new_run(tmp_path)

    run.step(1)

    last = told(tmp_path)[-1]
    assert last["at"] == last["observed"]
    assert last["body"]["monotonic_us"] > 0


def test_bad_arguments_are_a_problem_and_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training goes on; the first is said once."""
    run = new_run(tmp_path)

    run.step("seven")  # type: ignore[arg-type]
    run.step(None)  # type: ignore[arg-type]
    run.restored("\x00")
    run.restored("c", 1.5)  # type: ignore[arg-type]

    assert run.problem is not None
    assert capsys.readouterr().err.count("tallystick: progress is not kept") == 1


def test_a_step_of_an_array_library_is_a_whole_number(tmp_path: Path) -> None:
    """Its type is not ours, its value is."""
    run = new_run(tmp_path)

    run.restored("c", np.int64(4))  # type: ignore[arg-type]
    run.step(np.int64(5))  # type: ignore[arg-type]
    with run.checkpoint(np.int64(5)):  # type: ignore[arg-type]
        pass

    assert run.problem is None
    assert [body["step"] for body in events(tmp_path)] == [4, 5, 5, 5]


def test_a_fraction_of_a_step_is_none(tmp_path: Path) -> None:
    """No record holds a float."""
    run = new_run(tmp_path)

    run.restored("c", 1.5)  # type: ignore[arg-type]

    assert run.problem == "TypeError: expected a whole number, found 1.5"
    assert events(tmp_path) == []


def test_a_full_disk_leaves_a_hole(tmp_path: Path) -> None:
    """The number of what was lost is missing, and what comes later is kept."""
    process = job(
        """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        journal = next((run._journal._folder).glob("*.journal"))
        run.step(1)
        used = journal.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (used + 20, resource.RLIM_INFINITY))
        run.step(2)  # The half of it fits,
        run.step(3)  # and of this nothing.
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        run.step(4)
        print(run.problem)
        """,
        tmp_path,
    )

    assert line_of(process) == "no space left on device"
    process.communicate()
    assert [(each["body"]["step"], each["producer"]["seq"]) for each in told(tmp_path)[3:]] == [
        (1, 3),
        (4, 6),
    ]


def test_what_a_signal_handler_raises_reaches_the_job(tmp_path: Path) -> None:
    """It is the job's own way to stop, wherever it strikes."""
    process = job(
        """
        import signal
        class Stop(ValueError): pass
        def stop(*_): raise Stop
        signal.signal(signal.SIGTERM, stop)
        n = 0
        try:
            print("there", flush=True)
            while True:
                n += 1
                run.step(n)
        except Stop:
            print("stopped", run.problem)
        """,
        tmp_path,
    )
    line_of(process)

    process.terminate()

    assert line_of(process) == "stopped None"
    process.communicate()


def test_a_run_without_a_place_is_silent(tmp_path: Path) -> None:
    """A spool that cannot be made costs the reports, not the training."""
    blocked = tmp_path / "file"
    blocked.write_text("")

    run = attach("r", attempt="a", spool=blocked / "spool")
    run.step(1)
    with run.checkpoint(1), run.waiting():
        pass
    run.close()

    assert run.problem is not None


def test_no_run_is_no_verdict() -> None:
    """What nobody named cannot be accepted."""
    run = Run(None, "a")

    run.accept()

    assert run.problem == "ValueError: no run is named: set TALLYSTICK_RUN_ID"


def test_closing_twice_is_closing(tmp_path: Path) -> None:
    """And nothing is kept after it."""
    run = new_run(tmp_path)
    run.step(1)

    run.close()
    run.close()
    run.step(2)

    assert steps(tmp_path) == [(1, 1)]


def test_the_part_for_jobs_loads_nothing_but_the_standard_library(tmp_path: Path) -> None:
    """A job pays for what it uses, on any Python that it has."""
    code = """
    import json
    run.step(1)
    roots = {name.partition(".")[0] for name in sys.modules}
    print(json.dumps(sorted(roots - set(sys.stdlib_module_names) - {"tallystick", "__main__"})))
    """

    process = job(code, tmp_path)

    loaded = [each for each in json.loads(line_of(process)) if not each.startswith(("_", "site"))]
    process.communicate()
    assert loaded == []
