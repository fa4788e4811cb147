"""What a scheduler itself says of the attempts of a rehearsal, brought into its store.

Only what was started for the rehearsal is asked for. Who ended an attempt is the scheduler's word
where it has one; where it does not know, the rehearsal does, since it was the rehearsal's act.
"""

from typing import TYPE_CHECKING, cast

from tallystick.app.store import OpenStore
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.route import Route

if TYPE_CHECKING:
    from tallystick.rehearsal.kubernetes import KubernetesRoute
    from tallystick.rehearsal.slurm import SlurmRoute


def bring_evidence(plan: Plan, route: Route, store: OpenStore) -> tuple[str, ...]:
    """Bring what the scheduler of a route says into a store.

    Args:
        plan: What was rehearsed.
        route: The route, which has been closed.
        store: Where to.

    Returns:
        What could not be brought, or left something open.

    Raises:
        TallystickError: the store cannot take more.
    """
    # Each is loaded for its own route only.
    if plan.route == "slurm":
        from tallystick.app.rehearsal_slurm import bring_slurm  # noqa: PLC0415

        return bring_slurm(plan, cast("SlurmRoute", route), store)
    if plan.route == "kubernetes":
        from tallystick.app.rehearsal_kubernetes import bring_kubernetes  # noqa: PLC0415

        return bring_kubernetes(plan, cast("KubernetesRoute", route), store)
    return ()
