"""Device samples of other programs: Prometheus, VictoriaMetrics, dcgm-exporter pages.

The UUID is the identity of a device and every other label is a hint. Values are the text of
the source and are never parsed as floats: what is blank or impossible is decided when
coverage is computed, from what was said.
"""

from tallystick.collectors.samples.answers import collect_prometheus, collect_victoriametrics
from tallystick.collectors.samples.exporter import collect_exporter
from tallystick.collectors.samples.series import SampleOptions

__all__ = [
    "SampleOptions",
    "collect_exporter",
    "collect_prometheus",
    "collect_victoriametrics",
]
