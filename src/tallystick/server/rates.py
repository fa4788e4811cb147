"""How many records a token may send: a bucket that fills at a rate, and may be overdrawn once.

A batch passes while the bucket is not empty and is then taken out whole, so that every batch
can pass at some time, and the average is the rate all the same. Counted in nanoseconds that the
records stand for, with integers.
"""

from tallystick.app.ingest import SECOND_NS

_TOKENS_MAX = 4096


class Rates:
    """The buckets of all tokens, kept as the time at which each is full again."""

    def __init__(self, rate: int, burst: int) -> None:
        """Begin with full buckets.

        Args:
            rate: Records per second.
            burst: Records that a full bucket holds.
        """
        self._cost_ns = -(-SECOND_NS // rate)
        self._burst_ns = burst * self._cost_ns
        self._full_ns: dict[str, int] = {}

    def wait_s(self, token: str, now_ns: int) -> int:
        """Give the whole seconds until a token may send again, 0 for now."""
        over_ns = self._full_ns.get(token, now_ns) - now_ns - self._burst_ns
        return 0 if over_ns < 0 else over_ns // SECOND_NS + 1

    def take(self, token: str, records: int, now_ns: int) -> None:
        """Take records out of a token's bucket."""
        if len(self._full_ns) >= _TOKENS_MAX:
            self._full_ns = {name: at for name, at in self._full_ns.items() if at > now_ns}
        full_ns = max(self._full_ns.get(token, now_ns), now_ns)
        self._full_ns[token] = full_ns + records * self._cost_ns
