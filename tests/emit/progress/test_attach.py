"""Tests for how a job gets the handle."""

import os
import subprocess
from pathlib import Path

import pytest

from tallystick import emit
from tallystick.app.node_files import NODE_FILE, node_file
from tests.emit.progress.jobs import told
from tests.emit.slurm.nodes import old_pythons

JOB = """
from tallystick import emit
run = emit.attach("r", attempt="a", spool="spool")
run.restored(None)
run.step(1)
open("model", "w").write("1")
with run.checkpoint(1, ["model"]):
    pass
run.close()
assert run.problem is None, run.problem
"""


@pytest.mark.parametrize("python", old_pythons(), ids=lambda path: Path(path).parents[1].name)
def test_every_python_from_3_9_on_reports_by_the_node_s_one_file(
    tmp_path: Path, python: str
) -> None:
    """A job needs no package installed."""
    (tmp_path / NODE_FILE).write_bytes(node_file())
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / NODE_FILE)}

    subprocess.run([python, "-S", "-c", JOB], env=environment, cwd=tmp_path, check=True)

    assert [each["kind"] for each in told(tmp_path / "spool")] == [
        "attempt.linked",
        "progress.started",
        "checkpoint.restored",
        "progress.step",
        "checkpoint.begun",
        "checkpoint.committed",
        "checkpoint.verified",
    ]


def test_the_package_has_what_jobs_need_and_says_what_it_has_not() -> None:
    """Names are looked up when they are used."""
    with pytest.raises(AttributeError, match="detach"):
        _ = emit.detach

    assert {name: getattr(emit, name).__name__ for name in emit.__all__} == {
        "Run": "Run",
        "Save": "Save",
        "attach": "attach",
    }
