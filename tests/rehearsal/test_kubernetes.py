"""The Kubernetes route, against a stand-in whose pods really run: see ``kube_cluster``."""

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tallystick.emit.spool import clock_us
from tallystick.rehearsal.attempt import Attempt, start_attempt
from tallystick.rehearsal.errors import (
    BadPlanError,
    NoTargetError,
    RehearsalStoppedError,
    RouteUnavailableError,
    SurvivorsError,
)
from tallystick.rehearsal.kubernetes import KubernetesRoute, objects, pods
from tallystick.rehearsal.kubernetes.prepared import prepared
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.rehearse import rehearse
from tallystick.rehearsal.route import Job, Started
from tallystick.rehearsal.scheduler_errors import (
    EvictionRefusedError,
    NotOursError,
    SchedulerRefusedError,
)
from tests.rehearsal.rehearsals import RUN, TRAINER, ground_of, laid_out, plan_of, rehearsed
from tests.stand_ins.kube_cluster import KubeCluster, kube_cluster

Json = dict[str, Any]
POD = {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "main"}]}}
GPUS = {"limits": {"nvidia.com/gpu": "2"}}
GPU_POD = {
    "kind": "Pod",
    "metadata": {"generateName": "train-"},
    "spec": {"containers": [{"name": "main", "resources": GPUS, "args": ["x"]}]},
}
JOB = {
    "kind": "Job",
    "apiVersion": "batch/v1",
    "spec": {"template": {"spec": {"containers": [{"name": "main", "resources": GPUS}]}}},
}
STEP_5_TOLD = '[[fault]]\nwhen = "step"\nstep = 5\nnotice_s = "60"\n'
SAVES = f'{TRAINER}on_notice = "save"\n'


