"""The pages of a packet: one story whole, and what others may have written into it.

``UPDATE_GOLDEN=1 pytest tests/rehearsal/packet`` writes the golden files again; the difference
is then reviewed.
"""

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tallystick.rehearsal.packet import packet_files
from tests.evidence.records import Json, notice
from tests.rehearsal.packet.packets import interrupted, packet_of, twin

GOLDEN = Path(__file__).parent / "golden"
NASTY = 'r<script>alert(1)</script>*_`[x](y)\u202eevil & "more"'


class Reader(HTMLParser):
    """Reads a page: its tags, its text, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        self.loads += [str(each) for name, each in attrs if name in {"src", "href", "style"}]

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


def read(page: bytes) -> Reader:
    """Read a page."""
    reader = Reader()
    reader.feed(page.decode())
    return reader


def renamed(packet: Json, name: str) -> Json:
    """Give a packet whose names are somebody's idea of a joke."""
    packet["run"] = name
    packet["interruptions"][0]["attempt"] = name
    packet["interruptions"][0]["restore"]["restored"]["value"]["checkpoint"] = name
    return packet


@pytest.mark.parametrize("name", ["packet.json", "packet.md", "packet.html"])
def test_a_story_reads_as_it_should(tmp_path: Path, name: str) -> None:
    """Every byte of every page."""
    page = packet_files(packet_of(tmp_path, *interrupted(notice("00:29")), *twin()))[name]

    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(page)
    assert page == path.read_bytes()


def test_the_page_loads_and_runs_nothing(tmp_path: Path) -> None:
    """No script, no address, no style but the one that its policy names by digest."""
    page = packet_files(packet_of(tmp_path, *interrupted(), *twin()))["packet.html"]

    reader = read(page)
    assert "script" not in reader.tags
    assert reader.loads == []
    assert b"default-src 'none'" in page
    assert reader.tags.count("svg") >= 1


def test_names_of_others_are_text_and_nothing_else(tmp_path: Path) -> None:
    """Markup, Markdown and marks that turn the text around are shown as they are written."""
    pages = packet_files(renamed(packet_of(tmp_path, *interrupted(), *twin()), NASTY))

    reader = read(pages["packet.html"])
    markdown = pages["packet.md"].decode()
    assert "script" not in reader.tags
    assert "<script>alert(1)</script>" in reader.text
    assert "\u202e" not in reader.text + markdown
    assert "r\\<script\\>" in markdown
    assert re.search(r"(?<!\\)\[x\]", markdown) is None


def test_only_what_is_unknown_is_hatched(tmp_path: Path) -> None:
    """In the picture: the piece of which nobody knows what it was."""
    page = packet_files(packet_of(tmp_path, *interrupted(), *twin()))["packet.html"].decode()
    picture = page[page.index('<svg class="run"') :]
    picture = picture[: picture.index("<figcaption>")]

    hatched = re.findall(r'<rect class="unk".*?<title>(.*?)</title>', picture)

    assert hatched
    assert all(each.startswith("unknown") for each in hatched)


def test_a_run_without_time_has_no_picture(tmp_path: Path) -> None:
    """And the page stands without it."""
    packet = packet_of(tmp_path, *interrupted(), *twin())
    packet["timeline"] = []

    assert b"<figure>" not in packet_files(packet)["packet.html"]
