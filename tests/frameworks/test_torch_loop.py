"""The three lines in a plain PyTorch loop, killed in the middle of a save and started again."""

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tallystick.emit.checkpoint.survey import survey  # noqa: E402 (after the framework)
from tallystick.emit.post import Answer  # noqa: E402 (as above)
from tallystick.emit.ship import Shipper  # noqa: E402 (as above)
from tests.emit.progress.jobs import events  # noqa: E402 (as above)
from tests.frameworks.jobs import Job, finish, kill, start, word_of  # noqa: E402 (as above)
from tests.frameworks.receipts import receipt  # noqa: E402 (as above)

LOOP = """
import os, signal, sys, torch
from pathlib import Path
from tallystick import emit

run = emit.attach()
torch.manual_seed(1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
saved = sorted(Path(".").glob("step-*.pt"), key=lambda path: int(path.stem[5:]))
step = 0
if saved:
    state = torch.load(saved[-1], weights_only=True)
    model.load_state_dict(state["model"])
    step = state["step"]
    run.restored(saved[-1].stem, step)
else:
    run.restored(None)

def save(slow=False):
    place = Path(f"step-{step}.pt")
    with run.checkpoint(step, [place], name=place.stem):
        draft = place.with_suffix(".tmp")
        torch.save({"model": model.state_dict(), "step": step}, draft)
        if slow:
            print("saving", flush=True)
            signal.pause()
        draft.rename(place)

def notice(*_):
    save()
    run.close()
    sys.exit(0)

signal.signal(signal.SIGTERM, notice)
while step < 30:
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    step += 1
    run.step(step)
    if step % 10 == 0:
        save(slow=step == KILLED)
    if step == WAITS:
        print("waiting", flush=True)
        signal.pause()
run.accept("sha256:00", step=step)
run.close()
assert run.problem is None, run.problem
"""


def loop(folder: Path, *, killed: int = 0, waits: int = 0, attempt: str = "a") -> Job:
    """Start the loop; it stands still in the save of one step, or after another."""
    return start(f"KILLED, WAITS = {killed}, {waits}\n{LOOP}", folder, attempt=attempt)


def test_a_job_that_was_killed_in_a_save_goes_on_from_the_one_before(tmp_path: Path) -> None:
    """20 begun and never committed: the last valid one is 10, and ten steps come twice."""
    first, spool = loop(tmp_path, killed=20), tmp_path / "spool"
    assert word_of(first) == "saving"
    kill(first)
    seen, before = survey(tmp_path), receipt(tmp_path, spool, a="provider")

    finish([loop(tmp_path, attempt="b")])
    after = receipt(tmp_path, spool, a="provider", b="completed")

    assert seen.last is not None
    assert seen.last.name == "step-10.pt"
    assert before["progress"]["last_valid_checkpoint"]["step"] == 10
    begun, committed = (
        sorted(body["step"] for body in events(spool, f"checkpoint.{kind}"))
        for kind in ("begun", "committed")
    )
    assert (begun, committed) == ([10, 20, 20, 30], [10, 20, 30])
    (interruption,) = after["progress"]["interruptions"]
    assert interruption == {
        "attempt": "a",
        "last_step": 20,
        "restored_step": 10,
        "lost_steps": 10,
        "avoidable_lost_steps": 0,
    }
    assert (after["progress"]["steps_completed"], after["progress"]["replayed_steps"]) == (30, 10)
    assert after["progress"]["last_valid_checkpoint"]["checkpoint"] == "step-30"
    assert after["run"]["accepted"] is True
    assert after["findings"] == []


def test_a_notice_is_time_to_save(tmp_path: Path) -> None:
    """SIGTERM comes between two saves, and nothing is lost."""
    first, spool = loop(tmp_path, waits=15), tmp_path / "spool"
    assert word_of(first) == "waiting"
    first.send_signal(signal.SIGTERM)
    finish([first])

    finish([loop(tmp_path, attempt="b")])
    made = receipt(tmp_path, spool, a="provider", b="completed")

    assert {body["step"] for body in events(spool, "progress.step")} == set(range(1, 31))
    (interruption,) = made["progress"]["interruptions"]
    assert (interruption["restored_step"], interruption["lost_steps"]) == (15, 0)
    assert made["progress"]["replayed_steps"] == 0


def test_the_shipper_has_no_trouble_with_what_a_killed_job_left(tmp_path: Path) -> None:
    """Every line is a record, and the journal goes."""
    first = loop(tmp_path, killed=10)
    assert word_of(first) == "saving"
    kill(first)
    lines: list[bytes] = []

    def send(batch: Sequence[bytes]) -> Sequence[Answer]:
        lines.extend(batch)
        return [Answer("accepted", None, None) for _ in batch]

    Shipper(tmp_path / "spool", "n", ()).ship(send)

    assert len(lines) == 14
    assert list((tmp_path / "spool").rglob("*.journal")) == []