@pytest.fixture
def cluster() -> Iterator[KubeCluster]:
    """Serve a stand-in."""
    with kube_cluster() as made:
        yield made


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look more often than a real cluster would like."""
    monkeypatch.setattr(objects, "_LOOK_S", 0.02)
    monkeypatch.setattr(pods, "_PAUSE_S", 0.02)
    monkeypatch.setattr(KubernetesRoute, "poll_s", 0.02)


def place(folder: Path, cluster: KubeCluster | None = None, manifest: Any = POD) -> str:
    """Write the part of a plan that says where."""
    kubeconfig = cluster.kubeconfig(folder) if cluster else str(folder / "none")
    return (
        f"[kubernetes]\ncluster = 'kc'\nnamespace = 'team'\nkubeconfig = {json.dumps(kubeconfig)}\n"
        f"manifest = '''{json.dumps(manifest)}'''\n"
    )


def planned(folder: Path, cluster: KubeCluster, manifest: Any = POD, **parts: str) -> Plan:
    """Make a plan."""
    where = place(folder, cluster, manifest)
    return plan_of(where, top="route = 'kubernetes'", **parts)


def started(route: KubernetesRoute, plan: Plan, folder: Path) -> Started:
    """Start the run that faults hit."""
    _, job = laid_out(plan, folder)
    ground, _ = ground_of(plan, folder / "out", route)
    found = start_attempt(ground, job, 1)
    assert found is not None
    return found


def pod_name(cluster: KubeCluster) -> str:
    """Name the one pod that there is."""
    (name,) = cluster.names("pods")
    return name


def test_an_evicted_pod_is_replaced_and_ends_as_if_it_had_not_been(
    tmp_path: Path, cluster: KubeCluster
) -> None:
    """Evicted after step 5 it goes on from step 4; all that was created is gone afterwards."""
    plan = planned(tmp_path, cluster)

    done = rehearsed(plan, tmp_path, KubernetesRoute(plan))

    (told,) = done.bodies("rehearsal.fault")
    created = [value for value in cluster.history("pods") if "status" not in value]
    uids = [value["metadata"]["uid"] for value in created]
    assert done.outcome.is_good
    assert [act["act"] for act in told["acts"]] == ["evict with a grace period of 1 s"]
    assert [act["id"] for act in told["acts"]] == [f"pod:{uids[1]}"]
    assert told["attempt"] == f"k8s:kc:{uids[1]}"
    assert done.restored() == [0, 4]
    assert cluster.names("pods") == []


def test_without_gpus_the_allocation_is_the_plan_s(tmp_path: Path, cluster: KubeCluster) -> None:
    """No record of the cluster tells of GPUs, so the rehearsal does, as it stands in for them."""
    plan = planned(tmp_path, cluster)

    done = rehearsed(plan, tmp_path, KubernetesRoute(plan))

    first = done.bodies("allocation.started")[0]
    assert (first["scheduler"], first["cluster"], first["nodes"]) == ("kubernetes", "kc", ["n1"])
    assert (first["gpu_count"], first["gpu_type"]) == (2, "H100")
    assert done.ended_by() == ["provider", "completed"]


def test_a_job_brings_the_replacement_after_notice(tmp_path: Path, cluster: KubeCluster) -> None:
    """The grace period is the notice: the trainer saves, loses nothing, and the Job goes on."""
    plan = planned(tmp_path, cluster, JOB, job=SAVES, faults=STEP_5_TOLD)
    route = KubernetesRoute(plan)

    done = rehearsed(plan, tmp_path, route)

    of_run = [each for each in route.attempts if each.run == RUN]
    restored = [
        record["body"]["step"]
        for each in of_run
        for record in done.journal(each.key)
        if record["kind"] in {"checkpoint.restored", "checkpoint.committed"}
    ]
    (told,) = done.bodies("rehearsal.fault")
    assert done.outcome.is_good
    assert [act["act"] for act in told["acts"]] == ["evict with a grace period of 60 s"]
    assert len(done.bodies("allocation.notice")) == 1
    assert restored.count(restored[2]) == 2  # What was saved last was restored.
    assert [each.ended_by for each in of_run] == ["provider", None]
    assert done.bodies("allocation.started") == []  # The pods' own records tell.
    assert (cluster.names("jobs"), cluster.names("pods")) == ([], [])


def test_a_job_that_fails_by_itself_is_created_anew(tmp_path: Path, cluster: KubeCluster) -> None:
    """The pod failed, nobody evicted it: the next attempt is another pod of the same manifest."""
    (tmp_path / "job.py").write_text(FAILS_ONCE)
    job = f'[job]\ncommand = ["{sys.executable}", "{{plan}}/job.py"]\nresult = "result"\n'
    plan = planned(tmp_path, cluster, job=job, faults='[[fault]]\nwhen = "time"\nafter_s = "600"\n')

    done = rehearsed(plan, tmp_path, KubernetesRoute(plan))

    ends = done.bodies("allocation.ended")
    assert done.codes() == ["rehearsal_fault_missed"]
    assert [(end["ended_by"], end["exit_code"]) for end in ends[1:]] == [
        ("user", 3),
        ("completed", 0),
    ]


FAILS_ONCE = """
import os, sys
from pathlib import Path
if os.environ["TALLYSTICK_RUN_ID"] == "r" and not Path("began").exists():
    Path("began").touch()
    sys.exit(3)
Path("result").write_text("done")
"""


def test_a_job_that_is_done_or_deleted_brings_no_more(tmp_path: Path, cluster: KubeCluster) -> None:
    """Somebody deleted the Job: the route creates another one for the next attempt."""
    plan = planned(tmp_path, cluster, JOB)
    route = KubernetesRoute(plan)
    first = started(route, plan, tmp_path)
    route.end(first)
    (name,) = cluster.names("jobs")
    cluster.remove("jobs", name, 0)

    ground, _ = ground_of(plan, tmp_path / "out", route)
    second = start_attempt(ground, first.job, 2)
    route.close()

    assert second is not None
    assert second.ids != first.ids


def test_a_budget_that_allows_no_eviction_is_asked_again(
    tmp_path: Path, cluster: KubeCluster
) -> None:
    """Refused twice, the third eviction goes through."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)
    cluster.refused_evictions = 2

    acts = route.interrupt(attempt, "all", lambda: True)
    route.close()

    assert acts is not None
    assert sum(path.endswith("/eviction") for _, path in cluster.requests) == 3


