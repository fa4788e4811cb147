"""Rehearsing a plan from its file to its papers."""

import json
from pathlib import Path
from threading import Event

import pytest

from tallystick.app import rehearsal_papers
from tallystick.app.bundles import replay_bundle_file, verify_bundle_file
from tallystick.app.errors import UnreadableFileError, UnwritableFileError
from tallystick.app.rehearse import Rehearsed, load_rehearsal, preview, run_rehearsal
from tallystick.contract.errors import BadContractError
from tallystick.receipt.verify import open_receipt
from tallystick.rehearsal.errors import BadPlanError, RehearsalFolderError
from tallystick.stores.errors import NetworkStoreError
from tests.rehearsal.rehearsals import RUN, STEP_5, TRAINER, TWIN, plan_text

CONTRACT = b"""
schema = "tallystick.contract/1"
id = "plain"
version = 1
currency = "USD"
effective_from = 2026-01-01T00:00:00Z
[parties]
provider = "Example Cloud"
customer = "Acme"
[[rate]]
clause = "1"
gpu_type = "H100"
per_hour = "3.60"
"""


def plan_file(folder: Path, data: bytes | None = None) -> Path:
    """Write a plan and its contract."""
    folder.mkdir(exist_ok=True)
    (folder / "contract.toml").write_bytes(CONTRACT)
    (folder / "plan.toml").write_bytes(plan_text() if data is None else data)
    return folder / "plan.toml"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rehearsed, Path]:
    """Give a rehearsal that was done, and its folder."""
    plan = plan_file(tmp_path_factory.mktemp("plan"))
    rehearsal = load_rehearsal(plan)
    return run_rehearsal(rehearsal, stop=Event()), plan.with_name("plan.rehearsal")


def test_both_runs_have_receipts_and_bundles(done: tuple[Rehearsed, Path]) -> None:
    """The bundles are complete: each gives its receipt again."""
    rehearsed, out = done
    names = [path.name for path in rehearsed.papers.files]
    runs = {
        name: open_receipt((out / f"{name}.receipt").read_bytes()).receipt.run.id
        for name in ("uninterrupted", "interrupted")
    }

    assert rehearsed.outcome.is_good
    assert rehearsed.papers.problems == ()
    assert runs == {"uninterrupted": TWIN, "interrupted": RUN}
    assert names == [
        *("uninterrupted.receipt", "uninterrupted.bundle"),
        *("interrupted.receipt", "interrupted.bundle"),
        *("log.key.vkey", "receipt.key.vkey"),
        *("packet.json", "packet.md", "packet.html"),
    ]
    for name in ("uninterrupted", "interrupted"):
        keys = [str(path) for path in sorted((out / "keys").iterdir())]
        replayed = replay_bundle_file(str(out / f"{name}.bundle"), keys)
        assert replayed.replay.difference is None


def test_the_receipt_shows_what_the_interruption_cost(done: tuple[Rehearsed, Path]) -> None:
    """Killed after step 5, back to step 4: one step lost and one replayed, nothing in doubt."""
    _, out = done

    predicate = open_receipt((out / "interrupted.receipt").read_bytes()).predicate

    progress = predicate["progress"]
    assert predicate["run"]["accepted"] is True
    assert predicate["findings"] == []
    assert [attempt["ended_by"] for attempt in predicate["attempts"]] == ["provider", "completed"]
    assert (progress["steps_completed"], progress["replayed_steps"]) == (12, 1)
    assert [each["lost_steps"] for each in progress["interruptions"]] == [1]


def test_the_folder_is_closed_and_keeps_what_was_read(done: tuple[Rehearsed, Path]) -> None:
    """Plan and contract are there as they were; nothing waits in the spool."""
    _, out = done

    assert out.stat().st_mode & 0o777 == 0o700
    assert (out / "plan.toml").read_bytes() == plan_text()
    assert (out / "contract.toml").read_bytes() == CONTRACT
    assert list(out.glob("spool/*/new/*")) == []
    assert list(out.glob("spool/*/progress/*.journal")) == []


