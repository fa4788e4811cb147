"""Local times that a source printed without an offset.

A clock shows the hour that it repeats in autumn twice, and the one that it skips in spring
never. Every meaning of a time is given; the source's own durations decide between them.
"""

from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


def moments_s(shown: datetime, zone: tzinfo) -> tuple[int, ...]:
    """Give the seconds since the epoch at which the clock of a zone showed a time, in order.

    Args:
        shown: The time without a zone, in whole seconds.
        zone: Where the clock stands.
    """
    moments = set()
    for fold in (0, 1):
        try:
            moment = shown.replace(tzinfo=zone, fold=fold).astimezone(UTC)
            again = moment.astimezone(zone)
        except OverflowError:  # The first and last day of the calendar are not whole everywhere.
            continue
        if again.replace(tzinfo=None, fold=0) == shown:
            moments.add(epoch_s(moment))
    return tuple(sorted(moments))


def epoch_s(moment: datetime) -> int:
    """Give the whole seconds between the epoch and a moment."""
    return (moment - _EPOCH) // _SECOND