def test_a_budget_that_never_allows_it_is_named(
    tmp_path: Path, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the patience is over, the message says what to do."""
    monkeypatch.setattr(objects, "EVICT_S", 0)
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)
    cluster.refused_evictions = 1000

    with pytest.raises(EvictionRefusedError, match="PodDisruptionBudget") as caught:
        route.notice(attempt)
    route.close()

    assert caught.value.code == "rehearsal_eviction_refused"
    assert "violate the pod's disruption budget" in str(caught.value)


def test_another_pod_of_the_same_name_is_left_alone(tmp_path: Path, cluster: KubeCluster) -> None:
    """The API compares UIDs: neither eviction nor deletion touches it."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)
    name = pod_name(cluster)
    uid = cluster.replace_object("pods", name)
    del cluster.objects["pods", name]["metadata"]["labels"]

    interrupted = route.interrupt(attempt, "all", lambda: True)
    ended = route.end(attempt)
    closed = route.close()

    assert (interrupted, ended, closed) == (None, (), ())
    assert cluster.objects["pods", name]["metadata"]["uid"] == uid
    assert "deletionTimestamp" not in cluster.objects["pods", name]["metadata"]


def test_a_pod_that_lost_our_mark_is_left_alone(tmp_path: Path, cluster: KubeCluster) -> None:
    """Somebody took the label off, so it is no longer for us to evict."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)
    name = pod_name(cluster)
    del cluster.objects["pods", name]["metadata"]["labels"]["tallystick.rehearsal"]

    with pytest.raises(NotOursError, match="nothing was done") as caught:
        route.interrupt(attempt, "all", lambda: True)
    route.close()

    assert caught.value.code == "rehearsal_not_ours"
    assert "deletionTimestamp" not in cluster.objects["pods", name]["metadata"]


def test_an_interruption_that_is_not_due_any_more_is_none(
    tmp_path: Path, cluster: KubeCluster
) -> None:
    """Nothing is done; and one worker alone cannot be evicted."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)

    assert route.interrupt(attempt, "all", lambda: False) is None
    with pytest.raises(NoTargetError):
        route.interrupt(attempt, "rank:0", lambda: True)
    route.close()
    assert not any(path.endswith("/eviction") for _, path in cluster.requests)


def test_after_notice_there_is_nothing_left_to_do(tmp_path: Path, cluster: KubeCluster) -> None:
    """The grace period of the eviction ends by itself; a pod that is gone is not evicted."""
    plan = planned(tmp_path, cluster, faults=STEP_5_TOLD)
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)

    told = route.notice(attempt)
    interrupted = route.interrupt(attempt, "all", lambda: True)
    closed = route.close()
    again = route.notice(attempt)

    assert [act.act for act in told] == ["evict with a grace period of 60 s"]
    assert interrupted == ()
    assert [act.act for act in closed] in (["delete"], [])
    assert again == ()


def test_a_job_of_which_nothing_is_known_is_waited_for(
    tmp_path: Path, cluster: KubeCluster
) -> None:
    """Whether it brings another pod, the API does not say now; then that it is complete."""
    plan = planned(tmp_path, cluster, JOB, job='[job]\ncommand = ["true"]\nresult = "x"\n')
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)
    ground, _ = ground_of(plan, tmp_path / "out", route)
    Attempt(ground, attempt, None, is_saved=False).follow()
    cluster.fails["GET", "jobs"] = 500

    waiting = route.start(attempt.job, 2)
    cluster.fails.clear()
    again = start_attempt(ground, attempt.job, 2)
    route.close()

    assert waiting is None
    assert again is not None
    assert len([each for each in cluster.history("jobs") if "status" not in each]) >= 2


def test_a_pod_that_states_no_start_began_when_it_was_seen(
    tmp_path: Path, cluster: KubeCluster
) -> None:
    """As far as it is known; without a node there is none to look at."""
    plan = planned(tmp_path, cluster, job='[job]\ncommand = ["/nowhere"]\nresult = "x"\n')
    route = KubernetesRoute(plan)
    _, job = laid_out(plan, tmp_path)
    before_us = clock_us()
    assert route.start(job, 1) is None
    ended = {"name": "main", "state": {"terminated": {"exitCode": 0}}}
    cluster.report(pod_name(cluster), {"phase": "Failed", "containerStatuses": [ended]})

    ground, _ = ground_of(plan, tmp_path / "out", route)
    found = start_attempt(ground, job, 1)
    assert found is not None
    gone = route.look(found).gone
    route.close()

    assert gone is not None
    assert gone.exit_code is None  # A pod that failed did not end well, whatever it says.
    assert before_us <= found.at_us <= clock_us()
    assert found.allocation is not None
    assert found.allocation["nodes"] == []


