"""Collecting from files of API objects: inputs of any kind and number in, records out."""

from collections.abc import Iterable, Iterator, Sequence

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.kubernetes.cluster import Cluster, PodStory
from tallystick.collectors.kubernetes.documents import Given, Seen, read_source
from tallystick.collectors.kubernetes.gpus import is_gpu_resource, read_uuid
from tallystick.collectors.kubernetes.objects import place_of
from tallystick.collectors.kubernetes.options import KubernetesOptions, check_cluster
from tallystick.collectors.kubernetes.pods import bound_at, ended_at, node_of
from tallystick.collectors.kubernetes.records import describe, read_attempt
from tallystick.core.finding import InputFinding


def collect_kubernetes(sources: Sequence[Source], options: KubernetesOptions) -> Collected:
    """Read API objects, watch events and dumps of pod resources, in any mix.

    Raises:
        BadClusterError: the name of the cluster cannot stand in a key.
    """
    check_cluster(options.cluster)
    cluster, collected = Cluster(), Collected()
    for source in sources:
        collected.findings.extend(_take(cluster, read_source(source)))
    collected.findings.extend(join_given(cluster))
    for uid, story in cluster.pods.items():
        attempt = read_attempt(uid, story, cluster, options)
        if attempt is None:
            continue
        for output in describe(attempt, story, cluster, options):
            if isinstance(output, InputFinding):
                collected.findings.append(output)
            else:
                collected.add(output)
    if not collected.records and not collected.findings:
        message = "the inputs hold no pod that asks for GPUs"
        collected.findings.append(InputFinding("nothing_collected", message))
    return collected


def _take(cluster: Cluster, read: Iterable[Seen | Given | InputFinding]) -> Iterator[InputFinding]:
    """Keep what an input holds; an object that nothing is made of is no mistake."""
    for item in read:
        if isinstance(item, Seen):
            cluster.see(item)
        elif isinstance(item, Given):
            cluster.given.append(item)
        else:
            yield item


def join_given(cluster: Cluster) -> Iterator[InputFinding]:
    """Give each pod the devices that the kubelet named, where only one pod can be meant.

    The kubelet says name and namespace, which the next pod may have again, so the moment of the
    asking decides.
    """
    named: dict[str, list[PodStory]] = {}
    for story in cluster.pods.values():
        named.setdefault(place_of(story.value), []).append(story)
    for given in cluster.given:
        devices = [device for resource, device in given.devices if is_gpu_resource(resource)]
        if not devices:
            continue
        name = f"{given.namespace}/{given.name}"
        if given.read_us is None:
            message = f"the devices of {name} are not used: the dump says no time in read"
            yield given.place.finding("time_unknown", message)
            continue
        pods = [story for story in named.get(name, ()) if _is_meant(story, given)]
        if len(pods) == 1:
            _give(pods[0], devices)
        else:
            code = "ambiguous_join" if pods else "devices_not_joined"
            message = f"{len(pods)} pods {name} held devices when the kubelet was asked"
            yield given.place.finding(code, message)


def _is_meant(story: PodStory, given: Given) -> bool:
    pod = story.value
    if given.node is not None and node_of(pod) not in {None, given.node}:
        return False
    bound = bound_at(pod)
    end = ended_at(pod, is_deleted=story.is_deleted, gone_us=story.gone_us)
    if bound is None or given.read_us is None or given.read_us < bound.at_us:
        return False
    return end is None or given.read_us <= end.at_us


def _give(story: PodStory, devices: Iterable[str]) -> None:
    for device in devices:
        uuid = read_uuid(device)
        if uuid is None:
            story.unmapped[device] = None
        else:
            story.uuids[uuid] = None
            story.is_shared = story.is_shared or "::" in device
