"""Pulling raw samples from a live Prometheus or VictoriaMetrics.

Every sample comes once, with its own time. Reading is bounded: a stretch of time that has
more than can be held is cut in two. Nothing here knows a store; ``app.pull`` seals.
"""

from tallystick.collectors.pull.fetch import Fetcher, Kind, probe
from tallystick.collectors.pull.queries import Query, read_queries
from tallystick.collectors.pull.wire import Server

__all__ = ["Fetcher", "Kind", "Query", "Server", "probe", "read_queries"]
