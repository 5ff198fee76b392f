"""Trials over the nodes of a cluster: cards of several sizes, nodes that join, go, and are drained."""

import contextlib
import itertools
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest

from results import load
from tests.tuning.killed_search import journal, say
from tests.tuning.many_nodes import CARDS, LARGE_FROM, LONG, QUICK, SLOW, Piece, added, head, node, search, work
from tuning.experiment.folder import Experiment, create, open_experiment
from tuning.experiment.settings import Settings
from tuning.memory.allocation import ACCELERATOR

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Ray has no clusters there")

WAIT_SECONDS = 300.0
END_SECONDS = 1200.0  # that a search may take to its end, once nothing is done to it any more
DRAIN_SECONDS = 60.0  # from the notice to the end of a drained node
GRACE_SECONDS = 12.0  # in which trials leave a node that is drained: two looks at the nodes


def settings(folder: Path, **given: object) -> Settings:
    own = {"name": "nodes", "dir": str(folder), "trials": 6, "steps": 600, "evaluations": 6, "gpu_memory": 24.0, **given}
    return Settings(**own)  # type: ignore[arg-type]


def cards() -> dict[str, str]:
    """Names of cards by the ids of their nodes."""
    import ray

    found = {}
    for own in ray.nodes():
        for name in own["Resources"]:
            if name.startswith(ACCELERATOR):
                found[own["NodeID"]] = name.removeprefix(ACCELERATOR)
    return found


def wait_for(condition: Callable[[], Any]) -> Any:
    """Wait until something is true, and return it."""
    until = time.monotonic() + WAIT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


def drain(of: str, address: str) -> None:
    """Tell Ray that a node goes soon, as clouds do before they take it away."""
    from ray import _raylet
    from ray.core.generated import autoscaler_pb2

    reason = autoscaler_pb2.DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
    deadline = round((time.time() + DRAIN_SECONDS) * 1000)
    assert cast(Any, _raylet).GcsClient(address=address).drain_node(of, reason, "taken away", deadline) == (True, "")


@contextlib.contextmanager
def searching(experiment: Experiment) -> Iterator[Callable[[], str]]:
    """Search beside what is done within, which has the main thread: Ray adds nodes there alone.

    Yields:
        Waits for the end of the search, and returns what it printed.
    """
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(search, experiment)

        def printed() -> str:
            reason, output = found.result(END_SECONDS)
            assert reason is None, reason
            return output

        try:
            yield printed
        except BaseException:
            # Its trials end, so that the thread does.
            for file in experiment.paths.folder.glob("running-*"):
                file.unlink()
            raise


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with head() as cluster:
        yield cluster


def check_whole(experiment: Experiment) -> pd.DataFrame:
    """Check that each trial ended once with all of its reports, and nothing is left of the run; the table of trials."""
    found = load(experiment.paths.folder)
    assert found.skipped == ()
    trials = found.trials
    assert trials["trial"].tolist() == list(range(experiment.settings.trials))
    assert trials["state"].isin(["complete", "pruned"]).all()
    assert trials["crashes"].eq(0).all()
    for number, reports in found.reports.groupby("trial"):
        assert reports["update"].tolist() == list(range(1, len(reports) + 1))
        assert reports["steps"].iloc[-1] == trials["steps"][number]
    assert list(experiment.paths.folder.glob("running-*")) == []
    return trials


def same_search(one: Experiment, other: Experiment) -> None:
    """Check that two searches drew, measured and decided the same, one after the other."""
    assert journal(one.paths.folder) == journal(other.paths.folder)
    tables = [load(own.paths.folder).trials for own in (one, other)]
    columns: list[Any] = [name for name in tables[0].columns if name.startswith("hp_")] + ["state", "score", "steps", "seed"]
    pd.testing.assert_frame_equal(tables[0][columns], tables[1][columns], check_exact=True)


