"""Finding the segments that may tell something of a window."""

from fractions import Fraction

import pytest

from tallystick.core.interval import Interval
from tallystick.evidence.bodies import Samples
from tallystick.timeline.catalogue import Catalogue, catalogue
from tallystick.timeline.seen import Seen

HELD = Interval(100, 200)


def samples(
    name: str,
    from_us: int,
    to_us: int,
    gpus: str = "g1",
    *,
    metric: str = "m",
    cadence_us: int = 4,
) -> Samples:
    """Name a segment."""
    return Samples(
        segment=name,
        path="",
        rows=1,
        from_us=from_us,
        to_us=to_us,
        gpus=tuple(gpus.split()),
        metric=metric,
        cadence_us=cadence_us,
    )


def index(*bodies: Samples) -> Catalogue:
    """Index segments, each named by a record of its own name."""
    return catalogue([Seen(body.from_us, body.segment, body) for body in bodies], ())


def found(segments: Catalogue, uuid: str = "g1") -> list[str]:
    """Name the segments that may tell something of the time held; their reach is 10."""
    return sorted(look.segment.digest for look in segments.looks(uuid, HELD, Fraction(5, 2)))


@pytest.mark.parametrize(
    ("from_us", "to_us", "expected"),
    [
        (80, 89, []),
        (80, 90, ["s"]),
        (150, 150, ["s"]),
        (0, 999, ["s"]),
        (210, 300, ["s"]),
        (211, 300, []),
    ],
)
def test_a_segment_within_reach_may_tell(from_us: int, to_us: int, expected: list[str]) -> None:
    """Its ends are samples, and one reach outside both edges is near enough (rule 24)."""
    assert found(index(samples("s", from_us, to_us))) == expected


def test_a_long_segment_is_found_behind_short_ones() -> None:
    """The order is that of starts, and an early one may last longest."""
    segments = index(samples("a", 0, 150), samples("b", 10, 20), samples("c", 30, 40))

    assert found(segments) == ["a"]


def test_a_segment_is_found_for_every_gpu_that_it_names_and_no_other() -> None:
    """Naming a GPU twice is naming it."""
    segments = index(samples("a", 100, 200, "g1 g2 g1"), samples("b", 100, 200, "g2"))

    assert [found(segments, uuid) for uuid in ("g1", "g2", "g3")] == [["a"], ["a", "b"], []]


def test_each_series_is_asked_with_its_own_reach() -> None:
    """The cadence of the series counts, and that of no other (rule 22)."""
    segments = index(
        samples("a", 80, 85), samples("b", 80, 85, cadence_us=6), samples("c", 80, 90, metric="n")
    )

    windows = [look.window for look in segments.looks("g1", HELD, Fraction(5, 2))]

    assert [(window.metric, window.reach_us) for window in windows] == [("m", 15), ("n", 10)]


def test_segments_are_known_by_their_hash_with_or_without_its_method() -> None:
    """Both ways of writing name one segment."""
    segments = index(samples("sha256:00", 0, 1), samples("00", 2, 3))

    assert [len(records) for records in segments.named.values()] == [2]
