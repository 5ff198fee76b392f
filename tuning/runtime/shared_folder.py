"""Whether all nodes of a cluster have a folder, as trials on them write to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.errors import UserError

ANSWER_SECONDS = 60.0  # for a process on each node to start and look


class FolderError(UserError):
    """Nodes of a cluster do not have the folder of an experiment."""


def check_folder(folder: Path) -> None:
    """Check that the nodes of the running Ray on which trials may run have a folder. A single machine is not looked at.

    Nodes that do not answer within `ANSWER_SECONDS`, as all of their cores and memory may be taken, are not judged.

    Raises:
        FolderError: if a node lacks it.
    """
    import ray

    here = ray.get_runtime_context().get_node_id()
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU") and node["NodeID"] != here]
    asked = {_ask(node["NodeID"], str(folder)): node.get("NodeManagerAddress", "") for node in nodes}
    answers, _ = ray.wait(list(asked), num_returns=len(asked), timeout=ANSWER_SECONDS) if asked else ([], [])
    lacking = []
    for answer in answers:
        try:
            if not ray.get(answer):
                lacking.append(asked[answer])
        except ray.exceptions.RayError:
            continue  # the node is gone
    if lacking:
        raise FolderError(
            f"--dir {str(folder.parent)!r}: {len(lacking)} of {len(nodes)} other nodes of the cluster do not have this folder "
            f"({min(lacking)}); give a storage that all reach, as in --dir s3://bucket/experiments, or --address local"
        )


def _ask(node: str, folder: str) -> Any:
    """Look for a folder in a task on a node."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    @ray.remote(num_cpus=0, max_retries=0)
    def has(folder: str) -> bool:
        return Path(folder).is_dir()

    on_node = NodeAffinitySchedulingStrategy(node, soft=False)
    return has.options(scheduling_strategy=on_node).remote(folder)
