"""Lines of keys: every key that the TOML parser sees is found, on the line it was written."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.contract.locate import dots_in_keys, key_lines, line_of
from tallystick.contract.wording import Path

TEXTS = st.text(alphabet="ab#='\"[]{},.\n\\ é", max_size=6)
KEYS = st.sampled_from(["a", "b", "1", "a-b", "", "a.b", "é", "q'", 'q"', "[a]", "# a", "a = 1"])
SCALARS = TEXTS | st.integers(-5, 5) | st.booleans() | st.floats(-2, 2) | st.just(1.5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
_Drawn = TypeVar("_Drawn")

DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


class Writer:
    """Writes a document as TOML in drawn ways, and keeps the line of everything it writes."""

    def __init__(self, data: st.DataObject) -> None:
        self.text = ""
        self.lines: dict[Path, int] = {}
        self._data = data

    def write(self, table: dict[str, Any], path: Path = (), names: tuple[str, ...] = ()) -> None:
        """Write a table's own keys, then those that get headers of their own."""
        headed = {key for key, value in table.items() if self._gets_header(value)}
        for key in [key for key in table if key not in headed]:
            self._filler()
            if isinstance(table[key], dict) and table[key] and self._draw(st.booleans()):
                self._dotted(key, table[key], path)
            else:
                self._assign((key,), table[key], path)
                self.text += "\n"
        for key in [key for key in table if key in headed]:
            value, header = table[key], (*names, key)
            if isinstance(value, dict):
                self._header(f"[{self._dots(header)}]", (*path, key))
                self.lines[*path, key] = self._line() - 1
                self.write(value, (*path, key), header)
            else:
                for position, item in enumerate(value):
                    self._header(f"[[{self._dots(header)}]]", (*path, key))
                    self.lines[*path, key, position] = self._line() - 1
                    self.write(item, (*path, key, position), header)

    def _gets_header(self, value: Any) -> bool:
        is_table = isinstance(value, dict)
        is_tables = isinstance(value, list) and value and all(isinstance(x, dict) for x in value)
        return bool(is_table or is_tables) and self._draw(st.booleans())

    def _header(self, header: str, path: Path) -> None:
        self._filler()
        self.lines.setdefault(path, self._line())
        self.text += header + self._draw(st.sampled_from(["\n", " # [x]\n", "\t\r\n"]))

    def _dotted(self, key: str, table: dict[str, Any], path: Path) -> None:
        for inner, value in table.items():
            self._assign((key, inner), value, path)
            self.text += "\n"

    def _assign(self, names: tuple[str, ...], value: Any, path: Path) -> None:
        for length in range(1, len(names) + 1):
            self.lines.setdefault((*path, *names[:length]), self._line())
        self.text += self._dots(names) + self._draw(st.sampled_from([" = ", "=", "\t= "]))
        self._value(value, (*path, *names))

    def _value(self, value: Any, path: Path) -> None:
        if isinstance(value, dict):
            self.text += "{ "
            for position, key in enumerate(value):
                self.text += ", " if position else ""
                self._assign((key,), value[key], path)
            self.text += " }"
        elif isinstance(value, list):
            self._list(value, path)
        elif isinstance(value, str):
            self.text += self._text(value)
        else:
            self.text += str(value).lower()

    def _list(self, items: list[Any], path: Path) -> None:
        gaps = st.sampled_from(["", " ", "\n", " # ] ,\n"])
        self.text += "[" + self._draw(gaps)
        for position, item in enumerate(items):
            self.lines[*path, position] = self._line()
            self._value(item, (*path, position))
            self.text += self._draw(gaps) + "," + self._draw(gaps)
        self.text += "]"

    def _text(self, value: str) -> str:
        basic = json.dumps(value, ensure_ascii=False)
        ways = [basic, '"""\n' + basic[1:-1].replace("\\n", "\n") + '"""']
        if "'" not in value:
            ways += [f"'''\n{value}'''", *([f"'{value}'"] if "\n" not in value else [])]
        if value.endswith('"'):
            ways.append('"""\n' + basic[1:-1].removesuffix('\\"') + '""""')
        return self._draw(st.sampled_from(ways))

    def _dots(self, names: tuple[str, ...]) -> str:
        return self._draw(st.sampled_from([".", " . "])).join(self._key(name) for name in names)

    def _key(self, name: str) -> str:
        ways = [json.dumps(name, ensure_ascii=False)]
        if "'" not in name:
            ways.append(f"'{name}'")
        if re.fullmatch(r"[A-Za-z0-9_-]+", name):
            ways.append(name)
        return self._draw(st.sampled_from(ways))

    def _filler(self) -> None:
        self.text += self._draw(st.sampled_from(["", "\n", "# [[a]] = '\n", "  "]))

    def _line(self) -> int:
        return self.text.count("\n") + 1

    def _draw(self, strategy: st.SearchStrategy[_Drawn]) -> _Drawn:
        return self._data.draw(strategy)


def paths_of(value: Any, path: Path = ()) -> Iterator[Path]:
    """Give the path of everything in a document."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for part, item in items:
        yield (*path, part)
        yield from paths_of(item, (*path, part))


@given(DOCUMENTS, st.data())
def test_every_key_is_found_on_its_line(document: dict[str, Any], data: st.DataObject) -> None:
    """However a document is written, each key and list item has the line it was written on."""
    writer = Writer(data)
    writer.write(document)

    lines = key_lines(writer.text)

    assert tomllib.loads(writer.text) == document
    assert set(lines) == set(paths_of(document))
    assert lines == writer.lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", {}),
        ("a = 1", {("a",): 1}),
        ("\n'a' = 1 # b = 2\n\"b\\u0063\" = 2", {("a",): 2, ("bc",): 3}),
        ("a = '''\n[b]\n'''\nc = 1979-05-27 07:32:00Z", {("a",): 1, ("c",): 4}),
        ("a.b = 1\na.c = 2", {("a",): 1, ("a", "b"): 1, ("a", "c"): 2}),
        ("[a.b]\n[a]\nc = 1", {("a",): 2, ("a", "b"): 1, ("a", "c"): 3}),
        (
            "[[a]]\n[a.b]\n[[a]]\n[[a.c]]",
            {
                ("a",): 1,
                ("a", 0): 1,
                ("a", 0, "b"): 2,
                ("a", 1): 3,
                ("a", 1, "c"): 4,
                ("a", 1, "c", 0): 4,
            },
        ),
        (
            "a = [ # [\n [1,\n 2], ]",
            {("a",): 1, ("a", 0): 2, ("a", 0, 0): 2, ("a", 0, 1): 3},
        ),
    ],
)
def test_lines_of_small_texts(text: str, lines: dict[Path, int]) -> None:
    """Comments, strings and brackets do not mislead; an explicit header wins."""
    assert key_lines(text) == lines


@pytest.mark.parametrize(
    ("path", "line"), [(("a", 0), 3), (("a", 0, "b", "c"), 3), (("a", 1), 2), (("z",), None)]
)
def test_what_is_missing_has_the_line_of_what_lacks_it(path: Path, line: int | None) -> None:
    """A path without a line has that of the innermost thing around it."""
    assert line_of(path, {("a",): 2, ("a", 0): 3}) == line


@pytest.mark.parametrize(
    ("text", "dots"),
    [("a = 1.5", 1), ("a.'b.c'.d = '...'\n[a.b] # a.b.c.d", 2), ("[a]\nb.c = 1\nd.e = 1", 1)],
)
def test_dots_count_between_names_only(text: str, dots: int) -> None:
    """Dots of strings and comments lead nowhere, and each key starts anew."""
    assert dots_in_keys(text) == dots