def test_whoever_stops_leaves_nothing(tmp_path: Path, cluster: KubeCluster) -> None:
    """Stopped while the first pod runs: it is deleted, and a pod of somebody else stays."""
    cluster.create("pods", {"metadata": {"name": "theirs"}, "spec": _sleeper(tmp_path)})
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    jobs = laid_out(plan, tmp_path)
    ground, _ = ground_of(plan, tmp_path / "out", route)

    def stop(said: str) -> None:
        if "attempt 1 is pod:" in said:
            ground.stop.set()

    with pytest.raises(RehearsalStoppedError):
        rehearse(replace(ground, say=stop), jobs)

    assert cluster.names("pods") == ["theirs"]
    assert route.close() == ()


def _sleeper(folder: Path) -> Json:
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    return {"containers": [{"name": "x", "command": command, "workingDir": str(folder)}]}


def test_a_watch_that_breaks_off_misses_nothing(tmp_path: Path, cluster: KubeCluster) -> None:
    """Listing again shows what came, changed and went meanwhile."""
    cluster.cuts_watches = 3
    plan = planned(tmp_path, cluster)

    done = rehearsed(plan, tmp_path, KubernetesRoute(plan))

    assert done.outcome.is_good


@pytest.mark.parametrize(
    "line",
    [
        b'{"type": "ERROR", "object": {"code": 410, "message": "too old"}}',
        b'{"type": "BOOKMARK", "object": {"metadata": {"uid": ""}}}',
        b'{"type": "ADDED"}',
        b"[]",
        b"{",
        b"\n",
    ],
)
def test_an_event_that_is_none_is_no_trouble(
    line: bytes, tmp_path: Path, cluster: KubeCluster
) -> None:
    """What cannot be read ends the watch, and listing again shows all."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    cluster.odd_lines = [line]

    attempt = started(route, plan, tmp_path)
    route.close()

    assert attempt.number == 1


def test_a_node_that_is_not_shown_says_nothing(tmp_path: Path, cluster: KubeCluster) -> None:
    """To see nodes is a right that few have; a proxy may say so without JSON."""
    cluster.fails["GET", "nodes"] = 502
    plan = planned(tmp_path, cluster, GPU_POD)
    route = KubernetesRoute(plan)

    attempt = started(route, plan, tmp_path)
    said = route.evidence().decode()
    route.close()

    assert attempt.allocation is None
    assert '"kind": "Pod"' in said
    assert '"kind": "Node"' not in said


def test_a_list_that_is_cut_is_asked_for_again(
    tmp_path: Path, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the patience is over: then nobody knows what is left."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    started(route, plan, tmp_path)
    cluster.garbles_lists = True

    with monkeypatch.context() as patched:
        patched.setattr(objects, "CLOSE_S", 0)
        with pytest.raises(SchedulerRefusedError, match="an answer that is cut"):
            route.close()

    cluster.garbles_lists = False
    route.close()
    assert cluster.names("pods") == []


def test_a_deletion_that_is_refused_is_tried_again(
    tmp_path: Path, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is refused to the end is an error with the API's own words."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)
    cluster.fails["DELETE", "pods"] = 403

    with pytest.raises(SchedulerRefusedError, match="403 refused"):
        route.end(attempt)
    with monkeypatch.context() as patched:
        patched.setattr(objects, "CLOSE_S", 0)
        with pytest.raises(SchedulerRefusedError, match="403 refused"):
            route.close()

    cluster.fails.clear()
    route.close()
    assert cluster.names("pods") == []


def test_evidence_is_bounded(
    tmp_path: Path, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that reports on and on does not fill the memory."""
    monkeypatch.setattr(pods, "VERSIONS_MAX", 2)
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)

    started(route, plan, tmp_path)
    route.close()

    assert route.evidence().count(b"\n") == 2


def test_a_pod_that_vanishes_is_gone(tmp_path: Path, cluster: KubeCluster) -> None:
    """It went while the API could not be asked: how it ended is not known."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)
    ground, _ = ground_of(plan, tmp_path / "out", route)

    cluster.vanish("pods", pod_name(cluster))
    end = Attempt(ground, attempt, None, is_saved=False).follow()
    route.close()

    assert not end.is_completed
    assert route.look(attempt).gone is not None


def test_what_was_created_without_an_answer_is_deleted(
    tmp_path: Path, cluster: KubeCluster
) -> None:
    """The connection broke before the answer: the pod is found by its mark."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    _, job = laid_out(plan, tmp_path)
    cluster.loses_answers = True

    with pytest.raises(SchedulerRefusedError):
        route.start(job, 1)
    acts = route.close()

    assert [act.act for act in acts] == ["delete"]
    assert cluster.names("pods") == []


