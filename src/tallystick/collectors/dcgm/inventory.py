"""Which device an index meant: the list printed beside the statistics, or inventory records."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tallystick.evidence.bodies import DeviceInventory
from tallystick.evidence.record import Record

DeviceMap = Mapping[int, str]


def printed_devices(lists: Iterable[tuple[tuple[int, str], ...]]) -> DeviceMap:
    """Map indexes by the device lists of a call, which state no time of their own."""
    return _map(pair for devices in lists for pair in devices)


def recorded_devices(records: Iterable[Record], node: str, read_us: int) -> DeviceMap:
    """Map indexes by the latest inventory of a node that is not after ``read_us`` (r25)."""
    latest = max(
        (
            record
            for record in records
            if isinstance(record.body, DeviceInventory)
            and record.body.node == node
            and record.at_us is not None
            and record.at_us <= read_us
        ),
        key=lambda record: record.order,
        default=None,
    )
    if latest is None:
        return {}
    assert isinstance(latest.body, DeviceInventory)
    return _map((device.index, device.uuid) for device in latest.body.devices)


def _map(pairs: Iterable[tuple[int, str]]) -> DeviceMap:
    """Keep an index that means one board; MIG instances share the index of theirs."""
    boards: dict[int, set[str]] = defaultdict(set)
    for index, uuid in pairs:
        is_board = not uuid.startswith("MIG-") and uuid.removeprefix("GPU-").strip("0-") != ""
        if is_board and not uuid.endswith("..."):
            boards[index].add(uuid)
    return {index: next(iter(uuids)) for index, uuids in boards.items() if len(uuids) == 1}
