"""Trials over the nodes of a cluster: cards of several sizes, nodes that join, go, and are drained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from results import load
from tests.tuning.many_nodes import CARDS, LARGE_FROM, cluster, node, search, work
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.memory.kinds import ACCELERATOR

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Ray has no clusters there"),
]


def settings(folder: Path, **given: object) -> Settings:
    own = {"name": "nodes", "dir": str(folder), "trials": 6, "steps": 600, "reports": 6, "gpu_memory": 24.0, **given}
    return Settings(**own)  # type: ignore[arg-type]


def marks() -> dict[str, str]:
    """Ids of nodes, and the names of their cards."""
    import ray

    found = {}
    for own in ray.nodes():
        for name in own["Resources"]:
            if name.startswith(ACCELERATOR):
                found[own["NodeID"]] = name.removeprefix(ACCELERATOR)
    return found


def test_a_trial_has_a_share_of_the_card_of_its_node(tmp_path: Path) -> None:
    with cluster(node(card="SMALL"), node(card="LARGE")):
        experiment = create(settings(tmp_path, scheduler="none", sampler="random"))
        reason, output = search(experiment)
        card = marks()
    print(output)
    assert reason is None
    trials = load(experiment.paths.folder).trials
    assert trials["state"].eq("complete").all()
    ran = {number: card[of] for number, _, of in work(experiment)}
    large = trials["hp_clip_range"] >= LARGE_FROM
    assert 0 < large.sum() < len(trials)
    for number in trials["trial"]:
        row = trials.loc[number]
        total = CARDS[ran[number]]
        assert ran[number] == "LARGE" or not large[number]
        assert row["granted_vram_bytes"] == pytest.approx(row["gpu_share"] * total, rel=0.01)
        assert row["granted_vram_bytes"] >= row["predicted_vram_bytes"]
    # With room on both, trials run on both.
    assert set(ran.values()) == set(CARDS)
