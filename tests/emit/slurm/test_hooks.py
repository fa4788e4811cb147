"""Hooks as Slurm calls them: what they write down, and that they never fail a job."""

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from tallystick.collectors.collected import Source
from tallystick.collectors.slurm import SlurmOptions, collect_slurm
from tallystick.core.canonical import canonical_bytes
from tallystick.emit.notes import read_notes
from tallystick.evidence.codec import read_line
from tests.emit.slurm.nodes import JOB, UUIDS, Node, old_pythons
from tests.emit.spools import records

HOOKS = ("slurm-prolog", "slurm-epilog", "slurm-prologctld", "slurm-epilogctld", "task-prolog")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Make a node with four GPUs."""
    made = Node(tmp_path)
    made.has_gpus()
    return made


def test_a_prolog_names_the_gpus_of_the_job(node: Node) -> None:
    """By UUID, with what the settings say of the partition."""
    node.run("slurm-prolog")

    (body,) = node.bodies("allocation.started")
    assert body["gpus"] == [
        {"uuid": uuid, "node": "n1", "index": index} for index, uuid in enumerate(UUIDS[:2])
    ]
    assert (body["capacity"], body["gpu_type"], body["nodes"]) == ("spot", "h100", ["n1"])
    assert "gpu_count" not in body


def test_a_prolog_takes_stock_of_the_node(node: Node) -> None:
    """All boards, with index and PCI address."""
    node.run("slurm-prolog")

    (body,) = node.bodies("device.inventory")
    assert body["node"] == "n1"
    assert [device["uuid"] for device in body["devices"]] == list(UUIDS)
    assert body["devices"][1]["pci_bus_id"] == "00000000:02:00.0"


def test_an_epilog_ends_the_attempt_of_its_prolog(node: Node) -> None:
    """Prolog and epilog have one key, which the prolog left on the node."""
    node.run("slurm-prolog", SLURM_JOB_RESTART_COUNT="0")
    node.run("slurm-epilog", SLURM_JOB_RESTART_COUNT="1")

    (began,), (ended,) = node.bodies("allocation.started"), node.bodies("allocation.ended")
    assert ended == {"attempt": began["attempt"], "ended_by": "unknown"}


def test_a_requeued_job_has_two_attempts(node: Node) -> None:
    """Each epilog finds the attempt that its own prolog began."""
    for start in ("1770000000", "1770000900"):
        node.run("slurm-prolog", SLURM_JOB_START_TIME=start)
        node.run("slurm-epilog", SLURM_JOB_START_TIME=start)

    keys = [f"slurm:c1:7@n1:{start}" for start in ("1770000000", "1770000900")]
    assert [body["attempt"] for body in node.bodies("allocation.started")] == keys
    assert [body["attempt"] for body in node.bodies("allocation.ended")] == keys


def test_a_start_that_slurm_states_counts(node: Node) -> None:
    """From 23.02 on the start stands in the environment."""
    node.run("slurm-prolog", SLURM_JOB_START_TIME="1770000000")

    (began,) = node.told("allocation.started")
    assert began["at"] == "2026-02-02T02:40:00.000000Z"
    assert began["body"]["attempt"] == "slurm:c1:7@n1:1770000000"


def test_an_epilog_that_runs_twice_tells_one_end(node: Node) -> None:
    """The same fact again, which the log answers with `exists`."""
    node.run("slurm-prolog")
    node.run("slurm-epilog")
    node.run("slurm-epilog")

    first, second = node.told("allocation.ended")
    assert (first["id"], first["at"]) == (second["id"], second["at"])
    assert first["observed"] < second["observed"]


def test_an_epilog_without_a_prolog_ends_nothing(node: Node) -> None:
    """Without PrologFlags=Alloc a node without a step has none; the call itself is told."""
    node.run("slurm-epilog")

    assert node.bodies("allocation.ended") == []
    assert node.bodies("scheduler.hook")[0]["attempt"] is None


def test_an_epilog_without_a_prolog_ends_what_slurm_names(node: Node) -> None:
    """Where the environment states the start, the key is known."""
    node.run("slurm-epilog", SLURM_JOB_START_TIME="1770000000")

    (body,) = node.bodies("allocation.ended")
    assert body["attempt"] == "slurm:c1:7@n1:1770000000"


def test_a_prolog_names_the_attempt_whose_epilog_never_came(node: Node) -> None:
    """The node had failed, and the job came back to it."""
    node.run("slurm-prolog", SLURM_JOB_START_TIME="1770000000")
    node.run("slurm-prolog", SLURM_JOB_START_TIME="1770000900")

    calls = node.bodies("scheduler.hook")
    assert [call.get("superseded") for call in calls] == [None, "slurm:c1:7@n1:1770000000"]


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        (UUIDS[3], [UUIDS[3]]),
        ("MIG-11111111-2222-3333-4444-555555555555", ["MIG-11111111-2222-3333-4444-555555555555"]),
        (f"MIG-{UUIDS[0]}/1/0", [f"MIG-{UUIDS[0]}/1/0"]),
    ],
)
def test_uuids_of_slurm_win_over_indexes(node: Node, visible: str, uuids: list[str]) -> None:
    """B39: from 25.11 on Slurm names boards and MIG instances by UUID."""
    node.run("slurm-prolog", CUDA_VISIBLE_DEVICES=visible)

    (body,) = node.bodies("allocation.started")
    assert [gpu["uuid"] for gpu in body["gpus"]] == uuids


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("sleep 60", "nvidia-smi: no answer in "),
        ("exit 9", "nvidia-smi: ended with 9: "),
        ("echo No devices were found", "nvidia-smi: cannot read 'No devices were found'"),
        ("", "nvidia-smi: names no GPU"),
        ("yes", "nvidia-smi: printed too much"),
        ("trap '' TERM; sleep 60 & wait", "nvidia-smi: no answer in "),
    ],
)
def test_gpus_that_cannot_be_named_are_counted(tmp_path: Path, script: str, reason: str) -> None:
    """The number that Slurm gives stands, and why there is no more."""
    node = Node(tmp_path)
    node.tool("nvidia-smi", script)

    node.run("slurm-prolog")

    (body,) = node.bodies("allocation.started")
    assert (body["gpu_count"], body["gpu_identity"]) == (2, "unresolved")
    assert body["gpu_identity_reason"].startswith(reason)
    assert node.bodies("device.inventory") == []


def test_a_job_without_gpus_has_no_allocation(node: Node) -> None:
    """Only the calls are told."""
    for hook in ("slurm-prolog", "slurm-epilog"):
        node.run(hook, SLURM_JOB_GPUS="")

    assert {each["kind"] for each in records(node.spool)} == {"scheduler.hook"}


def test_tokens_in_an_environment_are_not_kept(node: Node) -> None:
    """Only variables that are listed become evidence."""
    node.run("slurm-prolog", SLURM_JWT="secret", AWS_SESSION="secret")

    assert b"secret" not in b"".join(canonical_bytes(each) for each in records(node.spool))


def test_every_record_of_a_hook_is_admitted(node: Node) -> None:
    """No line of a hook is refused by the log."""
    for hook in HOOKS:
        node.run(hook, SLURM_JOB_COMMENT="tallystick.run=r1\nsecond \x01 line \udcff")

    lines = [canonical_bytes(each) for each in records(node.spool)]
    assert [read_line(line).kind for line in lines].count("scheduler.hook") == 4
    assert node.bodies("allocation.started")[0]["run"] == "r1"


def test_hooks_of_the_controller_only_tell_the_call(tmp_path: Path) -> None:
    """It has no GPUs; what it knows of arrays and names is kept."""
    node = Node(tmp_path)
    for hook in ("slurm-prologctld", "slurm-epilogctld"):
        node.run(hook, SLURMD_NODENAME="", SLURM_ARRAY_JOB_ID="5", SLURM_JOB_NAME="train")

    first, _ = node.bodies("scheduler.hook")
    assert first["environment"]["SLURM_ARRAY_JOB_ID"] == "5"
    assert (first["hook"], first["node"]) == ("slurm-prologctld", None)


def test_a_task_learns_its_attempt(node: Node) -> None:
    """Slurm puts what it prints into the environment of the task."""
    node.run("slurm-prolog", SLURM_JOB_START_TIME="1770000000")

    said = node.run("task-prolog")

    assert said.splitlines() == [
        f"export TALLYSTICK_SPOOL={node.spool}",
        "export TALLYSTICK_ATTEMPT=slurm:c1:7@n1:1770000000",
    ]


@pytest.mark.parametrize(("local", "count"), [("0", 1), ("1", 0)])
def test_a_task_says_which_run_it_belongs_to(node: Node, local: str, count: int) -> None:
    """Once on each node, if the job's environment names the run."""
    node.run("slurm-prolog", SLURM_JOB_START_TIME="1770000000")

    node.run("task-prolog", TALLYSTICK_RUN_ID="r1", SLURM_LOCALID=local)

    linked = node.bodies("attempt.linked")
    assert linked == [{"run": "r1", "attempt": "slurm:c1:7@n1:1770000000"}] * count


