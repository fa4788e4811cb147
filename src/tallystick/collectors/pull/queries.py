"""What is pulled: selectors, from the command line or from a file of queries.

No metric is known by name here; whoever asks names it. A file is TOML::

    [[query]]
    match = 'gpu_busy_ratio{cluster="a"}'
    metric = "sm_util"  # what to call it; its own name without this
    cadence = "15"  # seconds; that of the call without this
"""

import re
import tomllib
from typing import Any, NamedTuple

from tallystick.collectors.pull.errors import BadQueriesError
from tallystick.core.instant import SECOND_US

_KEYS = {"match", "metric", "cadence"}
_SECONDS = re.compile(r"([0-9]{1,10})(?:\.([0-9]{1,6}))?")


class Query(NamedTuple):
    """A selector, what its samples are to be called, and how often they are taken."""

    match: str
    metric: str | None
    cadence_us: int


def read_queries(path: str, data: bytes, cadence_us: int | None) -> tuple[Query, ...]:
    """Read a file of queries.

    Args:
        path: Its name, for messages.
        data: What it holds.
        cadence_us: Cadence of the queries that state none.

    Raises:
        BadQueriesError: it is no such file.
    """
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadQueriesError(path, f"expected TOML: {str(error).lower()}") from error
    tables = document.get("query")
    if document.keys() != {"query"} or not isinstance(tables, list) or not tables:
        raise BadQueriesError(path, "expected one or more [[query]] and nothing else")
    return tuple(_query(path, place, table, cadence_us) for place, table in enumerate(tables, 1))


def _query(path: str, place: int, table: Any, cadence_us: int | None) -> Query:
    def bad(reason: str) -> BadQueriesError:
        return BadQueriesError(path, f"query {place}: {reason}")

    if not isinstance(table, dict) or not table.keys() <= _KEYS:
        raise bad(f"expected no keys but {', '.join(sorted(_KEYS))}")
    match, metric = table.get("match"), table.get("metric")
    if not _is_name(match):
        raise bad("expected match to be a selector")
    if metric is not None and not _is_name(metric):
        raise bad("expected metric to be a name")
    stated = table.get("cadence")
    own_us = cadence_us if stated is None else _seconds_us(stated)
    if own_us is None:
        raise bad("expected cadence in seconds above 0, here or as --cadence")
    return Query(str(match), metric, own_us)


def _is_name(text: object) -> bool:
    return isinstance(text, str) and text.strip() != "" and text.isprintable()


def _seconds_us(stated: object) -> int | None:
    """Read seconds: an integer, or decimal text, since a TOML float is not exact."""
    is_integer = isinstance(stated, int) and not isinstance(stated, bool)
    match = _SECONDS.fullmatch(str(stated)) if is_integer or isinstance(stated, str) else None
    if match is None:
        return None
    return int(match[1]) * SECOND_US + int((match[2] or "").ljust(6, "0")) or None
