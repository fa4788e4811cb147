"""What the devices of a story say: watches, engines, inventories, failed scrapes, points."""

from tests.reference.story_teller import GPUS, NODES, SECOND, Json, Plan, Teller, text

ENGINES = ("hostengine", "other")
METRICS = (
    "gpu_util",
    "power_usage",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "total_energy_consumption",
    "pcie_tx_bytes",
)
GOOD_VALUES = ("0", "1", "0.5", "1e0", "+1", "-0")  # Valid whatever the metric.
ODD_VALUES = (
    None,
    "N/A",
    "",
    "97",
    "100",
    "101",
    "100.5",
    "1.01",
    "-1",
    "2147483632",
    "2147483631",
    "2147483648.0",
    "9223372036854775792",
    "140737488355328",
    "1e40",
    "250",
    "3000000000",
    "nan",
)
CADENCES = (10, 15, 30, 60)


def tell_nodes(teller: Teller, plans: list[Plan]) -> None:
    """Tell of watches, engines, inventories, failed scrapes, points and segments."""
    rng = teller.rng
    for node in NODES:
        own = [plan for plan in plans if any(on == node for _, on in plan.gpus)]
        for plan in own:
            tell_engine(teller, node, plan)
        for gpu in GPUS[node]:
            users = [plan for plan in own if gpu in [name for name, _ in plan.gpus]]
            for plan in users:
                for _ in range(rng.choice((0, 1, 1, 1, 2))):
                    tell_points(teller, node, gpu, plan)


def tell_engine(teller: Teller, node: str, plan: Plan) -> None:
    """Tell what a node's engine and collector did around an attempt."""
    rng = teller.rng
    name = f"dcgm/{node}"
    for _ in range(rng.choice((0, 1, 1, 2))):
        at = rng.choice((plan.start - 30 * SECOND, plan.start, plan.grid(rng)))
        body: Json = {"node": node, "source": "dcgm", "engine": rng.choice(ENGINES)}
        body |= {"cadence_us": 30 * SECOND, "keep_us": rng.choice((None, 300, 3600))}
        body["keep_us"] = body["keep_us"] and body["keep_us"] * SECOND
        body["gpus"] = None if teller.chance(0.7) else rng.sample(GPUS[node], 1)
        teller.tell("telemetry.watch", at, body, name)
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        body = {"node": node, "engine": rng.choice(ENGINES)}
        teller.tell("telemetry.engine_started", plan.grid(rng), body, name)
    if teller.chance(0.15):
        first = plan.grid(rng)
        last = first + rng.choice((0, 0, 30, 60, 300)) * SECOND
        body = {"node": node, "from": text(first), "to": text(last), "reason": "timeout"}
        teller.tell("telemetry.scrape_failed", None, body, name)
    if teller.chance(0.2):
        present = [gpu for gpu in GPUS[node] if teller.chance(0.8)]
        devices = [{"uuid": gpu, "index": place} for place, gpu in enumerate(present)]
        if teller.chance(0.05):
            devices = [device | {"mig": True} for device in devices]
        body = {"node": node, "devices": devices}
        teller.tell("device.inventory", plan.grid(rng), body, name)
    if teller.chance(0.05):
        body = {"segment": "sha256:00", "path": "p", "rows": 1, "gpus": list(GPUS[node])}
        body |= {"from": text(plan.grid(rng)), "to": text(plan.end), "metric": "m"}
        teller.tell("telemetry.samples", None, body | {"cadence_us": 1}, name)


def tell_points(teller: Teller, node: str, gpu: str, plan: Plan) -> None:
    """Give one series over an attempt, with holes, odd values and off-grid times."""
    rng = teller.rng
    cadence, metric = rng.choice(CADENCES) * SECOND, rng.choice(METRICS)
    low, high = sorted((plan.start, plan.end))
    at = low + rng.choice((0, 0, 5, -10, 30, 50, 75, 76, 120)) * SECOND
    stop = high + rng.choice((0, 0, -25, -30, -75, -76, -120, 60)) * SECOND
    points: list[list[str | None]] = []
    while at <= stop and len(points) < 60:
        roll = rng.random()
        if roll < 0.06:
            at += rng.choice((1, 2, 3, 5)) * cadence
        elif roll < 0.14:
            points.append([text(at), rng.choice(ODD_VALUES)])
        else:
            points.append([text(at), rng.choice(GOOD_VALUES)])
        at += cadence + rng.choice((0,) * 12 + (cadence // 2, cadence * 3 // 2, 1, -1))
    if teller.chance(0.2) and points:
        points.append(rng.choice(points))
    rng.shuffle(points)
    half = rng.randint(0, len(points)) if teller.chance(0.3) else 0
    for chunk in (points[:half], points[half:]):
        body: Json = {"gpu": gpu, "metric": metric, "cadence_us": cadence, "points": chunk}
        teller.tell("telemetry.points", None, body, f"dcgm/{node}")
