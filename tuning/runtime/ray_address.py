"""Which Ray a command uses: this machine's own, or a cluster that `--address` or RAY_ADDRESS names."""

from __future__ import annotations

import os

from tuning.runtime.cluster import check_cluster
from tuning.runtime.ray_session import is_ray_running

VARIABLE = "RAY_ADDRESS"  # Ray sets it in the jobs of a cluster; its own commands read it too
THIS_MACHINE = "local"


def cluster_address(given: str) -> str:
    """The cluster to join.

    Args:
        given: `--address`; it goes before RAY_ADDRESS, and `local` is this machine alone.

    Returns:
        Its address; empty for this machine alone, and for a Ray that runs in this process already.
    """
    if given:
        return "" if given == THIS_MACHINE else given
    named = os.environ.get(VARIABLE, "")
    return "" if is_ray_running() or named == THIS_MACHINE or _is_dashboard(named) else named


def address_source(given: str) -> str:
    """What names the cluster to join, for messages."""
    return "--address" if given else VARIABLE


def check_address(given: str) -> list[str]:
    """Check that the cluster to join answers.

    Returns:
        What the user should know of it, in lines.

    Raises:
        ClusterError: see `tuning.runtime.cluster.check_cluster`.
    """
    notes = []
    address, named = cluster_address(given), os.environ.get(VARIABLE, "")
    if address and not given:
        notes.append(f"Ray cluster: {address}, named by {VARIABLE}; --address {THIS_MACHINE} uses this machine alone")
    elif not given and _is_dashboard(named) and not is_ray_running():
        notes.append(f"{VARIABLE} names a dashboard, which takes jobs (ray job submit); this run uses this machine alone")
    cluster = check_cluster(address, address_source(given))
    return [*notes, cluster] if cluster else notes


def _is_dashboard(named: str) -> bool:
    return named.startswith(("http://", "https://"))
