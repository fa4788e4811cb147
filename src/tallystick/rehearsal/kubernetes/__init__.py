"""The Kubernetes route: the job is a pod of the user's own manifest, taken back by eviction."""

from tallystick.rehearsal.kubernetes.route import KubernetesRoute

__all__ = ["KubernetesRoute"]
