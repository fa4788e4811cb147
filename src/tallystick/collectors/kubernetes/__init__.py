"""Kubernetes: pods that hold GPUs become attempts, with what their nodes, owners and queues say."""

from tallystick.collectors.kubernetes.collect import collect_kubernetes
from tallystick.collectors.kubernetes.options import (
    CapacityRule,
    KubernetesOptions,
    read_capacity_rule,
)

__all__ = ["CapacityRule", "KubernetesOptions", "collect_kubernetes", "read_capacity_rule"]
