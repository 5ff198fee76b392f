"""A cluster of several nodes on this machine, and a trainable that trains nothing and goes on from checkpoints."""

import contextlib
import io
import logging
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from common.units import GIB
from tests.tuning.made_up import evaluated
from tests.tuning.roomy import SMALL
from tuning.algorithms.memory import Term
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.memory.allocation import ACCELERATOR
from tuning.memory.machine import VisibleCard, machine
from tuning.memory.planner import Calibration, Planner
from tuning.memory.prediction import ASSUMED, Prediction
from tuning.runtime.ray_session import set_environment
from tuning.search.proposals.plan import Plan
from tuning.search.run.driver import run_trials

STORE = 80 * 2**20  # of Ray's objects, on each node
EVALUATIONS = 6  # of a trial
SECONDS = 0.4  # from one evaluation to the next
LARGE_FROM = 0.25  # clip range from which on a trial takes `LARGE` of GPU memory
USUAL, LARGE = GIB // 2, 12 * GIB
CARDS = {"SMALL": 8 * GIB, "LARGE": 24 * GIB}
# What the names of experiments begin with, and by how much more their trials wait. Until a process has begun on another node,
# Tune gives its trial to a process that has ended one; so only trials that are long spread.
QUICK, SLOW, LONG = "quick", "slow", "long"
PACES = {QUICK: 0.0, SLOW: 3.0, LONG: 8.0}
WORK = "work.txt"  # below an experiment's folder: what its trials did


@contextlib.contextmanager
def head_alone() -> Iterator[Any]:
    """A cluster of a head alone, on which no trial runs."""
    set_environment()
    from ray.cluster_utils import Cluster

    arguments = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE}
    made = Cluster(initialize_head=True, head_node_args=arguments)
    try:
        yield made
    finally:
        made.shutdown()


@contextlib.contextmanager
def head() -> Iterator[Any]:
    """A cluster of a head alone, on which no trial runs; this process is joined to it."""
    with head_alone() as made:
        import ray

        try:
            ray.init(address=made.address, log_to_driver=False, logging_level=logging.CRITICAL)
            pickle_by_value()
            yield made
        finally:
            ray.shutdown()


def pickle_by_value() -> None:
    """Pickle the trainable as a whole: Ray's workers cannot import a module of the tests by its name."""
    import ray

    for name in (__name__, evaluated.__module__):
        ray.cloudpickle.register_pickle_by_value(sys.modules[name])


@contextlib.contextmanager
def added(cluster: Any, *nodes: dict[str, Any]) -> Iterator[None]:
    """Add nodes to a cluster; those that it has at the end are removed.

    Args:
        cluster: see `head`.
        nodes: arguments of `Cluster.add_node`; see `node`.
    """
    try:
        for given in nodes:
            cluster.add_node(**given)
        yield
    finally:
        for own in tuple(cluster.worker_nodes):
            cluster.remove_node(own)


def node(cores: int = 2, gib: int = 4, card: str = "", **given: Any) -> dict[str, Any]:
    """Arguments of `Cluster.add_node`, with a card that is only counted.

    Args:
        cores: of it.
        gib: memory, GiB.
        card: a name in `CARDS`; empty for none.
        given: further arguments.
    """
    cards = {"num_gpus": 1, "resources": {ACCELERATOR + card: 1}} if card else {}
    return {"num_cpus": cores, "memory": gib * GIB, "object_store_memory": STORE, **cards, **given}


def counted_cards(ids: Collection[str]) -> Mapping[str, VisibleCard | None]:
    """The cards that nodes are said to have."""
    import ray

    marks = {own["NodeID"]: [name for name in own["Resources"] if name.startswith(ACCELERATOR)] for own in ray.nodes()}
    names = {of: marks[of][0].removeprefix(ACCELERATOR) for of in ids if marks[of]}
    return {of: VisibleCard(name, CARDS[name], ASSUMED) for of, name in names.items()}


