"""SkyPilot: the database of its managed jobs becomes attempts, one for each stretch of RUNNING."""

from tallystick.collectors.skypilot.collect import SkypilotOptions, collect_skypilot

__all__ = ["SkypilotOptions", "collect_skypilot"]
