"""Rules r1 and r15 to r17: tables as text, and the rows that cannot be read."""

from collections.abc import Callable
from typing import Any

import pytest

Collect = Callable[..., Any]
Table = Callable[..., str]

KEY = "slurm:c7:1:1770000000"


def test_surplus_fields_belong_to_the_last_free_text(collect: Collect, table: Table) -> None:
    """r15: each of the four may take them."""
    for name in ("JobName", "Comment", "SubmitLine", "WorkDir"):
        story = collect(table({name: "a||b|"}))
        assert story.bodies("allocation.row")[0]["raw"][name] == "a||b|"


@pytest.mark.parametrize(
    "row",
    [
        {"JobName": "a|b", "Comment": "c"},  # Two columns could hold the delimiter.
        {"JobName": "a|b", "Partition": "train"},  # Free text is not last.
        {"Partition": "a|b"},  # The last column is not free text.
        {"AdminComment": "x", "JobName": "a|b"},
    ],
)
def test_surplus_fields_elsewhere_make_a_bad_row(
    collect: Collect, table: Table, row: dict[str, str]
) -> None:
    """r15: nothing says where the row shifted."""
    story = collect(table(row))

    assert [(each.code, each.line) for each in story.findings] == [("bad_row", 2)]
    assert story.records == []


def test_lines_end_at_line_feeds_only(collect: Collect, table: Table) -> None:
    """r15: other separators may stand in a name."""
    name = "a\x1cb\x85c\u2028d\x0be\rf"

    story = collect(table({"JobName": name}))

    assert story.bodies("allocation.row")[0]["raw"]["JobName"] == name


def test_lines_that_end_in_crlf_are_read_as_such(collect: Collect, table: Table) -> None:
    """A table that went through another system has its last column clean."""
    story = collect(table({"NodeList": "g7"}, end="\r\n"))

    assert story.started[KEY]["nodes"] == ["g7"]
    assert story.bodies("allocation.row")[0]["raw"]["NodeList"] == "g7"


@pytest.mark.parametrize("delimiter", ["|", "\x1f", "\t", ";", "~~", " | ", "§", "xx", "|x|"])
def test_the_delimiter_is_read_off_the_header(
    collect: Collect, table: Table, delimiter: str
) -> None:
    """r1: whatever stands between the column names."""
    story = collect(table({"JobName": "plain"}, delimiter=delimiter))

    assert (story.kinds, story.codes) == (["row", "started", "ended"], [])


def test_a_delimiter_that_closes_lines_is_no_column(collect: Collect, table: Table) -> None:
    """``sacct -p`` ends each line with one; a line without it was cut."""
    data = table({"JobName": "a|b|"}, {"JobIDRaw": "2", "JobName": "cut"})
    closed = data.replace("JobName\n", "JobName|\n")

    story = collect(closed)

    assert story.bodies("allocation.row")[0]["raw"]["JobName"] == "a|b"
    assert [(each.code, each.line) for each in story.findings] == [("bad_row", 3)]


def test_columns_of_a_later_version_are_kept(collect: Collect, table: Table) -> None:
    """A name that is not known yet is a column like any other."""
    story = collect(table({"NewColumn2030": "x"}))

    assert story.bodies("allocation.row")[0]["raw"]["NewColumn2030"] == "x"


@pytest.mark.parametrize(
    "nodes", ["g[1-2", "g]1", "g[2-1]", "g[]", "g[a-b]", "g1,,g2", "g 1", "n[0-999999999]", "\x00"]
)
def test_a_malformed_host_list_makes_a_bad_row(collect: Collect, table: Table, nodes: str) -> None:
    """r16."""
    assert collect(table({"NodeList": nodes})).codes == ["bad_row"]


def test_a_host_list_has_an_end(collect: Collect, table: Table) -> None:
    """r16: 65536 hosts are read, one more is not."""
    data = table({"NodeList": "g[1-65536]"}, {"JobIDRaw": "2", "NodeList": "g[0-65535],h"})

    story = collect(data)

    assert len(story.started[KEY]["nodes"]) == 65536
    assert [(each.code, each.line) for each in story.findings] == [("bad_row", 3)]


@pytest.mark.parametrize("job_id", ["", "x", "12x", "-1", "1_2", "1\x00", "9" * 400])
def test_a_job_id_that_is_no_number_makes_a_bad_row(
    collect: Collect, table: Table, job_id: str
) -> None:
    """r17: identity is not guessed."""
    assert collect(table({"JobIDRaw": job_id})).codes == ["bad_row"]


def test_too_few_fields_make_a_bad_row(collect: Collect, table: Table) -> None:
    """r17: the header is line 1, blank lines count."""
    data = table({}).replace("\n", "\n\n") + "2|2|1770000000\n"

    story = collect(data)

    assert [(each.code, each.line) for each in story.findings] == [("bad_row", 5)]


def test_bytes_that_are_no_text_are_spelt_out_in_free_text(collect: Collect, table: Table) -> None:
    """A name in another encoding costs nothing; the bytes can still be told."""
    data = table({"JobName": "m\xfcller"}).encode("latin-1")

    story = collect(data)

    assert story.bodies("allocation.row")[0]["raw"]["JobName"] == r"m\xfcller"
    assert story.ended_by == {KEY: "completed"}


def test_bytes_that_are_no_text_elsewhere_make_a_bad_row(collect: Collect, table: Table) -> None:
    """What decides is not repaired."""
    data = table({"Partition": "m\xfcller"}, {"JobIDRaw": "2"}).encode("latin-1")

    assert collect(data).codes == ["bad_row"]


def test_a_byte_order_mark_is_no_column_name(collect: Collect, table: Table) -> None:
    """A table that a spreadsheet saved is read."""
    assert collect(b"\xef\xbb\xbf" + table({}).encode()).kinds == ["row", "started", "ended"]
