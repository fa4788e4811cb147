"""Every reason that is told has a line in the documentation, and every line a reason."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
CODE = re.compile(r'"(dcgm_[a-z_]+)"')


def test_every_code_is_documented() -> None:
    """With what a receipt makes of it."""
    sources = [*(ROOT / "src/tallystick/emit/dcgm").glob("*.py")]
    sources.append(ROOT / "src/tallystick/emit/slurm/telemetry.py")
    told = {code for path in sources for code in CODE.findall(path.read_text())}

    page = (ROOT / "docs/spec/collect-dcgm-live.md").read_text()

    assert told - {"dcgm_print"} == set(re.findall(r"^\| `(dcgm_[a-z_]+)`", page, re.MULTILINE))
