"""What ends a rehearsal before it has a result, or keeps it from beginning."""

from tallystick.contract.errors import Mistake
from tallystick.core.errors import TallystickError
from tallystick.core.wording import as_printed


class BadPlanError(TallystickError):
    """A plan cannot be followed: it is no TOML, or states something wrongly or not at all."""

    code = "bad_plan"

    def __init__(self, mistakes: tuple[Mistake, ...]) -> None:
        super().__init__(mistakes)

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """Every mistake, by line."""
        mistakes: tuple[Mistake, ...] = self.args[0]
        return mistakes

    def __str__(self) -> str:
        if len(self.mistakes) == 1:
            return self.mistakes[0].text
        heading = f"{as_printed(self.mistakes[0].source)}: {len(self.mistakes)} mistakes"
        return "\n".join([heading, *(mistake.text for mistake in self.mistakes)])


class NoTargetError(TallystickError):
    """The worker that a fault is meant for is not there."""

    code = "rehearsal_no_target"
    exit_status = 1

    def __init__(self, target: str) -> None:
        super().__init__(target)

    def __str__(self) -> str:
        return (
            f"no process of the job is {as_printed(self.args[0])}:"
            " set RANK for each worker, or let the fault hit all"
        )


class JobNotStartedError(TallystickError):
    """The command of the job cannot be started at all."""

    code = "rehearsal_job_not_started"

    def __init__(self, command: str, reason: str) -> None:
        super().__init__(command, reason)

    def __str__(self) -> str:
        command, reason = self.args
        return f"cannot start {as_printed(command)}: {reason}; correct job.command of the plan"


class RouteUnavailableError(TallystickError):
    """This machine cannot do what a route needs."""

    code = "rehearsal_route_unavailable"

    def __init__(self, route: str, reason: str) -> None:
        super().__init__(route, reason)

    def __str__(self) -> str:
        route, reason = self.args
        return f"cannot rehearse by the {route} route here: {reason}"


class SurvivorsError(TallystickError):
    """Something that the rehearsal started is still there, whatever was done."""

    code = "rehearsal_survivors"
    exit_status = 1

    def __init__(self, ids: tuple[str, ...]) -> None:
        super().__init__(ids)

    def __str__(self) -> str:
        return f"could not end {', '.join(self.args[0])}: look at them yourself"


class RehearsalStoppedError(TallystickError):
    """Somebody asked to stop; what was started is ended."""

    code = "rehearsal_stopped"
    exit_status = 1

    def __str__(self) -> str:
        return "stopped before the end: nothing that was started runs any more"


class RehearsalFolderError(TallystickError):
    """The folder for a rehearsal holds something already."""

    code = "rehearsal_folder_in_use"

    def __init__(self, path: str) -> None:
        super().__init__(path)

    def __str__(self) -> str:
        return f"{as_printed(self.args[0])} is not empty: remove it, or name another with --out"