def test_accounting_is_joined_to_what_hooks_wrote(node: Node) -> None:
    """Records of hooks and a row of the job become one attempt."""
    node.run("slurm-prolog", SLURM_JOB_START_TIME="1770000000")
    text = (
        "JobIDRaw|Submit|Start|End|State|ExitCode|AllocTRES|NodeList\n"
        "7|1769999990|1770000000|Unknown|RUNNING|0:0|gres/gpu=2|n1\n"
    )
    lines = b"\n".join(canonical_bytes(each) for each in records(node.spool))
    options = SlurmOptions(cluster="c1", timezone="UTC", observed_us=1)

    found = collect_slurm((Source("t", text.encode()), Source("h", lines)), options)

    same = [each["body"] for each in found.records if each["kind"] == "attempt.same"]
    assert same == [{"attempt": "slurm:c1:7@n1:1770000000", "same_as": "slurm:c1:7:1769999990"}]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize(
    "python", ["/nonexistent", "/bin/false", "/dev/null", "/etc/passwd"], ids=lambda p: p[1:]
)
def test_a_broken_interpreter_fails_no_job(tmp_path: Path, hook: str, python: str) -> None:
    """The script ends with 0, and keeps the environment for later."""
    node = Node(tmp_path, python=python)

    node.run(hook)

    (dump,) = node.dumps()
    assert "SLURM_JOB_ID=7" in dump.read_text()


