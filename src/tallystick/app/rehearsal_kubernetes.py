"""What a Kubernetes cluster says of the pods of a rehearsal, as its route saw them."""

from tallystick.app.rehearsal_acts import admit, whose_acts
from tallystick.app.store import OpenStore
from tallystick.collectors.collected import Source
from tallystick.collectors.kubernetes import KubernetesOptions, collect_kubernetes
from tallystick.emit.spool import clock_us
from tallystick.rehearsal.kubernetes import KubernetesRoute
from tallystick.rehearsal.plan import Plan


def bring_kubernetes(plan: Plan, route: KubernetesRoute, store: OpenStore) -> tuple[str, ...]:
    """Bring what pods, Jobs and nodes say into a store; arguments as for ``bring_evidence``."""
    attempts = [each for each in route.attempts if each.is_told_by_cluster]
    if not attempts:
        return ()
    assert plan.kubernetes is not None, "the plan's route is Kubernetes"
    options = KubernetesOptions(plan.kubernetes.cluster, observed_us=clock_us())
    collected = collect_kubernetes([Source("rehearsal", route.evidence())], options)
    struck = {each.key: each.ended_by for each in attempts if each.ended_by is not None}
    collected.records.extend(list(whose_acts(collected, struck)))
    return admit(store, collected, "kubernetes")
