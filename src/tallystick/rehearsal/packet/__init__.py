"""The recovery packet: what an interruption cost a run, under one run id, each number proven.

A packet is a pure function of the receipts of both runs and of their evidence, so whoever has
their bundles computes the same bytes.
"""

from tallystick.rehearsal.packet.make import SCHEMA, recovery_packet
from tallystick.rehearsal.packet.pages import packet_files

__all__ = ["SCHEMA", "packet_files", "recovery_packet"]
