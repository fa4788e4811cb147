"""The packet as Markdown that also reads well in a terminal."""

import re
from collections.abc import Iterator
from typing import Any

from tallystick.receipt.columns import visible
from tallystick.rehearsal.packet.rows import Row, sections, summary

_SPECIAL = re.compile(r"([`*_\[\]<>#|~&])")
_SHOWN_MAX = 3


def packet_markdown(packet: dict[str, Any]) -> str:
    """Write a packet as Markdown; what comes from others cannot format it."""
    return "\n".join(_lines(packet)) + "\n"


def _lines(packet: dict[str, Any]) -> Iterator[str]:
    yield f"# Recovery packet: {_plain(packet['run'])}"
    yield ""
    yield _plain(summary(packet))
    for section in sections(packet):
        yield ""
        yield f"## {_plain(section.title)}"
        yield ""
        for row in section.rows:
            yield _item(row)
    yield ""
    yield "Each number names its records by the first digits of their digests;"
    yield "`packet.json` has them in full, and the bundles have the records."


def _item(row: Row) -> str:
    proof = ", ".join(f"`{each.removeprefix('sha256:')[:8]}`" for each in row.evidence[:_SHOWN_MAX])
    more = len(row.evidence) - _SHOWN_MAX
    further = f" and {more} more" if more > 0 else ""
    text = f"**{_plain(row.label)}**: {_plain(row.text)}"
    return f"- {text} ({proof}{further})" if proof else f"- {text}"


def _plain(text: str) -> str:
    """Write a text so that Markdown and a terminal show it as it is."""
    return _SPECIAL.sub(r"\\\1", visible(text, ascii_only=False))
