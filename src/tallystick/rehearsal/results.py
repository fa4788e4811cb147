"""The result of a run that works in a folder which this machine sees, too."""

from pathlib import Path

from tallystick.rehearsal.route import Job


def result_file(job: Job, name: str) -> Path | None:
    """Give the file with the result, where the job put it; None if there is none.

    A link that leads out of the folder of the run gives no result.
    """
    path = job.folder / name
    is_below = path.resolve().is_relative_to(job.folder.resolve())
    return path if is_below and path.is_file() else None