@pytest.mark.slow
def test_a_trial_has_a_share_of_the_card_of_its_node(nodes: Any, tmp_path: Path) -> None:
    experiment = create(settings(tmp_path, scheduler="none", sampler="random"))
    with added(nodes, node(card="SMALL"), node(card="LARGE")):
        reason, _ = search(experiment)
        card = cards()
    assert reason is None
    trials = check_whole(experiment)
    ran = {piece.number: card[piece.node] for piece in work(experiment)}
    large = trials["hp_clip_range"] >= LARGE_FROM
    assert 0 < large.sum() < len(trials)
    for number in trials["trial"]:
        row = trials.loc[number]
        assert ran[number] == "LARGE" or not large[number]
        assert row["granted_vram_bytes"] == pytest.approx(row["gpu_share"] * CARDS[ran[number]], rel=0.01)
        assert row["granted_vram_bytes"] >= row["predicted_vram_bytes"]
    # With room on both, trials run on both.
    assert set(ran.values()) == set(CARDS)


def most_at_once(done: list[Piece]) -> int:
    """The greatest number of trials that ran at one moment."""
    return max(sum(piece.began <= moment < piece.ended for piece in done) for moment in (piece.began for piece in done))


@pytest.mark.slow
def test_a_node_that_joins_is_used_and_trials_leave_one_that_is_drained(nodes: Any, tmp_path: Path) -> None:
    # Of CPUs alone; without `concurrency`, as many run as fit.
    experiment = create(settings(tmp_path, name=LONG, trials=8, scheduler="none"))
    with added(nodes, node(cores=1)), searching(experiment) as printed:
        wait_for(lambda: work(experiment))
        first = work(experiment)[0].node
        nodes.add_node(**node(cores=2))
        wait_for(lambda: most_at_once(work(experiment)) == 3)
        # One there is far from its end, so that a look at the nodes comes before it.
        known = len(work(experiment))
        wait_for(lambda: any(piece.node == first and piece.evaluation <= 2 for piece in work(experiment)[known:]))
        drain(first, nodes.address)
        time.sleep(GRACE_SECONDS)
        before = len(work(experiment))
        output = printed()
    check_whole(experiment)
    done = work(experiment)
    assert "cluster: 1 joined; 3 nodes" in output
    assert "cluster: 1 drained; 3 nodes" in output
    assert output.count("its node goes; it continues from") == 1
    # Its trial ended at its last checkpoint, went on elsewhere, and nothing began there again.
    assert {piece.node for piece in done[before:]} == {piece.node for piece in done} - {first}
    assert Counter((piece.number, piece.evaluation) for piece in done).most_common(1)[0][1] == 1
    # One on the first node and two on the second.
    assert most_at_once(done) == 3


@pytest.mark.slow
def test_every_trial_that_waits_asks_for_its_place_so_that_nodes_are_added(nodes: Any, tmp_path: Path) -> None:
    import ray
    from ray.autoscaler.v2.sdk import get_cluster_status

    def pending() -> int:
        return sum(group["state"] == "PENDING" for group in ray.util.placement_group_table().values())

    experiment = create(settings(tmp_path, name=LONG, trials=8, concurrency=5, scheduler="none"))
    with added(nodes, node(cores=1)), searching(experiment) as printed:
        # Four wait beside the one that runs; the autoscaler is told of all of them.
        wait_for(lambda: work(experiment) and pending() == 4)
        wait_for(lambda: _demanded(get_cluster_status(nodes.address)) == 4)
        nodes.add_node(**node(cores=4, gib=8))
        printed()
    check_whole(experiment)
    assert most_at_once(work(experiment)) == 5


def _demanded(status: Any) -> int:
    """Number of placement groups that Ray's autoscaler is told to find nodes for."""
    groups = status.resource_demands.placement_group_demand
    return sum(bundle.count for group in groups for bundle in group.bundles_by_count)