def test_a_folder_in_use_is_left_alone(done: tuple[Rehearsed, Path]) -> None:
    """The last rehearsal is not written over."""
    _, out = done
    before = sorted(out.rglob("*"))

    with pytest.raises(RehearsalFolderError, match="--out") as caught:
        run_rehearsal(load_rehearsal(out.parent / "plan.toml"), stop=Event())

    assert caught.value.code == "rehearsal_folder_in_use"
    assert sorted(out.rglob("*")) == before


def test_a_run_that_never_finishes_has_papers_all_the_same(tmp_path: Path) -> None:
    """The uninterrupted run was given up, so the other one was not begun."""
    job = '[job]\ncommand = ["false"]\nresult = "result"\n'
    plan = plan_file(tmp_path, plan_text("[limits]\nattempts_max = 1\n", job=job))

    done = run_rehearsal(load_rehearsal(plan), stop=Event())

    receipt = open_receipt((tmp_path / "plan.rehearsal" / "interrupted.receipt").read_bytes())
    assert not done.outcome.is_finished
    assert receipt.predicate["attempts"] == []
    assert (tmp_path / "plan.rehearsal" / "packet.json").exists()


def test_looking_at_a_plan_writes_nothing(tmp_path: Path) -> None:
    """Everything that would be started is in what is shown."""
    plan = plan_file(tmp_path, plan_text(job=TRAINER, faults=f'{STEP_5}notice_s = "2.5"\n'))
    before = sorted(tmp_path.iterdir())

    shown = preview(load_rehearsal(plan))

    assert sorted(tmp_path.iterdir()) == before
    assert [run["run"] for run in shown["runs"]] == [TWIN, RUN]
    assert shown["out"] == str(tmp_path / "plan.rehearsal")
    (sentence,) = shown["faults"]
    assert sentence == (
        "attempt 1, after step 5; notice 2.5 s before; all of the job is killed;"
        " the attempt counts as ended by provider"
    )
    json.dumps(shown)


def test_folders_take_the_places_of_their_names_once(tmp_path: Path) -> None:
    """A folder that is called like a place is not replaced again."""
    job = '[job]\ncommand = ["x", "{plan}:{work}:{other}"]\nresult = "result"\n'
    folder = tmp_path / "{work}"
    plan = plan_file(folder, plan_text(job=job))

    (_, argument) = load_rehearsal(plan, tmp_path / "out").jobs[1].argv

    assert argument == f"{folder}:{tmp_path}/out/work/interrupted:{{other}}"


def test_what_cannot_be_read_is_told_before_anything_starts(tmp_path: Path) -> None:
    """A plan, its contract, and mistakes in either."""
    with pytest.raises(UnreadableFileError):
        load_rehearsal(tmp_path / "nowhere.toml")
    with pytest.raises(BadPlanError, match=r"bad\.toml"):
        load_rehearsal(plan_file(tmp_path, b"=").rename(tmp_path / "bad.toml"))
    plan = plan_file(tmp_path)
    (tmp_path / "contract.toml").write_text("id = 1")
    with pytest.raises(BadContractError):
        load_rehearsal(plan)
    (tmp_path / "contract.toml").unlink()
    with pytest.raises(UnreadableFileError):
        load_rehearsal(plan)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """There is a file in its place."""
    plan = plan_file(tmp_path)
    (tmp_path / "file").touch()

    with pytest.raises(UnwritableFileError):
        run_rehearsal(load_rehearsal(plan, tmp_path / "file"), stop=Event())


def test_on_a_network_file_system_the_store_passes_and_the_bundles_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A shared folder of a cluster is no place for a database."""

    def refuse(folder: Path) -> None:
        raise NetworkStoreError(str(folder), "nfs4")

    monkeypatch.setattr(rehearsal_papers, "check_local", refuse)
    plan = plan_file(tmp_path)

    done = run_rehearsal(load_rehearsal(plan), stop=Event())

    out = tmp_path / "plan.rehearsal"
    assert done.outcome.is_good
    assert not (out / "store").exists()
    keys = [str(path) for path in (out / "keys").iterdir()]
    verified = verify_bundle_file(str(out / "interrupted.bundle"), keys)
    assert verified.statement.receipt.run.id == RUN
