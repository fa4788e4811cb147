"""``tallystick collect kubernetes``, ``skypilot`` and ``notices``.

Streams and exit codes are those of every source: records to a store or, with ``--dry-run``, to
standard output; findings to standard error; exit 1 if nothing came out.
"""

from datetime import tzinfo
from pathlib import Path
from typing import Any

import click

from tallystick.app.admit import clock_us
from tallystick.app.collect import Collector
from tallystick.cli.admission import Watch, print_admission
from tallystick.cli.collect_options import read_instant, read_key, read_seconds, read_zone
from tallystick.cli.collecting import (
    check_output,
    collect_from,
    common_options,
    hand_on,
)
from tallystick.cli.options import SeveralValues, say
from tallystick.cli.stopping import stops_on_signals
from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.kubernetes import (
    CapacityRule,
    KubernetesOptions,
    collect_kubernetes,
    read_capacity_rule,
)
from tallystick.collectors.notices import NoticeOptions, collect_notices
from tallystick.collectors.skypilot import SkypilotOptions, collect_skypilot
from tallystick.core.instant import SECOND_US

_RULE_SIGNS = 2


def _is_rule(text: str) -> bool:
    """Tell a LABEL=VALUE=WORD from the name of an input."""
    return text.count("=") == _RULE_SIGNS


@click.command("kubernetes")
@common_options(inputs_required=False)
@click.option(
    "--cluster", metavar="NAME", required=True, help="Name of the cluster, part of attempt keys."
)
@click.option(
    "--capacity",
    cls=SeveralValues,
    accepts=_is_rule,
    metavar="LABEL=VALUE=WORD...",
    help="What nodes with a label are: spot, on_demand, reserved or unknown.",
)
@click.option(
    "--read",
    "read_us",
    type=read_instant,
    metavar="TIME",
    help="When the files were taken, for notices without a time.",
)
@click.option("--live", is_flag=True, help="Watch the API instead of reading files.")
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Where the API is; KUBECONFIG or ~/.kube/config without it.",
)
@click.option("--in-cluster", is_flag=True, help="Use what a pod of the cluster is given.")
@click.option("--namespace", metavar="NAME", help="Watch the pods of one namespace.")
@click.option(
    "--for",
    "for_us",
    type=read_seconds,
    metavar="SECONDS",
    help="End the watch after a time; an interrupt ends it too.",
)
def kubernetes_command(
    *,
    inputs: tuple[str, ...],
    cluster: str,
    capacity: tuple[str, ...],
    read_us: int | None,
    live: bool,
    kubeconfig: str | None,
    in_cluster: bool,
    namespace: str | None,
    for_us: int | None,
    **output: Any,
) -> None:
    """Read objects of kubectl get -o json, watch events and dumps of pod resources.

    Pods that hold GPUs are attempts. With --live the API is watched until interrupted.

    \b
    Examples:
      kubectl get pods,nodes,jobs -A -o json > cluster.json
      tallystick collect kubernetes cluster.json --cluster k1 --store DIR
      tallystick collect kubernetes --live --cluster k1 --store DIR
    """
    rules = tuple(read_capacity_rule(text) for text in capacity)
    watching = (kubeconfig, namespace, for_us, in_cluster or None)
    if not live:
        if any(option is not None for option in watching):
            raise click.UsageError("--kubeconfig, --in-cluster, --namespace, --for need --live")
        if not inputs:
            raise click.UsageError("expected files, or --live to watch the API")
        collect_from("kubernetes", inputs, _from_files(cluster, rules, read_us), **output)
        return
    if inputs or output["dry_run"] or output["store"] is None or read_us is not None:
        raise click.UsageError("--live takes --store DIR, and no files, --dry-run or --read")
    if kubeconfig is not None and in_cluster:
        raise click.UsageError("expected one of --kubeconfig and --in-cluster")
    options = KubernetesOptions(cluster=cluster, observed_us=0, capacity=rules, live=True)
    _watch(options, kubeconfig, namespace, for_us, in_cluster=in_cluster, **output)


