"""Receipts for GPU runs: durable, replayable and verifiable by anyone.

Read ``docs/ARCHITECTURE.md`` first: evidence flows one way, from ``evidence`` through
``timeline`` and ``rating`` to ``receipt``, and every stage is a plain value.
"""

__version__ = "0.1.0"
