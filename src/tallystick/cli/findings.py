"""How findings about inputs are told."""

from tallystick.core.finding import InputFinding


def finding_sentence(finding: InputFinding) -> str:
    """Say a finding in one line, with where it was found."""
    place = [] if finding.source is None else [finding.source]
    if finding.source is None and finding.file is not None:
        place.append(f"file {finding.file}")
    if finding.line is not None:
        place.append(f"line {finding.line}")
    where = f" ({', '.join(place)})" if place else ""
    return f"{finding.code}: {finding.message}{where}"