def test_what_a_script_kept_can_be_collected(tmp_path: Path) -> None:
    """A prolog and an epilog without Python still are an allocation."""
    node = Node(tmp_path, python="/nonexistent")
    for hook, context in (("slurm-prolog", "prolog_slurmd"), ("slurm-epilog", "epilog_slurmd")):
        node.run(hook, SLURM_SCRIPT_CONTEXT=context)
    options = SlurmOptions(cluster="c1", timezone="UTC", observed_us=1)
    sources = tuple(Source(dump.name, dump.read_bytes()) for dump in node.dumps())

    found = collect_slurm(sources, options)

    kinds = [each["kind"] for each in found.records]
    assert kinds == ["allocation.started", "allocation.ended"]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_JOB_ID": ""},
        {"SLURM_JOB_ID": "../../etc/passwd"},
        {"SLURMD_NODENAME": "../../../tmp/x"},
        {"SLURM_CLUSTER_NAME": ""},
        {"SLURM_JOB_GPUS": "0-999999999"},
        {"SLURM_JOB_GPUS": "x" * 100_000},
        {"SLURM_JOB_START_TIME": "99999999999"},
        {"CUDA_VISIBLE_DEVICES": "NoDevFiles"},
    ],
    ids=lambda variables: "-".join(f"{k}={v[:20]}" for k, v in variables.items()),
)
def test_no_environment_fails_a_job(node: Node, hook: str, variables: dict[str, str]) -> None:
    """Whatever Slurm, or a user through it, puts there."""
    node.run(hook, **variables)

    for each in records(node.spool):
        read_line(canonical_bytes(each))
    assert {path.name for path in node.spool.iterdir()} <= {"runs", str(os.geteuid())}