@pytest.mark.slow
def test_two_searches_on_one_cluster_do_not_disturb_each_other(nodes: Any, tmp_path: Path) -> None:
    def command(name: str, seed: int) -> list[str]:
        numbers = [str(number) for number in (seed, 6, 1)]
        return [sys.executable, "-m", "tests.tuning.many_nodes", nodes.address, str(tmp_path), name, *numbers]

    # A large trial takes more than half of the card, so no two of them run at once.
    with added(nodes, node(cores=3, card="LARGE")):
        both = [subprocess.Popen(command(f"both-{seed}", seed)) for seed in (1, 2)]
        assert [of.wait(WAIT_SECONDS) for of in both] == [0, 0]
        for seed in (1, 2):
            subprocess.run(command(f"{QUICK}-{seed}", seed), check=True)
    searches = [open_experiment(tmp_path / f"both-{seed}") for seed in (1, 2)]
    for seed, experiment in enumerate(searches, start=1):
        check_whole(experiment)
        same_search(experiment, open_experiment(tmp_path / f"{QUICK}-{seed}"))
    one, other = map(work, searches)
    shares = [(a.share, b.share) for a, b in itertools.product(one, other) if a.began < b.ended and b.began < a.ended]
    assert shares
    assert max(map(sum, shares)) <= 1.0
    assert max(piece.share for piece in one + other) > 0.5


class Disturber:
    """Takes nodes of a cluster away at random moments, in different ways, and adds others.

    Args:
        nodes: the cluster.
        experiment: of the search.
        random: draws ways and moments.
    """

    WAYS = ("killed", "ended", "removed", "drained")

    def __init__(self, nodes: Any, experiment: Experiment, random: random.Random) -> None:
        self._nodes, self._experiment, self._random = nodes, experiment, random
        self.done: Counter[str] = Counter()

    def disturb(self) -> str:
        """Take one node away, when the search has got further; how."""
        known = len(work(self._experiment))
        wait_for(lambda: len(work(self._experiment)) > known)
        self._nodes.add_node(**node(cores=1))
        time.sleep(self._random.uniform(0.0, 2.0))
        victim, way = self._victim(), self._random.choice(self.WAYS)
        if way == "drained":
            drain(victim.node_id, self._nodes.address)
            time.sleep(self._random.uniform(0.0, GRACE_SECONDS))
        if way in ("killed", "ended"):
            raylet = victim.all_processes["raylet"][0].process
            raylet.send_signal(signal.SIGKILL if way == "killed" else signal.SIGTERM)
            raylet.wait()
        # What is left of it: its agents.
        self._nodes.remove_node(victim)
        self.done[way] += 1
        return way

    def _victim(self) -> Any:
        """The node that works, mostly."""
        nodes = sorted(self._nodes.worker_nodes, key=lambda own: str(own.node_id))
        working = [own for own in nodes if own.node_id == work(self._experiment)[-1].node]
        return working[0] if working and self._random.random() < 0.8 else self._random.choice(nodes)


def disturb(nodes: Any, folder: Path, name: str, events: int, trials: int, seed: int) -> None:
    experiment = create(settings(folder, trials=trials, concurrency=1, scheduler="median", name=name))
    alone = create(settings(folder, trials=trials, concurrency=1, scheduler="median", name=f"{QUICK}-alone"))
    with added(nodes, node(cores=1), node(cores=1)):
        with searching(experiment) as printed:
            disturber = Disturber(nodes, experiment, random.Random(seed))
            for event in range(events):
                way = disturber.disturb()
                say(f"seed {seed}, event {event + 1} of {events}: a node was {way}; {len(work(experiment))} evaluations")
            print(printed(), disturber.done)
        assert search(alone)[0] is None
    check_whole(experiment)
    same_search(experiment, alone)
    # A node that goes costs at most the work since the last checkpoint: here that is one evaluation.
    pieces = Counter((piece.number, piece.evaluation) for piece in work(experiment))
    assert sum(count - 1 for count in pieces.values()) <= events


@pytest.mark.slow
def test_a_search_of_which_nodes_come_and_go_is_the_same_search(nodes: Any, tmp_path: Path) -> None:
    disturb(nodes, tmp_path, "nodes", events=3, trials=10, seed=1)


@pytest.mark.torture
def test_a_search_of_which_nodes_come_and_go_all_the_time(nodes: Any, tmp_path: Path) -> None:
    # Its trials are slow, so that it is not over before the last event.
    disturb(nodes, tmp_path, SLOW, events=25, trials=70, seed=2)
