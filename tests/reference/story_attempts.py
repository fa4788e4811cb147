"""How an attempt goes: starts, ends, notices, steps, saves, waits, restarts, decisions."""

from tests.reference.story_contracts import CAPACITIES, ENDED_BY, TIERS, TYPES, ZONES, disposition
from tests.reference.story_teller import SECOND, Json, Plan, Teller, text

WAITS = ("checkpoint_storage", "data", "collective", "compile", "other")
CHECKPOINTS = ("ckpt", "last", "ten")


def tell_attempt(teller: Teller, plan: Plan) -> None:
    """Tell an attempt from start to end, as its sources saw it."""
    rng = teller.rng
    if teller.chance(0.04):  # A link without a start.
        teller.tell("attempt.linked", None, {"run": plan.run, "attempt": plan.key})
    else:
        tell_starts(teller, plan)
    tell_ends(teller, plan)
    tell_allocation(teller, plan)
    if teller.chance(0.85):
        tell_progress(teller, plan)
    for _ in range(rng.choice((0, 0, 0, 1, 2, 5))):
        tell_anything(teller, plan)
    for _ in range(rng.choice((0, 0, 0, 1, 2, 3))):
        tell_resolution(teller, plan)
    for _ in range(rng.choice((0, 0, 1))):
        tell_job_stats(teller, plan)


def tell_starts(teller: Teller, plan: Plan) -> None:
    """Give one or more starts, which may disagree, and links."""
    rng = teller.rng
    facts: Json = {
        "gpu_type": rng.choice((*TYPES, "H100", None)),
        "capacity": rng.choice((*CAPACITIES, "spot")),
        "zone": rng.choice((*ZONES, None)),
        "tier": rng.choice((*TIERS, None, None)),
    }
    nodes = sorted({node for _, node in plan.gpus})
    shapes = rng.choice(("gpus", "gpus", "gpus", "count", "hooks", "hooks count")).split()
    stated = rng.choice((plan.run, plan.run, plan.run, None))
    for shape in shapes:
        for node in nodes if shape == "hooks" else [None]:
            at = plan.start + (rng.choice((1, 10, -10)) * SECOND if teller.chance(0.06) else 0)
            own = [(gpu, on) for gpu, on in plan.gpus if node in (None, on)]
            body = dict(facts) if teller.chance(0.93) else facts | {"capacity": "reserved"}
            body |= {
                "attempt": plan.key,
                "run": stated if teller.chance(0.96) else "run-guess",
                "scheduler": rng.choice(("slurm", "kubernetes", "skypilot", "local")),
                "cluster": "c1",
                "job_id": "7",
                "nodes": ([node] if node else nodes + rng.choice(([], [], ["node-c"], ["node-z"]))),
            }
            if shape == "count":
                body["gpu_count"] = rng.choice((len(own), len(own), len(own) + 1, 4, 0, 1))
                if teller.chance(0.2):
                    body["nodes"] = []
            else:
                body["gpus"] = [{"uuid": gpu, "node": on} for gpu, on in own]
                if teller.chance(0.15):
                    body["gpu_count"] = len(own) + rng.choice((0, 0, 1, 2, -1))
            teller.tell("allocation.started", at, body, f"slurmd/{node or 'ctl'}")
    if stated is None or teller.chance(0.1):
        for _ in range(rng.choice((0, 1, 1, 2))):
            run = plan.run if teller.chance(0.9) else "run-linked"
            teller.tell("attempt.linked", None, {"run": run, "attempt": plan.key})


def tell_ends(teller: Teller, plan: Plan) -> None:
    """Give no end, one, or two that may disagree."""
    rng = teller.rng
    by = rng.choice((*ENDED_BY, "provider", "provider", "completed", "scheduler"))
    for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 1, 2))):
        body: Json = {"attempt": plan.key, "ended_by": by}
        if teller.chance(0.4):
            body["exit_code"] = rng.choice((0, 0, 1))
        if teller.chance(0.15):
            body["signal"] = 9
        at = plan.end + (rng.choice((5, -5)) * SECOND if teller.chance(0.08) else 0)
        teller.tell("allocation.ended", at, body)
        by = rng.choice((by, by, "unknown", *ENDED_BY))


def tell_allocation(teller: Teller, plan: Plan) -> None:
    """Suspend, resume, give notice."""
    rng = teller.rng
    for _ in range(rng.choice((0, 0, 0, 1, 2, 4))):
        kind = rng.choice(("allocation.suspended", "allocation.resumed"))
        teller.tell(kind, plan.grid(rng), {"attempt": plan.key})
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        lead = rng.choice((0, 60, 120, 180, 420)) * SECOND
        at = plan.end - lead if teller.chance(0.8) else plan.grid(rng)
        body: Json = {"attempt": plan.key, "by": rng.choice(("provider", "scheduler"))}
        body["deadline"] = rng.choice((None, text(plan.end)))
        teller.tell("allocation.notice", at, body)


