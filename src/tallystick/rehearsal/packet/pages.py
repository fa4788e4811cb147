"""The files of a packet: one for programs, one for reading, one for looking at."""

from typing import Any

from tallystick.core.canonical import canonical_bytes
from tallystick.rehearsal.packet.markdown import packet_markdown
from tallystick.rehearsal.packet.page import packet_html


def packet_files(packet: dict[str, Any]) -> dict[str, bytes]:
    """Write a packet in all its forms, by name."""
    return {
        "packet.json": canonical_bytes(packet) + b"\n",
        "packet.md": packet_markdown(packet).encode(),
        "packet.html": packet_html(packet).encode(),
    }