class Sized(Planner):
    """A planner by which trials with a large clip range fit the large card alone."""

    def prediction(self, hyperparameters: Any, fallback: Any = None) -> Prediction:
        vram = LARGE if hyperparameters["clip_range"] >= LARGE_FROM else USUAL
        return Prediction((Term("all", "vram", vram if self.budget.gpus else 0, ""), Term("process", "ram", GIB // 4, "")))


def planned(settings: Settings, folder: Path) -> Planner:
    """The planner of a search on the cluster that is joined."""
    kinds, _ = machine(settings.gpu_memory, counted_cards)
    return Sized.of(settings, SMALL, kinds, Calibration(folder / "calibration.json"))


def search(experiment: Experiment, trainable: Any = None) -> tuple[str | None, str]:
    """Run the trials of an experiment on the cluster that is joined; why it stopped, and what it printed."""
    output = io.StringIO()
    reason = run_trials(
        experiment,
        Plan(algorithm("ppo").space, {}, ()),
        planned(experiment.settings, experiment.paths.folder),
        Console(file=output, width=160),
        trainable or steady_trial,
        look=counted_cards,
    )
    return reason, output.getvalue()


def steady_trial(config: dict[str, Any]) -> None:
    """Substitute for training that goes on from its newest checkpoint; the score is best at a clip range of 0.25."""
    import ray
    from ray import tune

    from tuning.storage.trial_files import trial_files
    from tuning.trial.checkpoint import Checkpoints
    from tuning.trial.protocol import Ending, Report, handout_in

    handout = handout_in(config)
    number, clip = handout.number, handout.hyperparameters["clip_range"]
    with trial_files(handout.home, number) as files:
        settings, paths = files.experiment.settings, files.experiment.paths
        each, checkpoints = settings.steps // EVALUATIONS, paths.checkpoints(number)
        Checkpoints(checkpoints).drop_after(handout.checkpoint)
        done = handout.checkpoint // each
        of = ray.get_runtime_context().get_node_id()
        tune.report(Report(handout.checkpoint, restored=True).for_tune())
        for evaluation in range(done or 1, EVALUATIONS + 1):
            began = time.time()
            until = time.monotonic() + SECONDS * PACES.get(settings.name.partition("-")[0], 1.0)
            while evaluation > done and time.monotonic() < until:
                time.sleep(0.02)
                if not files.may_go_on():
                    tune.report(Report(each * (evaluation - 1), ending=Ending.STOPPED).for_tune())
                    return
            steps, score = each * evaluation, -abs(clip - 0.25) * (1.0 + 1.0 / evaluation)
            if evaluation > done:
                with (paths.folder / WORK).open("a") as file:
                    share = handout.place.grant.gpu_share
                    file.write(f"{number} {evaluation} {of} {share} {began} {time.time()}\n")
                (checkpoints / f"{steps:012d}").mkdir(parents=True, exist_ok=True)
            tune.report(evaluated(number, evaluation, steps, score, saved=evaluation > done).for_tune())


@dataclass(frozen=True)
class Piece:
    """An evaluation of a trial with what came before it.

    Attributes:
        number: of the trial.
        evaluation: its number.
        node: id of the node.
        share: of a card.
        began: when, seconds since 1970.
        ended: likewise.
    """

    number: int
    evaluation: int
    node: str
    share: float
    began: float
    ended: float


def work(experiment: Experiment) -> list[Piece]:
    """What trials did, in the order of its ends."""
    file = experiment.paths.folder / WORK
    found = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        number, evaluation, of, *rest = line.split()
        found.append(Piece(int(number), int(evaluation), of, *map(float, rest)))
    return found


def main() -> None:
    """Search in a process of its own: address of the cluster, folder, name, seed, trials and trials at once."""
    set_environment()
    import ray

    address, folder, name, *numbers = sys.argv[1:]
    seed, trials, concurrency = map(int, numbers)
    ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    pickle_by_value()
    settings = Settings(
        name=name, dir=folder, trials=trials, steps=600, evaluations=EVALUATIONS, concurrency=concurrency, seed=seed,
        scheduler="median", gpu_memory=24.0,
    )  # fmt: skip
    reason, output = search(create(settings))
    print(output, reason)


if __name__ == "__main__":
    main()
