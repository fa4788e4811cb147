"""From the user's manifest to what is created: the job's command, its names and its marks. Pure.

The manifest says what the job needs of the cluster: image, GPUs, volumes. What it runs, and
where its reports go, says the plan.
"""

import json
import re
from typing import Final

from tallystick.core.instant import SECOND_US
from tallystick.rehearsal.manifest import Json, pod_of
from tallystick.rehearsal.places import KubernetesPlace
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.route import Job

MARK: Final = "tallystick.rehearsal"
"""The label with the token of a rehearsal."""
RUN_MARK: Final = "tallystick.run"
_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def prepared(plan: Plan, job: Job, *, name: str, token: str) -> Json:
    """Give what is created for a job.

    Args:
        plan: With the manifest, and where its pods see the folder of the rehearsal.
        job: The job.
        name: What it is called.
        token: What all that belongs to this rehearsal is marked with.
    """
    place, limits = plan.kubernetes, plan.limits
    assert place is not None, "the plan's route is Kubernetes"
    manifest: Json = json.loads(place.manifest)
    pod = pod_of(manifest)
    for each in (manifest, pod):
        _mark(each.setdefault("metadata", {}), job.run, token)
    manifest["metadata"] |= {"name": name, "namespace": place.namespace}
    manifest["metadata"].pop("generateName", None)
    if manifest["kind"] == "Job":
        # Else the replacement begins while the evicted pod still works in the same folder.
        manifest["spec"].setdefault("podReplacementPolicy", "Failed")
    # When whoever rehearses is gone without a word, the cluster ends what was created.
    attempt_s = -(-(limits.attempt_us + limits.detection_us) // SECOND_US)
    pod["spec"].setdefault("activeDeadlineSeconds", attempt_s)
    manifest["spec"].setdefault("activeDeadlineSeconds", attempt_s * limits.attempts_max)
    pod["spec"]["restartPolicy"] = "Never"
    _have_run(pod["spec"]["containers"][0], place, job)
    return manifest


def _mark(metadata: Json, run: str, token: str) -> None:
    labels: Json = metadata.setdefault("labels", {})
    labels[MARK] = token
    if _LABEL.fullmatch(run):
        labels[RUN_MARK] = run
    else:  # A label cannot say it.
        metadata.setdefault("annotations", {})[RUN_MARK] = run


def _have_run(container: Json, place: KubernetesPlace, job: Job) -> None:
    """Have a container run the job, and tell it which attempt it is: that of its pod."""
    out = str(job.spool.parent)

    def there(text: str) -> str:
        seen = text if place.mounted_at is None else text.replace(out, place.mounted_at)
        return seen.replace("$(", "$$(")  # Else it names a variable.

    container["command"] = [there(argument) for argument in job.argv]
    container.pop("args", None)
    container["workingDir"] = there(str(job.folder))
    uid = {"fieldRef": {"fieldPath": "metadata.uid"}}
    own: list[Json] = [
        *({"name": key, "value": there(value)} for key, value in job.environment.items()),
        {"name": "TALLYSTICK_POD_UID", "valueFrom": uid},
        {"name": "TALLYSTICK_ATTEMPT", "value": f"k8s:{place.cluster}:$(TALLYSTICK_POD_UID)"},
    ]
    names = {each["name"] for each in own}
    kept = [each for each in container.get("env") or () if each.get("name") not in names]
    container["env"] = [*kept, *own]
