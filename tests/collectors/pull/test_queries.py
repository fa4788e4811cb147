"""Files of queries: selectors with a name and a cadence, and no metric known by name."""

import pytest

from tallystick.collectors.pull.errors import BadQueriesError
from tallystick.collectors.pull.queries import Query, read_queries


def test_a_query_has_a_selector_a_name_and_a_cadence() -> None:
    """What a query states counts; what it leaves out is that of the call."""
    data = b"""
    [[query]]
    match = 'gpu_busy{cluster="a"}'
    metric = "sm_util"
    cadence = "0.5"
    [[query]]
    match = "power"
    [[query]]
    match = "energy"
    cadence = 30
    """

    queries = read_queries("q.toml", data, 15_000_000)

    assert queries == (
        Query('gpu_busy{cluster="a"}', "sm_util", 500_000),
        Query("power", None, 15_000_000),
        Query("energy", None, 30_000_000),
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[[query", "expected TOML"),
        (b"\xff", "expected TOML"),
        (b"", "one or more [[query]]"),
        (b"query = []", "one or more [[query]]"),
        (b"query = [1]", "query 1: expected no keys but"),
        (b"[[query]]\nmatch='a'\nother=1", "query 1: expected no keys but"),
        (b"other=1\n[[query]]\nmatch='a'", "one or more [[query]]"),
        (b"[[query]]\nmetric='a'", "expected match to be a selector"),
        (b"[[query]]\nmatch=' '", "expected match to be a selector"),
        (b"[[query]]\nmatch='a'\nmetric=1", "expected metric to be a name"),
        (b"[[query]]\nmatch='a'\ncadence=1.5", "expected cadence in seconds"),
        (b"[[query]]\nmatch='a'\ncadence=true", "expected cadence in seconds"),
        (b"[[query]]\nmatch='a'\ncadence='0'", "expected cadence in seconds"),
    ],
)
def test_a_file_that_is_none_is_an_error(data: bytes, reason: str) -> None:
    """The message names the file, the query and what was expected."""
    with pytest.raises(BadQueriesError) as error:
        read_queries("q.toml", data, 15_000_000)

    assert reason in str(error.value)
    assert "q.toml" in str(error.value)


def test_a_query_needs_a_cadence() -> None:
    """A cadence that neither the file nor the call states is never guessed."""
    with pytest.raises(BadQueriesError, match="here or as --cadence"):
        read_queries("q.toml", b"[[query]]\nmatch='a'", None)
