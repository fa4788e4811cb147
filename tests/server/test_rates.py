"""Rates: on average a token sends so many records a second, whatever its batches."""

from tallystick.app.ingest import SECOND_NS
from tallystick.server.rates import Rates


def test_a_full_bucket_may_be_emptied_at_once() -> None:
    """What was not sent before may be sent now."""
    rates = Rates(rate=10, burst=100)

    rates.take("t", 99, 0)

    assert rates.wait_s("t", 0) == 0


def test_an_overdrawn_bucket_has_to_fill_first() -> None:
    """A batch that is larger than the bucket passes, and is paid for afterwards."""
    rates = Rates(rate=10, burst=100)

    rates.take("t", 150, 0)

    assert rates.wait_s("t", 0) == 6
    assert rates.wait_s("t", 5 * SECOND_NS) == 1
    assert rates.wait_s("t", 5 * SECOND_NS + 1) == 0


def test_tokens_do_not_share_a_bucket() -> None:
    """One that sends too much costs the others nothing."""
    rates = Rates(rate=1, burst=1)

    rates.take("t", 1000, 0)

    assert rates.wait_s("u", 0) == 0


def test_a_bucket_does_not_overflow() -> None:
    """However long a token was silent, it may send one bucket at once."""
    rates = Rates(rate=10, burst=100)
    rates.take("t", 1, 0)

    rates.take("t", 110, 1000 * SECOND_NS)

    assert rates.wait_s("t", 1000 * SECOND_NS) == 2


def test_only_full_buckets_are_forgotten() -> None:
    """Tokens that came once do not fill the memory, and none is rid of what it overdrew."""
    rates = Rates(rate=1, burst=1)
    rates.take("t", 10_000, 0)

    for number in range(5000):
        rates.take(f"t{number}", 1, number * SECOND_NS // 1000)

    assert rates.wait_s("t", 5 * SECOND_NS) == 9995
