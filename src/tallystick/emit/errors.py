"""Reasons why a node cannot keep what it saw."""

from __future__ import annotations


class SpoolUnusableError(Exception):
    """The spool is not there, belongs to somebody else, or cannot be written."""

    code = "spool_unusable"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot use the spool {path!a}: {reason}"
