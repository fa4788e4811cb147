"""Reading prints of dcgmi: blocks, sections, device lists, errors."""

from pathlib import Path

from tallystick.emit.dcgm.report import read_report

FIXTURES = Path(__file__).parents[2] / "fixtures" / "dcgm"
GPU1 = (FIXTURES / "gpu1.txt").read_text()
SUMMARY = (FIXTURES / "summary.txt").read_text()
DEVICES = (FIXTURES / "gpus.txt").read_text()
NO_DATA = "Error: Unable to retrieve job statistics. Return: No data is available."


def test_a_summary_is_no_block() -> None:
    """The sum over GPUs is statistics, and of no GPU (r26)."""
    report = read_report(SUMMARY)

    assert (report.has_statistics, report.blocks) == (True, ())


def test_rows_of_processes_are_not_the_gpus_own() -> None:
    """Only the execution and performance sections are read; others use similar labels."""
    text = GPU1.replace("|     Avg SM Utilization (%)  ", "| SM Utilization (%)          ")

    (block,) = read_report(text).blocks

    assert block.rows["SM Utilization (%)"] == "Avg: 91, Max: 100, Min: 0"
    assert "PID" not in block.rows


def test_a_block_knows_its_index_and_line() -> None:
    """A finding about a block can name the line where it begins."""
    (block,) = read_report(GPU1).blocks

    assert (block.gpu_index, block.line, block.whole) == (1, 3, True)


def test_prints_may_follow_each_other_in_one_text() -> None:
    """Statistics of two reads, the device list and an error in one file are all found."""
    report = read_report(GPU1 + DEVICES + NO_DATA + "\n" + SUMMARY + GPU1)

    assert [block.gpu_index for block in report.blocks] == [1, 1]
    assert all(block.whole for block in report.blocks)
    assert [text for _, text in report.errors] == [NO_DATA]
    assert len(report.devices) == 3


def test_windows_line_ends_change_nothing() -> None:
    """CR before LF is no part of a cell."""
    report = read_report((GPU1 + DEVICES).replace("\n", "\r\n"))

    assert report == read_report(GPU1 + DEVICES)


def test_the_device_list_is_in_any_order_and_may_have_holes() -> None:
    """Indexes are read, not counted."""
    report = read_report(DEVICES)

    assert report.devices == (
        (3, "GPU-00000004-5a5a-4b4b-8c8c-000000000004"),
        (0, "GPU-00000001-5a5a-4b4b-8c8c-000000000001"),
        (1, "GPU-00000002-5a5a-4b4b-8c8c-000000000002"),
    )


def test_a_list_of_something_else_is_no_device_list() -> None:
    """Processors that are listed below the GPUs are none of them."""
    cpus = (
        "| CPU ID | CPU Information                                                      |\n"
        "| 0      | Name: Grace CPU                                                      |\n"
        "|        | Device UUID: CPU-00000001                                            |\n"
    )

    report = read_report(DEVICES + cpus)

    assert report.devices == read_report(DEVICES).devices


def test_a_text_that_breaks_off_leaves_its_block_incomplete() -> None:
    """A row that is cut within its value is not read, and the block says so."""
    cut = GPU1[: GPU1.index("1575000") + 3]

    (block,) = read_report(cut).blocks

    assert block.whole is False
    assert "Energy Consumed (Joules)" not in block.rows
    assert block.rows["No. of Processes"] == "1"


def test_a_block_that_another_print_interrupts_is_incomplete() -> None:
    """What is appended to a text that broke off does not complete it."""
    cut = GPU1[: GPU1.index("| SM Clock")]

    first, second = read_report(cut + GPU1).blocks

    assert (first.whole, second.whole) == (False, True)


def test_other_messages_are_no_errors() -> None:
    """Messages of success neither complain nor count as statistics."""
    text = "Successfully started recording stats for 77.\nSuccessfully removed job 77.\n"

    report = read_report(text)

    assert report.is_empty