def tell_progress(teller: Teller, plan: Plan) -> None:
    """Give a plausible life: starting, steps, saves, waits, restarts, in time order."""
    rng = teller.rng
    grain = rng.choice((10, 20, 30, 60)) * SECOND
    at, every = plan.start + rng.choice((0, 1, 2)) * grain, rng.choice((1, 1, 5, 10))
    step = rng.choice((0, 0, 5, 10, 20, 30, 50))
    if teller.chance(0.5):
        teller.tell("progress.started", at, {"attempt": plan.key, "writer": "r0"}, "trainer")
        at += rng.choice((0, 1)) * grain
    if teller.chance(0.75):
        tell_restore(teller, plan, at, step)
        at += rng.choice((0, 1)) * grain
    while at <= plan.end and not teller.chance(0.07):
        act = rng.choice(("step",) * 6 + ("save", "save", "wait", "restore", "verify"))
        if act == "step":
            at += grain
            step += every
            body: Json = {"attempt": plan.key, "step": step, "every": every}
            teller.tell("progress.step", at, body, "trainer")
        elif act == "save":
            at = tell_save(teller, plan, at, step, grain)
        elif act == "wait":
            body = {"attempt": plan.key, "reason": rng.choice(WAITS)}
            teller.tell("progress.waiting", at, body, "trainer")
            at += rng.choice((0, 1, 1, 2)) * grain
            if teller.chance(0.8):
                teller.tell("progress.resumed", at, {"attempt": plan.key}, "trainer")
        elif act == "restore" and teller.chance(0.4):
            step = max(0, step - rng.choice((0, 5, 10, 20)))
            tell_restore(teller, plan, at, step)
        elif act == "verify":
            tell_verification(teller, plan, at)


def tell_restore(teller: Teller, plan: Plan, at: int, step: int) -> None:
    """Give a restore."""
    checkpoint = teller.rng.choice(CHECKPOINTS) if step else None
    body = {"attempt": plan.key, "checkpoint": checkpoint, "step": step}
    teller.tell("checkpoint.restored", at, body, "trainer")


def tell_save(teller: Teller, plan: Plan, at: int, step: int, grain: int) -> int:
    """Give a save, blocking or not, committed or not; give the time after it."""
    rng = teller.rng
    body: Json = {"attempt": plan.key, "checkpoint": rng.choice(CHECKPOINTS), "step": step}
    blocking = rng.choice((None, None, True, False))
    if blocking is not None:
        body["blocking"] = blocking
    if teller.chance(0.9):
        teller.tell("checkpoint.begun", at, body, "trainer")
    length = rng.choice((0, 1, 1, 2)) * grain
    if teller.chance(0.8):
        teller.tell("checkpoint.committed", at + length, body, rng.choice(("trainer", "storage")))
    return at if blocking is False else at + length


def tell_verification(teller: Teller, plan: Plan, at: int) -> None:
    """Judge a checkpoint, now or much later."""
    rng = teller.rng
    body = {"attempt": plan.key, "checkpoint": rng.choice(CHECKPOINTS)}
    when = at if teller.chance(0.6) else rng.choice((4000, 4000, 5000)) * SECOND
    teller.tell("checkpoint.verified", when, body | {"ok": teller.chance(0.5)})


def tell_anything(teller: Teller, plan: Plan) -> None:
    """Give one event at any moment, plausible or not."""
    rng = teller.rng
    at = plan.grid(rng)
    name = {"attempt": plan.key}
    save = name | {"checkpoint": rng.choice(CHECKPOINTS), "step": rng.choice((0, 5, 10, 20, 40))}
    kind, body = rng.choice(
        (
            ("progress.started", name | {"writer": "r1"}),
            ("progress.step", name | {"step": rng.randint(0, 60), "every": rng.choice((1, 10))}),
            ("progress.waiting", name | {"reason": rng.choice(WAITS)}),
            ("progress.resumed", name),
            ("checkpoint.begun", save | {"blocking": teller.chance(0.7)}),
            ("checkpoint.committed", save),
            ("checkpoint.restored", save),
            ("checkpoint.verified", name | {"checkpoint": save["checkpoint"], "ok": False}),
            ("allocation.suspended", name),
            ("allocation.resumed", name),
        )
    )
    teller.tell(kind, at, body)


def tell_resolution(teller: Teller, plan: Plan) -> None:
    """Decide about some of an attempt's time."""
    rng = teller.rng
    first, second = sorted((plan.grid(rng), plan.grid(rng)))
    if teller.chance(0.4):
        first, second = min(plan.start, plan.end), max(plan.start, plan.end)
    names = [gpu for gpu, _ in plan.gpus]
    teller.tell(
        "decision.resolution",
        rng.choice((5000, 5000, 5500, 6000)) * SECOND,
        {
            "run": plan.run if teller.chance(0.95) else "run-other",
            "attempt": plan.key,
            "from": text(first),
            "to": text(second),
            "gpus": None if teller.chance(0.5) else rng.sample(names, rng.randint(1, len(names))),
            "clause": rng.choice(("9.1", "9.2")),
            "disposition": disposition(rng),
            "by": "both",
            "note": "",
        },
        "billing",
    )


def tell_job_stats(teller: Teller, plan: Plan) -> None:
    """Give a summary of each GPU, or of some."""
    rng = teller.rng
    for gpu, node in plan.gpus:
        if teller.chance(0.3):
            continue
        nothing = teller.chance(0.2)
        start, end = plan.start, plan.end
        if teller.chance(0.3):
            start, end = plan.grid(rng), plan.grid(rng)
        body: Json = {
            "attempt": plan.key,
            "gpu": gpu,
            "start": text(start),
            "end": text(end),
            "keep_us": rng.choice((None, 60, 300, 600, 3600)),
            "energy_mj": rng.choice((None, "9223372036854775792")) if nothing else "210000",
            "power_w": rng.choice((None, "2147483632")) if nothing else rng.choice(("350", 350)),
            "sm_util": rng.choice((0, None, "0.0")) if nothing else rng.choice((0, 90)),
            "mem_util": 0 if nothing else 9,
            "processes": rng.choice((0, None)) if nothing else 1,
        }
        if body["keep_us"] is not None:
            body["keep_us"] *= SECOND
        read = plan.end + rng.choice((0, 5, 60, -30)) * SECOND
        teller.tell("telemetry.job_stats", read, body, f"dcgm/{node}")
