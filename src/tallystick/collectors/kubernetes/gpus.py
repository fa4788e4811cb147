"""How many GPUs a pod holds, of which type, and which ones, as far as something names them.

A UUID comes from what the kubelet gave, from a claim with its slice, or from an annotation. An
index or a device name stands for none.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from tallystick.collectors.json_text import part
from tallystick.collectors.kubernetes.objects import Json, items_at, text_at, texts_at

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-"
UUIDS_ANNOTATION = "tallystick.gpus"
_WHOLE = (GPU, "nvidia.com/gpu.shared")
_GPU_DRIVERS = "gpu."  # gpu.nvidia.com and its like, not those of network cards.
_UUID = re.compile(r"(?:GPU|MIG)-[0-9A-Za-z][0-9A-Za-z/-]{0,120}")
_Counts = dict[str, int | None]
_COUNT = re.compile(r"[0-9]{1,6}")


class Device(NamedTuple):
    """A device of a claim, named as its driver names it."""

    driver: str
    pool: str
    name: str


class Attributes(NamedTuple):
    """What slices say of a device; a UUID is None where they disagree or say none."""

    uuid: str | None
    gpu_type: str | None


class Held(NamedTuple):
    """What a pod holds: None is unknown; ``mig`` names the profiles of its instances."""

    gpu_count: int | None
    uuids: tuple[str, ...] = ()
    gpu_type: str | None = None
    mig: tuple[str, ...] = ()
    has_whole: bool = False
    unknown_claims: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()
    shared: bool = False


Claims = Mapping[str, tuple[Device, ...]]
Slices = Mapping[Device, Attributes]


def is_gpu_resource(name: str) -> bool:
    """Tell GPUs and their instances from other resources."""
    return name in _WHOLE or name.startswith(MIG)


def held_by(pod: Json, claims: Claims, slices: Slices) -> Held:
    """Give what a pod holds, or would hold once it is bound.

    Args:
        pod: The pod.
        claims: Allocated devices by namespace and name of the claim.
        slices: What is known of devices.
    """
    counts = _effective(pod)
    unknown_claims: list[str] = []
    devices: list[Device] = []
    backing: list[Device] = []
    for name, is_backing in _claims_of(pod):
        found = claims.get(name)
        if found is None:
            unknown_claims.append(name)
            continue
        gpus = [device for device in found if device.driver.startswith(_GPU_DRIVERS)]
        (backing if is_backing else devices).extend(gpus)
    known = [(device, slices.get(device)) for device in [*devices, *backing]]
    uuids = [found.uuid for _, found in known if found and found.uuid]
    types = {found.gpu_type for _, found in known if found and found.gpu_type}
    annotated = _annotated(pod)
    unmapped = [device.name for device, found in known if not (found and found.uuid)]
    total = None if None in counts.values() else sum(filter(None, counts.values())) + len(devices)
    return Held(
        gpu_count=total,
        uuids=tuple(dict.fromkeys([*uuids, *annotated])),
        gpu_type=types.pop() if len(types) == 1 else None,
        mig=tuple(sorted(name.removeprefix(MIG) for name in counts if name.startswith(MIG))),
        has_whole=any(name in _WHOLE for name in counts) or bool(devices),
        unknown_claims=tuple(unknown_claims),
        unmapped=() if annotated else tuple(unmapped),
        shared="nvidia.com/gpu.shared" in counts,
    )


def _effective(pod: Json) -> _Counts:
    """Count each resource as the scheduler does.

    Containers run together, with the init containers that go on beside them; an init container
    that ends runs before, and what it held is given to them.
    """
    together: _Counts = {}
    most: _Counts = {}
    for container in items_at(pod, "spec", "initContainers"):
        wanted = _wanted(container)
        if container.get("restartPolicy") == "Always":
            together = _sum(together, wanted)
            most = _most(most, together)
        else:
            most = _most(most, _sum(together, wanted))
    for container in items_at(pod, "spec", "containers"):
        together = _sum(together, _wanted(container))
    counts = _most(most, together)
    return {name: count for name, count in counts.items() if count != 0}


def _wanted(container: Json) -> _Counts:
    # Requests and limits of such resources are equal where both are stated.
    counts: _Counts = {}
    for field in ("requests", "limits"):
        amounts = part(container, "resources", field)
        for name, amount in amounts.items() if isinstance(amounts, dict) else ():
            if is_gpu_resource(name):
                counts[name] = _count(amount)
    return counts


def _count(amount: object) -> int | None:
    text = str(amount) if type(amount) is int else amount
    return int(text) if isinstance(text, str) and _COUNT.fullmatch(text) else None


def _sum(one: _Counts, other: _Counts) -> _Counts:
    return _merged(one, other, operator.add)


def _most(one: _Counts, other: _Counts) -> _Counts:
    return _merged(one, other, max)


def _merged(one: _Counts, other: _Counts, merge: Callable[[int, int], int]) -> _Counts:
    counts: _Counts = {}
    for name in {**one, **other}:
        left, right = one.get(name, 0), other.get(name, 0)
        counts[name] = None if left is None or right is None else merge(left, right)
    return counts


def _claims_of(pod: Json) -> Iterator[tuple[str, bool]]:
    """Give namespace and name of each claim, and whether it only backs a counted resource."""
    namespace = text_at(pod, "metadata", "namespace") or ""
    generated = {
        text_at(status, "name"): text_at(status, "resourceClaimName")
        for status in items_at(pod, "status", "resourceClaimStatuses")
    }
    for claim in items_at(pod, "spec", "resourceClaims"):
        own = text_at(claim, "name")
        name = text_at(claim, "resourceClaimName") or generated.get(own)
        yield f"{namespace}/{name or own or ''}", False
    backing = text_at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName")
    if backing is not None:
        yield f"{namespace}/{backing}", True


def _annotated(pod: Json) -> list[str]:
    text = texts_at(pod, "metadata", "annotations").get(UUIDS_ANNOTATION, "")
    return [uuid for each in text.split(",") if (uuid := read_uuid(each.strip()))]


def read_uuid(text: str) -> str | None:
    """Give the UUID in the id of a device; the number of a share behind it falls away."""
    uuid = text.partition("::")[0]
    return uuid if _UUID.fullmatch(uuid) else None


def allocated_devices(claim: Json) -> tuple[Device, ...] | None:
    """Give the devices of a claim, None while it has none."""
    if not isinstance(part(claim, "status", "allocation"), dict):
        return None
    results = items_at(claim, "status", "allocation", "devices", "results")
    return tuple(
        Device(
            text_at(result, "driver") or "",
            text_at(result, "pool") or "",
            text_at(result, "device") or "",
        )
        for result in results
    )


def devices_of(resource_slice: Json) -> Iterator[tuple[Device, Attributes]]:
    """Give the devices that a slice describes."""
    driver = text_at(resource_slice, "spec", "driver") or ""
    pool = text_at(resource_slice, "spec", "pool", "name") or ""
    for each in items_at(resource_slice, "spec", "devices"):
        basic = each.get("basic")  # Where older versions of the API keep the attributes.
        holder = basic if isinstance(basic, dict) else each
        uuid = text_at(holder, "attributes", "uuid", "string") or ""
        gpu_type = text_at(holder, "attributes", "productName", "string")
        device = Device(driver, pool, text_at(each, "name") or "")
        yield device, Attributes(read_uuid(uuid), gpu_type)