def test_what_cannot_be_created_ends_the_rehearsal(tmp_path: Path, cluster: KubeCluster) -> None:
    """The message has what the API said."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    _, job = laid_out(plan, tmp_path)
    cluster.fails["POST", "pods"] = 403

    with pytest.raises(SchedulerRefusedError, match="403 refused") as caught:
        route.start(job, 1)
    route.close()

    assert caught.value.code == "rehearsal_scheduler_refused"


def test_what_does_not_go_is_named(
    tmp_path: Path, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finalizer keeps the pod: whoever rehearses has to look."""
    monkeypatch.setattr(objects, "CLOSE_S", 0)
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    attempt = started(route, plan, tmp_path)
    cluster.keeps_deleted = True

    with pytest.raises(SurvivorsError, match=attempt.ids[0]):
        route.close()

    cluster.keeps_deleted = False
    cluster.remove("pods", pod_name(cluster), 0)
    route.close()


def test_a_cluster_that_says_nothing_at_the_end_is_an_error(
    tmp_path: Path, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what is left."""
    monkeypatch.setattr(objects, "CLOSE_S", 0)
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    started(route, plan, tmp_path)
    cluster.fails["GET", "pods"] = 500

    with pytest.raises(SchedulerRefusedError, match="500"):
        route.close()

    cluster.fails.clear()
    monkeypatch.undo()
    route.close()


def test_a_pod_that_does_not_begin_is_waited_for(tmp_path: Path, cluster: KubeCluster) -> None:
    """Without its program it stays pending, as one without its image does."""
    job = '[job]\ncommand = ["/nowhere"]\nresult = "x"\n'
    limits = '[limits]\nattempt_s = "0.2"\n'
    where = place(tmp_path, cluster)
    plan = plan_of(where, limits, top="route = 'kubernetes'", job=job)

    done = rehearsed(plan, tmp_path, KubernetesRoute(plan))

    assert set(done.codes()) >= {"rehearsal_attempt_hung"}
    assert cluster.names("pods") == []


def test_nothing_is_asked_before_the_start(tmp_path: Path, cluster: KubeCluster) -> None:
    """What would be done is said without the cluster, and closing ends nothing."""
    plan = planned(tmp_path, cluster, JOB)
    route = KubernetesRoute(plan)
    _, job = laid_out(plan, tmp_path)

    said = "\n".join(route.touches(job) + route.never_touches())

    assert route.close() == ()
    assert route.evidence() == b""
    assert cluster.requests == []
    assert "Job tallystick-TOKEN-1 in namespace team of kc" in said
    assert "marked   tallystick.rehearsal=TOKEN tallystick.run=r" in said


def test_the_manifest_keeps_what_the_plan_does_not_say(tmp_path: Path) -> None:
    """Resources stay; command, folder, names, marks and reports are the rehearsal's."""
    made = _prepared(tmp_path, GPU_POD)

    container = made["spec"]["containers"][0]
    values = {each["name"]: each.get("value") for each in container["env"]}
    assert container["resources"] == GPUS
    assert container["command"][1:] == ["-c", "$$(x)"]
    assert "args" not in container
    assert container["workingDir"] == str(tmp_path / "out/work/interrupted")
    assert made["spec"]["restartPolicy"] == "Never"
    assert made["metadata"] == {
        "name": "n",
        "namespace": "team",
        "labels": {"tallystick.rehearsal": "t", "tallystick.run": "r"},
    }
    assert values["TALLYSTICK_ATTEMPT"] == "k8s:kc:$(TALLYSTICK_POD_UID)"
    assert values["TALLYSTICK_RUN_ID"] == "r"


def test_a_run_that_no_label_can_name_is_an_annotation(tmp_path: Path) -> None:
    """The collector reads either."""
    made = _prepared(tmp_path, JOB, run="a run, named")

    template = made["spec"]["template"]
    assert template["metadata"]["labels"] == {"tallystick.rehearsal": "t"}
    assert template["metadata"]["annotations"] == {"tallystick.run": "a run, named"}
    assert template["spec"]["activeDeadlineSeconds"] == 660
    assert made["spec"]["activeDeadlineSeconds"] == 3300
    assert made["spec"]["podReplacementPolicy"] == "Failed"


def test_a_folder_that_is_mounted_elsewhere_has_another_name(tmp_path: Path) -> None:
    """Everywhere that the pod is told of it; what the manifest sets itself stays."""
    own = [{"name": "A", "value": "a"}, {"name": "TALLYSTICK_SPOOL", "value": "mine"}]
    pod = {"kind": "Pod", "spec": {"containers": [{"name": "main", "env": own}]}}

    made = _prepared(tmp_path, pod, mounted_at="/data")

    container = made["spec"]["containers"][0]
    values = {each["name"]: each.get("value") for each in container["env"]}
    assert container["workingDir"] == "/data/work/interrupted"
    assert values["TALLYSTICK_SPOOL"] == "/data/spool"
    assert values["A"] == "a"


def _prepared(folder: Path, manifest: Json, run: str = RUN, mounted_at: str | None = None) -> Json:
    job = '[job]\ncommand = ["python", "-c", "$(x)"]\nresult = "x"\n'
    plan = plan_of(place(folder, None, manifest), top="route = 'kubernetes'", job=job)
    _, made = laid_out(plan, folder)
    assert plan.kubernetes is not None
    there = replace(plan, kubernetes=replace(plan.kubernetes, mounted_at=mounted_at))
    ours: Job = replace(made, run=run)
    return prepared(there, ours, name="n", token="t")  # noqa: S106 (no secret)


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ("{", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("[]", "kind Pod or Job"),
        ('{"kind": "Deployment", "spec": {}}', "kind Pod or Job"),
        ('{"kind": "Pod"}', "expected a spec"),
        ('{"kind": "Pod", "spec": {"containers": []}}', "expected a pod with a container"),
        ('{"kind": "Pod", "spec": {"containers": ["x"]}}', "expected a pod with a container"),
        ('{"kind": "Job", "spec": {"template": 1}}', "expected a pod with a container"),
        ('{"kind": "Job", "spec": {}}', "expected a pod with a container"),
        ('{"kind": "Job", "spec": {"parallelism": 2}}', "a Job of one pod"),
        (
            '{"kind": "Pod", "spec": {"restartPolicy": "Always", "containers": [{}]}}',
            "expected restartPolicy Never",
        ),
    ],
)
def test_a_manifest_that_cannot_be_rehearsed_is_a_mistake_of_the_plan(
    manifest: str, expected: str
) -> None:
    """Said before anything is started."""
    where = f"[kubernetes]\ncluster = 'kc'\nnamespace = 'a b'\nmanifest = '''{manifest}'''\n"

    with pytest.raises(BadPlanError) as caught:
        plan_of(where, top="route = 'kubernetes'")

    assert expected in str(caught.value)
    assert "without spaces" in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("target = 'rank:0'", "fault 1: an eviction takes a whole pod"),
        ("wait_s = '5'", "fault 1: the cluster brings the replacement"),
    ],
)
def test_a_fault_that_no_eviction_brings_is_refused(
    keys: str, expected: str, tmp_path: Path, cluster: KubeCluster
) -> None:
    """The plan is read, and the route cannot follow it."""
    faults = f'[[fault]]\nwhen = "step"\nstep = 5\n{keys}\n'

    with pytest.raises(RouteUnavailableError, match=expected):
        KubernetesRoute(planned(tmp_path, cluster, faults=faults))


def test_without_the_client_the_extra_is_named(
    tmp_path: Path, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is an extra, which few need."""
    plan = planned(tmp_path, cluster)
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)

    with pytest.raises(RouteUnavailableError, match=r"tallystick\[kubernetes\]"):
        KubernetesRoute(plan)


def test_without_settings_there_is_no_cluster(tmp_path: Path) -> None:
    """The file that the plan names is not there."""
    plan = plan_of(place(tmp_path), top="route = 'kubernetes'")

    with pytest.raises(RouteUnavailableError, match="by the kubernetes route"):
        KubernetesRoute(plan)


def test_the_watch_ends_with_the_route(tmp_path: Path, cluster: KubeCluster) -> None:
    """No thread of it is left when the route has been closed and the next event came."""
    plan = planned(tmp_path, cluster)
    route = KubernetesRoute(plan)
    started(route, plan, tmp_path)

    route.close()

    watchers = [each for each in threading.enumerate() if each.name == "rehearsal pods"]
    cluster.close()
    for each in watchers:
        each.join(30)
    assert not any(each.is_alive() for each in watchers)
