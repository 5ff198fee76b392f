"""A search that joins a cluster with a folder of this machine alone ends in one line, before its trials fail."""

from pathlib import Path
from typing import Any

import pytest

from tuning.runtime import shared_folder
from tuning.runtime.shared_folder import FolderError, check_folder

HERE = "here"


class Nodes:
    """Substitute for a cluster: of each node its cores, and whether it has the folder; None where it does not answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **nodes: tuple[int, bool | None]) -> None:
        import ray

        self._nodes = nodes
        monkeypatch.setattr(ray, "get_runtime_context", lambda: self)
        monkeypatch.setattr(ray, "nodes", self.nodes)
        monkeypatch.setattr(ray, "wait", self.wait)
        monkeypatch.setattr(ray, "get", lambda node: nodes[node][1])
        monkeypatch.setattr(shared_folder, "_ask", lambda node, folder: node)

    def get_node_id(self) -> str:
        return HERE

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": name, "Alive": name != "dead", "Resources": {"CPU": cores} if cores else {}, "NodeManagerAddress": name}
            for name, (cores, _) in self._nodes.items()
        ]

    def wait(self, asked: list[str], num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        assert num_returns == len(asked)
        return [node for node in asked if self._nodes[node][1] is not None], []


def test_a_node_that_lacks_the_folder_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    Nodes(monkeypatch, here=(2, True), a=(2, True), b=(2, False), c=(2, None))
    with pytest.raises(FolderError, match=r"^--dir '.*runs': 1 of 3 other nodes .* \(b\); .* --address local$") as refused:
        check_folder(Path("runs") / "first")
    assert "\n" not in str(refused.value)


def test_only_nodes_on_which_trials_run_count(monkeypatch: pytest.MonkeyPatch) -> None:
    Nodes(monkeypatch, here=(2, True), a=(2, True), head=(0, False), dead=(2, False), mute=(2, None))
    check_folder(Path("runs"))


def test_a_single_machine_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    Nodes(monkeypatch, here=(2, False))
    check_folder(Path("runs"))
