"""What the caller declares about a cluster, because no object says it."""

from dataclasses import dataclass

from tallystick.collectors.errors import BadClusterError
from tallystick.core.errors import TallystickError
from tallystick.core.vocabulary import CAPACITIES

_CLUSTER_BYTES_MAX = 64  # An attempt key has 200 bytes for cluster and UID.


class BadNodeCapacityError(TallystickError):
    """A node label is given a capacity that is no word of the format."""

    code = "bad_node_capacity"

    def __init__(self, rule: str) -> None:
        super().__init__(rule)

    def __str__(self) -> str:
        return (
            "expected LABEL=VALUE=WORD with a word of spot, on_demand, reserved or unknown, "
            f"got {self.args[0]!r}"
        )


@dataclass(frozen=True, slots=True)
class CapacityRule:
    """Nodes with this label and value have this capacity."""

    label: str
    value: str
    word: str


@dataclass(frozen=True, slots=True)
class KubernetesOptions:
    """Name of the cluster, and what its objects leave out.

    Args:
        cluster: Name of the cluster in attempt keys.
        observed_us: When the objects were read.
        capacity: What nodes with a label are; these come before the labels that clouds set.
        read_us: When the inputs were taken from the API, for signals without a time of their own.
        live: The objects come from a watch that may begin again, so the first record of a fact
            stays: its id names the fact, not its content.
    """

    cluster: str
    observed_us: int
    capacity: tuple[CapacityRule, ...] = ()
    read_us: int | None = None
    live: bool = False

    @property
    def producer(self) -> str:
        """Give the name that the records go by."""
        return f"kubernetes-watch/{self.cluster}" if self.live else f"kubernetes/{self.cluster}"


def check_cluster(cluster: str) -> str:
    """Refuse a cluster name that cannot stand in an attempt key.

    Raises:
        BadClusterError: it is empty, too long, or has a space or colon.
    """
    is_plain = bool(cluster) and cluster.isprintable() and not set(cluster) & set(" :")
    if not is_plain or len(cluster.encode()) > _CLUSTER_BYTES_MAX:
        raise BadClusterError(cluster)
    return cluster


def read_capacity_rule(text: str) -> CapacityRule:
    """Read ``LABEL=VALUE=WORD``.

    Raises:
        BadNodeCapacityError: it has another form, or the word is none of the four.
    """
    match text.split("="):
        case [label, value, word] if label and value and word in CAPACITIES:
            return CapacityRule(label, value, word)
        case _:
            raise BadNodeCapacityError(text)
