"""What goes wrong between a rehearsal and a scheduler."""

from tallystick.core.errors import TallystickError
from tallystick.core.wording import as_printed, quoted


class SchedulerRefusedError(TallystickError):
    """A scheduler does not do what it is asked, or does not answer."""

    code = "rehearsal_scheduler_refused"
    exit_status = 1

    def __init__(self, asked: str, reason: str) -> None:
        super().__init__(asked, reason)

    def __str__(self) -> str:
        asked, reason = self.args
        return f"{as_printed(asked)}: {quoted(reason, 300)}; see to that, then rehearse again"


class NotOursError(TallystickError):
    """What has a recorded id is not what was started under it."""

    code = "rehearsal_not_ours"
    exit_status = 1

    def __init__(self, what: str) -> None:
        super().__init__(what)

    def __str__(self) -> str:
        return f"{self.args[0]} is not what the rehearsal started: nothing was done to it"


class EvictionRefusedError(TallystickError):
    """A PodDisruptionBudget keeps the pod of a rehearsal from being evicted."""

    code = "rehearsal_eviction_refused"
    exit_status = 1

    def __init__(self, pod: str, waited_s: int, reason: str) -> None:
        super().__init__(pod, waited_s, reason)

    def __str__(self) -> str:
        pod, waited_s, reason = self.args
        return (
            f"the API refused for {waited_s} s to evict {as_printed(pod)}: {quoted(reason, 300)};"
            " take the rehearsal's pods out of that PodDisruptionBudget"
        )