def _from_files(cluster: str, rules: tuple[CapacityRule, ...], read_us: int | None) -> Collector:
    def run(sources: tuple[Source, ...], observed_us: int) -> Collected:
        options = KubernetesOptions(
            cluster=cluster, observed_us=observed_us, capacity=rules, read_us=read_us
        )
        return collect_kubernetes(sources, options)

    return run


def _watch(
    options: KubernetesOptions,
    kubeconfig: str | None,
    namespace: str | None,
    for_us: int | None,
    *,
    in_cluster: bool,
    store: Path,
    as_json: bool,
    answers: bool,
    **_: Any,
) -> None:
    # The client and SQLite are loaded for a watch only.
    from tallystick.app.kubernetes_watch import WatchSettings, watch_kubernetes  # noqa: PLC0415
    from tallystick.app.store import open_store  # noqa: PLC0415
    from tallystick.collectors.kubernetes.api import ClusterApi, connect  # noqa: PLC0415

    for_s = None if for_us is None else for_us / SECOND_US
    settings = WatchSettings(options, namespace=namespace, for_s=for_s)
    client = connect(kubeconfig, in_cluster=in_cluster)
    watch = Watch(None, with_answers=answers)
    with client, open_store(store, notice=say) as opened, watch:
        api = ClusterApi(client, namespace=namespace)
        with stops_on_signals() as stop:
            admission = watch_kubernetes(opened.log, api, settings, watch.saw, stop=stop, say=say)
    print_admission(admission, as_json=as_json)


@click.command("skypilot")
@common_options(inputs_required=True)
@click.option(
    "--cluster", metavar="NAME", required=True, help="Name of the jobs controller, part of keys."
)
@click.option(
    "--timezone",
    type=read_zone,
    metavar="ZONE",
    required=True,
    help="Zone of event times without one.",
)
def skypilot_command(
    *, inputs: tuple[str, ...], cluster: str, timezone: tzinfo, **output: Any
) -> None:
    """Read databases of managed jobs, or copies of them; nothing is written to them.

    \b
    Example:
      tallystick collect skypilot ~/.sky/spot_jobs.db --cluster ctl \\
        --timezone UTC --store DIR
    """
    check_output(output)
    observed_us = output["observed_us"]
    options = SkypilotOptions(
        cluster=cluster,
        timezone=timezone,
        observed_us=clock_us() if observed_us is None else observed_us,
    )
    hand_on("skypilot", collect_skypilot(inputs, options), **output)


@click.command("notices")
@common_options(inputs_required=True)
@click.option("--node", type=read_key, metavar="NAME", required=True, help="Node that was asked.")
@click.option(
    "--read",
    "read_us",
    type=read_instant,
    metavar="TIME",
    required=True,
    help="When its metadata service was asked.",
)
@click.option(
    "--attempt",
    "attempts",
    type=read_key,
    multiple=True,
    metavar="KEY",
    help="An attempt that held its GPUs then.",
)
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="NAME",
    help="Another name that the provider has for the node.",
)
def notices_command(
    *,
    inputs: tuple[str, ...],
    node: str,
    read_us: int,
    attempts: tuple[str, ...],
    resources: tuple[str, ...],
    **output: Any,
) -> None:
    """Read answers of AWS, GCP and Azure metadata services that a poller saved.

    The attempts are those of --attempt, and those that evidence lines among the inputs show on
    the node at that time.

    \b
    Example:
      tallystick collect notices instance-action.json evidence.jsonl --node n1 \\
        --read 2026-02-02T04:15:07Z --store DIR
    """

    def run(sources: tuple[Source, ...], observed_us: int) -> Collected:
        options = NoticeOptions(
            node=node,
            read_us=read_us,
            observed_us=observed_us,
            attempts=attempts,
            resources=resources,
        )
        return collect_notices(sources, options)

    collect_from("notices", inputs, run, **output)
