"""Notices of cloud providers, as a poller on a node saved them, become records of attempts."""

from tallystick.collectors.notices.collect import NoticeOptions, collect_notices

__all__ = ["NoticeOptions", "collect_notices"]
