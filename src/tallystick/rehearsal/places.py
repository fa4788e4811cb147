"""The places of a plan that are not this machine: ``[slurm]`` and ``[kubernetes]``.

Each is one table of texts. A key that a route needs is added to its class and to its reader.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from tallystick.contract.table import Table
from tallystick.contract.wording import describe
from tallystick.rehearsal.manifest import manifest_problem

Launch = Literal["step", "batch"]


_LAUNCHES: Final[tuple[Launch, ...]] = get_args(Launch)
_OPTION: Final = re.compile(r"--([a-z][a-z0-9-]*)(=[^\x00-\x1f\x7f]*)?")
_NOT_OPTIONS: Final = frozenset(
    {
        *("array", "clusters", "export-file", "help", "hold", "test-only", "usage", "version"),
        *("wait", "wrap"),
    }
)


@dataclass(frozen=True, slots=True)
class SlurmPlace:
    """Where a Slurm rehearsal runs."""

    cluster: str
    """Name of the cluster, part of every attempt key."""
    partition: str | None
    account: str | None
    qos: str | None
    options: tuple[str, ...]
    """Further options of sbatch, such as ``--gres=gpu:2``."""
    launch: Launch
    """Whether ``srun`` starts the command, as a ``step``, or the ``batch`` script itself."""
    preempting_partition: str | None
    """Whose jobs pre-empt those of ``partition``; None: faults are requeues."""
    preempting_options: tuple[str, ...]
    """Further options of sbatch for the pre-empting job."""


@dataclass(frozen=True, slots=True)
class KubernetesPlace:
    """Where a Kubernetes rehearsal runs."""

    cluster: str
    """Name of the cluster, part of every attempt key."""
    namespace: str
    manifest: str
    """JSON of the Pod or Job; its first container runs the job of the plan."""
    mounted_at: str | None
    """Where pods see the folder of the rehearsal; None is the same path as here."""
    kubeconfig: str | None
    """None is the user's own."""
    context: str | None
    """Of the kubeconfig; None is the current one."""


SLURM_KEYS = (
    *("cluster", "partition", "account", "qos", "options", "launch"),
    *("preempting_partition", "preempting_options"),
)
KUBERNETES_KEYS = ("cluster", "namespace", "manifest", "mounted_at", "kubeconfig", "context")


def read_slurm(table: Table) -> SlurmPlace:
    """Read ``[slurm]``."""
    return SlurmPlace(
        cluster=_plain(table, "cluster"),
        partition=_optional_plain(table, "partition"),
        account=_optional_plain(table, "account"),
        qos=_optional_plain(table, "qos"),
        options=_options(table, "options"),
        launch=table.word("launch", _LAUNCHES, "step"),
        preempting_partition=_optional_plain(table, "preempting_partition"),
        preempting_options=_options(table, "preempting_options"),
    )


def _options(table: Table, key: str) -> tuple[str, ...]:
    """Read options of sbatch: none that makes something else of the submission."""
    options = table.words(key) or ()
    for option in options:
        match = _OPTION.fullmatch(option)
        if match is None:
            table.note(key, f"expected options like '--gres=gpu:2', got {describe(option)}")
        elif any(word.startswith(match[1]) for word in _NOT_OPTIONS):  # As getopt reads it.
            table.note(key, f"expected no --{match[1]}: the rehearsal has to know what it submits")
    return options


def read_kubernetes(table: Table) -> KubernetesPlace:
    """Read ``[kubernetes]``."""
    manifest = table.text("manifest")
    problem = manifest_problem(manifest) if manifest else None
    if problem is not None:
        table.note("manifest", problem)
    return KubernetesPlace(
        cluster=_plain(table, "cluster"),
        namespace=_plain(table, "namespace"),
        manifest=manifest,
        mounted_at=_optional_plain(table, "mounted_at"),
        kubeconfig=_optional_plain(table, "kubeconfig"),
        context=_optional_plain(table, "context"),
    )


def _plain(table: Table, key: str) -> str:
    text = table.text(key)
    if not _is_plain(text):
        table.note(key, f"expected printable characters without spaces, got {describe(text)}")
    return text


def _optional_plain(table: Table, key: str) -> str | None:
    return _plain(table, key) if key in table else None


def _is_plain(text: str) -> bool:
    return text.isprintable() and " " not in text