def gone(node: Node) -> None:
    """Remove the spool."""
    subprocess.run(["rm", "-rf", node.spool], check=True)


def blocked(node: Node) -> None:
    """Put files where folders should be."""
    gone(node)
    node.spool.write_text("in the way")


def unsettled(node: Node) -> None:
    """Remove the settings."""
    (node.etc / "node.env").unlink()


def garbled(node: Node) -> None:
    """Make the settings unreadable."""
    (node.etc / "node.env").write_bytes(b"\xff\x00=\nTALLYSTICK_HOOK_WALL=0\nTALLYSTICK_SPOOL=x\n")


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("harm", [gone, blocked, garbled])
def test_a_spool_that_is_not_there_fails_no_job(node: Node, hook: str, harm: object) -> None:
    """Evidence is lost, the job is not."""
    assert callable(harm)
    harm(node)

    node.run(hook)


def test_a_full_spool_fails_no_job(node: Node) -> None:
    """What is dropped is noted."""
    settings = node.etc / "node.env"
    settings.write_text(f"{settings.read_text()}TALLYSTICK_SPOOL_BYTES=65536\n")
    (node.spool / str(os.geteuid()) / "new" / "large").write_bytes(b"x" * 65_536)
    state = node.spool / str(os.geteuid()) / "state"
    state.write_text('{"boot":"","given":{},"waiting_bytes":65536}\n')

    node.run("slurm-prolog")

    assert read_notes(state.with_name("notes")).dropped >= 3


def test_a_hook_that_uses_up_its_processor_time_stops(node: Node) -> None:
    """It ends with 0 like any other; what it had written stays."""
    settings = node.etc / "node.env"
    settings.write_text(f"{settings.read_text()}TALLYSTICK_HOOK_CPU=0.000001\n")

    node.run("slurm-prolog")

    assert node.bodies("allocation.started") == []


def test_a_hook_that_hangs_is_left(node: Node) -> None:
    """The parent goes when the time is over, whatever holds the child."""
    holder = os.open(node.spool / "runs" / "7@n1.json", os.O_CREAT | os.O_RDWR)
    os.close(holder)
    (node.spool / "runs" / "7@n1.json").unlink()
    os.mkfifo(node.spool / "runs" / "7@n1.json")
    before = time.monotonic()

    node.run("slurm-epilog")

    assert time.monotonic() - before < 10


@pytest.mark.parametrize("python", old_pythons(), ids=lambda path: Path(path).parents[1].name)
def test_every_python_from_3_9_on_runs_the_hooks(tmp_path: Path, python: str) -> None:
    """The one file needs nothing but the standard library."""
    node = Node(tmp_path, python=python)
    node.has_gpus()

    for hook in HOOKS:
        node.run(hook)

    assert len(node.bodies("allocation.started")[0]["gpus"]) == 2
    assert len(node.bodies("allocation.ended")) == 1
    assert node.dumps() == []


def test_what_the_prolog_leaves_is_readable_by_tasks(node: Node) -> None:
    """And only the owner may change it."""
    node.run("slurm-prolog")

    path = node.spool / "runs" / f"{JOB['SLURM_JOB_ID']}@n1.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
