"""What the caller declares about a cluster, because no row says it."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tallystick.collectors.errors import BadClusterError
from tallystick.collectors.slurm.errors import (
    BadCapacityError,
    BadGpusPerNodeError,
    BadGpuTypeError,
    BadZoneError,
)
from tallystick.core.vocabulary import CAPACITIES

_CLUSTER_BYTES_MAX = 64  # An attempt key has 200 bytes for cluster, job, node and time.


@dataclass(frozen=True, slots=True)
class SlurmOptions:
    """Cluster, time zone and what the accounting of a site leaves out.

    Args:
        cluster: Name of the cluster in attempt keys.
        timezone: IANA zone in which the source printed local times.
        capacity: Pairs of partition and capacity word.
        gpus_per_node: GPUs of each node, for rows that state no count.
        gpu_type: Pairs of partition (None: any) and type, for rows that name no type.
        observed_us: When the inputs were read.
    """

    cluster: str
    timezone: str
    observed_us: int
    capacity: tuple[tuple[str, str], ...] = ()
    gpus_per_node: int | None = None
    gpu_type: tuple[tuple[str | None, str], ...] = ()

    def capacity_of(self, partition: str) -> str:
        """Give the capacity of a partition, ``unknown`` where none was declared."""
        return dict(self.capacity).get(partition, "unknown")

    def gpu_type_of(self, partition: str) -> str | None:
        """Give the GPU type declared for a partition, else that declared for all."""
        types = dict(self.gpu_type)
        return types.get(partition, types.get(None))


def check_options(options: SlurmOptions) -> ZoneInfo:
    """Refuse options that would make wrong records, and give the time zone.

    Raises:
        BadClusterError: the cluster name is empty, too long, or has a space or colon.
        BadCapacityError: a capacity is none of the four words.
        BadGpusPerNodeError: fewer than one GPU per node.
        BadGpuTypeError: a type is empty or not printable.
        BadZoneError: the time zone is not in the database.
    """
    if not _is_plain(options.cluster) or len(options.cluster.encode()) > _CLUSTER_BYTES_MAX:
        raise BadClusterError(options.cluster)
    for partition, word in options.capacity:
        if word not in CAPACITIES:
            raise BadCapacityError(partition, word)
    if options.gpus_per_node is not None and options.gpus_per_node < 1:
        raise BadGpusPerNodeError(options.gpus_per_node)
    for _, gpu_type in options.gpu_type:
        if not gpu_type.strip() or not gpu_type.isprintable():
            raise BadGpuTypeError(gpu_type)
    return _zone(options.timezone)


def _is_plain(cluster: str) -> bool:
    return bool(cluster) and cluster.isprintable() and not set(cluster) & set(" :")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        # A folder of the database, such as "America", is an OSError.
        raise BadZoneError(name) from error
