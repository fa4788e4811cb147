"""The manifest of a rehearsal: one pod, or a Job of one, as the user gives it. Pure.

What the API would refuse is left to the API; here is seen that a rehearsal can do something
with it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

Json = dict[str, Any]

_GPU: Final = re.compile(r"nvidia\.com/(gpu|gpu\.shared|mig-.+)")
_ONE_POD: Final = ("parallelism", "completions")


def manifest_problem(text: str) -> str | None:
    """Say what is wrong with a manifest; None if it can be used."""
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"expected JSON, as kubectl prints it with -o json: {error}"
    if not isinstance(manifest, dict) or manifest.get("kind") not in {"Pod", "Job"}:
        return "expected an object of kind Pod or Job"
    spec = manifest.get("spec")
    if not isinstance(spec, dict):
        return "expected a spec"
    if manifest["kind"] == "Job" and {spec.get(key, 1) for key in _ONE_POD} != {1}:
        return "expected a Job of one pod: parallelism and completions of 1"
    return _pod_problem(pod_of(manifest))


def _pod_problem(pod: Any) -> str | None:
    spec = pod.get("spec") if isinstance(pod, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    if not isinstance(containers, list) or not containers or not isinstance(containers[0], dict):
        return "expected a pod with a container, the first of which runs the job"
    assert isinstance(spec, dict), "it has containers"
    if spec.get("restartPolicy", "Never") != "Never":
        return "expected restartPolicy Never: a container that restarts is no new attempt"
    return None


def pod_of(manifest: Json) -> Json:
    """Give the pod, or the template of it."""
    if manifest["kind"] == "Pod":
        return manifest
    template: Json = manifest["spec"].setdefault("template", {})
    return template


def holds_gpus(pod: Mapping[str, Any]) -> bool:
    """Tell whether a pod asks for GPUs, so that its own records tell of the allocation."""
    spec = pod.get("spec") or {}
    for container in spec.get("containers") or ():
        resources = container.get("resources") or {}
        names = [*(resources.get("limits") or ()), *(resources.get("requests") or ())]
        if any(_GPU.fullmatch(name) for name in names):
            return True
    return bool(spec.get("resourceClaims"))
