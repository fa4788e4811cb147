"""Random contracts for random stories: small, legal, and full of boundaries."""

import random
from dataclasses import dataclass

START_S = 1_772_323_200  # 2026-03-01T00:00:00Z, the moment from which stories count.
STAMPS = (-3600, -600, 0, 300, 600, 900, 1200, 1800, 2400, 3600)
PER_HOUR = ("0", "0.001", "1.00", "2.25", "2.49", "3.60", "7.777", "1234.5678", "36000")
TYPES = ("H100", "B200", "MI300X")
ZONES = ("z1", "z2")
TIERS = ("gold", "base")
ENDED_BY = (
    "completed",
    "user",
    "scheduler",
    "provider",
    "hardware",
    "time_limit",
    "maintenance",
    "unknown",
)
CAPACITIES = ("spot", "on_demand", "reserved", "unknown")
REASONS = (
    "late_watch",
    "lost_tail",
    "engine_restart",
    "retention",
    "collector_down",
    "blank",
    "device_lost",
    "mig",
    "clock",
    "no_samples",
    "unexplained",
)
PROGRESS = (
    "starting",
    "advancing",
    "replaying",
    "discarded",
    "mixed",
    "saving",
    "unknown",
    "waiting",
    "waiting:suspended",
    "waiting:checkpoint_storage",
    "waiting:data",
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What all versions of one story share (rule 46)."""

    id: str
    currency: str
    unit: str


def stamp(offset_s: int) -> str:
    """Give a TOML date-time, `offset_s` after the start of the story."""
    minutes, second = divmod(offset_s, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    day = ("2026-02-28", "2026-03-01", "2026-03-02")[days + 1]
    return f"{day}T{hour:02d}:{minute:02d}:{second:02d}Z"


def contracts(rng: random.Random) -> list[bytes]:
    """Give the contract files of a story: one to three versions of one contract."""
    terms = Terms(
        rng.choice(("acme-spot", "c")),
        rng.choice(("USD", "USD", "USD", "JPY", "KWD", "EUR")),
        rng.choice(("gpu", "gpu", "node")),
    )
    numbers = rng.sample(range(1, 9), rng.choice((1, 1, 1, 2, 2, 3)))
    files = [contract(rng, terms, number, alone=len(numbers) == 1) for number in numbers]
    if rng.random() < 0.05:
        files.append(files[0])  # One file given twice is one version.
    return files


def contract(rng: random.Random, terms: Terms, number: int, *, alone: bool) -> bytes:
    """Give one version."""
    since, until = effective(rng, alone=alone)
    lines = [
        'schema = "tallystick.contract/1"',
        f'id = "{terms.id}"',
        f"version = {number}",
        f'currency = "{terms.currency}"',
        f"effective_from = {since}",
    ]
    if until is not None:
        lines.append(f"effective_to = {until}")
    lines += ["[parties]", 'provider = "Example Cloud"', 'customer = "Acme"']
    lines += metering(rng, terms.unit) + rounding(rng)
    if rng.random() < 0.3:
        factor = rng.choice(("5/2", "2", "1", "3/2", "4", "1/2"))
        lines += ["[telemetry]", f'gap_factor = "{factor}"']
    lines += rates(rng)
    for index in range(rng.choice((0, 1, 2, 3, 5))):
        lines += rule(rng, f"r{index}" if rng.random() < 0.8 else "r")
    if rng.random() < 0.5:
        lines += held_when_dark()
    return ("\n".join(lines) + "\n").encode()


def held_when_dark() -> list[str]:
    """Give the rule that most contracts end with."""
    return [
        "[[rule]]",
        'clause = "4.2"',
        'says = "Time without telemetry is held until the parties resolve it."',
        'when = { telemetry = "unknown" }',
        'then = "hold"',
    ]


def effective(rng: random.Random, *, alone: bool) -> tuple[str, str | None]:
    """Give the range of a version; a lone one covers everything most of the time."""
    if alone and rng.random() < 0.7:
        return "2026-01-01T00:00:00Z", None
    first, second = sorted(rng.sample(STAMPS, 2))
    return stamp(first), stamp(second) if rng.random() < 0.6 else None


def metering(rng: random.Random, unit: str) -> list[str]:
    """Give `[metering]`, or leave it to the defaults."""
    lines = [f'unit = "{unit}"']
    if unit == "node":
        lines.append(f"gpus_per_node = {rng.choice((1, 2, 4))}")
    elif rng.random() < 0.4:
        return []
    if rng.random() < 0.6:
        lines.append(f"granularity_s = {rng.choice((1, 7, 60, 120, 600))}")
    if rng.random() < 0.6:
        lines.append(f'quantity_rounding = "{rng.choice(("up", "down", "half_even"))}"')
    if rng.random() < 0.4:
        lines.append(f"minimum_s = {rng.choice((0, 60, 300, 600, 601))}")
    return ["[metering]", *lines]


def rounding(rng: random.Random) -> list[str]:
    """Give `[rounding]`, or leave it to the defaults."""
    if rng.random() < 0.3:
        return []
    lines = ["[rounding]"]
    if rng.random() < 0.5:
        lines.append(f"digits = {rng.choice((0, 1, 2, 3, 4))}")
    if rng.random() < 0.8:
        lines.append(f'mode = "{rng.choice(("half_even", "half_up", "up", "down"))}"')
    if rng.random() < 0.8:
        lines.append(f'per = "{rng.choice(("line", "receipt"))}"')
    return lines


def rates(rng: random.Random) -> list[str]:
    """Give up to three rates, the last of which mostly matches everything."""
    lines = []
    for index in range(rng.choice((0, 1, 2))):
        lines += ["[[rate]]", f'clause = "2.{index}"', f'per_hour = "{rng.choice(PER_HOUR)}"']
        wants = {"gpu_type": TYPES, "capacity": CAPACITIES, "zone": ZONES, "tier": TIERS}
        lines += [
            f'{name} = "{rng.choice(wants[name])}"'
            for name in rng.sample(sorted(wants), rng.choice((1, 1, 2)))
        ]
    if rng.random() < 0.9:
        lines += ["[[rate]]", 'clause = "2.9"', f'per_hour = "{rng.choice(PER_HOUR)}"']
    return lines


def share(rng: random.Random) -> str:
    """Give n/d, now and then one that is not in lowest terms, nothing or all."""
    return rng.choice(("1/2", "1/3", "2/4", "3/4", "0/1", "1/1", "7/9"))


def disposition(rng: random.Random) -> str:
    """Give what a resolution may decide: anything but hold."""
    return rng.choice(("charge", "exclude", f"credit:{share(rng)}", f"share:{share(rng)}"))


def rule(rng: random.Random, clause: str) -> list[str]:
    """Give one rule over one or two keys."""
    choices = {
        "ended_by": any_of(rng, ENDED_BY),
        "attempt_shorter_than_s": str(rng.choice((0, 60, 300, 600, 601, 3600))),
        "first_s": str(rng.choice((0, 30, 60, 300, 600))),
        "telemetry": any_of(
            rng, ("observed", "unknown", *(f"unknown:{reason}" for reason in REASONS))
        ),
        "progress": any_of(rng, PROGRESS),
        "allocation": any_of(rng, ("held", "suspended", "notice")),
        "notice_shorter_than_s": str(rng.choice((1, 60, 120, 180, 420))),
        "gpu_type": any_of(rng, TYPES),
        "capacity": any_of(rng, CAPACITIES),
        "zone": any_of(rng, ZONES),
        "tier": any_of(rng, TIERS),
    }
    names = rng.sample(sorted(choices), rng.choice((0, 1, 1, 1, 1, 2)))
    if rng.random() < 0.5:
        names = [rng.choice(("telemetry", "progress", "allocation", "first_s"))]
    when = ", ".join(f"{name} = {choices[name]}" for name in names)
    then = rng.choice(("hold", "hold", "hold", disposition(rng), disposition(rng)))
    return [
        "[[rule]]",
        f'clause = "{clause}"',
        f'says = "Rule {clause} says so."',
        f"when = {{ {when} }}",
        f'then = "{then}"',
    ]


def any_of(rng: random.Random, words: tuple[str, ...]) -> str:
    """Give one word, or a list of which any may hold."""
    if rng.random() < 0.7:
        return f'"{rng.choice(words)}"'
    some = ", ".join(f'"{word}"' for word in rng.sample(words, min(2, len(words))))
    return f"[{some}]"


def misused(rng: random.Random) -> list[bytes]:
    """Give contract files that no call may use: exit 2 (rules 45, 46 and 48)."""
    terms = Terms("acme-spot", "USD", "gpu")
    good = contract(rng, terms, 1, alone=True)
    broken = (
        good + b"x = \n",
        good.replace(b'id = "acme-spot"', b""),
        good.replace(b"version = 1", b'version = "1"'),
        good.replace(b"effective_from", b"effective_since"),
        good.replace(b"Z\n", b"\n", 1),
        good + b'[[rate]]\nclause = "9"\nper_hour = 2.25\n',
        good + b'[[rate]]\nclause = "9"\n',
        good + b'[[rule]]\nclause = "9"\nwhen = { moon = "full" }\nthen = "hold"\n',
        good + b'[[rule]]\nclause = "9"\nwhen = {}\nthen = "forgive"\n',
        good + b'[[rule]]\nclause = "9"\nwhen = {}\nthen = "credit:3/2"\n',
        good + b'[[rule]]\nclause = "9"\nwhen = {}\nthen = "share:0/0"\n',
        good + b"\xff\n",
    )
    others = (
        Terms("other", "USD", "gpu"),
        Terms("acme-spot", "EUR", "gpu"),
        Terms("acme-spot", "USD", "node"),
    )
    pairs = [[good, contract(rng, other, 2, alone=True)] for other in others]
    pairs.append([good, good + b"# another file with the same number\n"])
    return rng.choice([[one] for one in broken] + pairs)
