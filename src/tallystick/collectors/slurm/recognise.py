"""Telling inputs apart by their content, never by their names (r1)."""

import re
from enum import Enum

from tallystick.collectors.slurm.psv import read_header

_BOM = "\ufeff"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SLURM_VARIABLE = re.compile(r"^SLURM_[A-Z_]+=", re.MULTILINE)
_EVIDENCE_LINE = re.compile(r'^[ \t]*\{.*"tallystick\.evidence/', re.MULTILINE)


class InputKind(Enum):
    """What an input is."""

    HOOK = "a hook dump, or an environment that does not say of which hook"
    EVIDENCE = "evidence lines"
    JSON = "JSON"
    SCONTROL = "scontrol show job"
    TABLE = "a table of sacct -P"
    UNKNOWN = "none of these"


def decode(data: bytes) -> str:
    """Give an input as text; bytes that are no UTF-8 become lone surrogates, none is lost."""
    return data.decode(errors="surrogateescape").removeprefix(_BOM)


def spell_out(text: str) -> str:
    r"""Write the lone surrogates of ``decode`` as ``\xNN``, so that the text can be stored."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def recognise(text: str) -> InputKind:
    """Say what an input is, by how it begins."""
    begin = text.lstrip("\r\n\t ")
    if begin.startswith("#hook="):
        return InputKind.HOOK
    if begin.startswith("{"):
        is_evidence = _EVIDENCE_LINE.search(text) and not _is_job_document(begin)
        return InputKind.EVIDENCE if is_evidence else InputKind.JSON
    if begin.startswith("JobId="):
        return InputKind.SCONTROL
    if read_header(begin.partition("\n")[0]) is not None:
        return InputKind.TABLE
    if _VARIABLE.match(begin) and _SLURM_VARIABLE.search(begin):
        return InputKind.HOOK
    return InputKind.UNKNOWN


def _is_job_document(text: str) -> bool:
    """Tell whether a document of jobs merely quotes evidence, in a comment say."""
    return bool(re.match(r'\{\s*"(?:meta|jobs|errors|warnings)"', text))
