"""A search in a storage ends with the same results although drivers, workers, raylets and nodes are killed at random moments.

Each run is on a machine of its own, with an empty cache. It has the URI alone. The storage is slow, fails and cuts connections.
Some runs have a Ray of their own, so a node is all of the machine there. The others join a cluster of two nodes, which stays.
"""

import contextlib
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from common.storage.location import Location, location
from common.storage.objects import Objects
from results import load
from tests.storage_server import Faults, FaultyProxy, StorageServer, environment, faulty_proxy
from tests.tuning.killed_search import (
    DRIVER,
    NODE,
    RAYLET,
    WORKER,
    Torturer,
    check,
    command,
    compare,
    compare_trials,
    covered,
    is_a,
    known_checkpoints,
    say,
    torture,
    undisturbed,
)
from tests.tuning.many_nodes import head_alone, node
from tests.tuning.test_killed_stored_driver import fetched
from tuning.experiment.folder import ExperimentPaths
from tuning.storage.journal_mirror import JournalMirror

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its raylet and workers are found by their POSIX names")

JOINED = 0.6  # part of the runs that join the cluster
NODES = 2  # of it, with a core each
FAULTS = Faults(slow=0.05, failing=0.04, cut_request=0.02, cut_answer=0.02, lost_answer=0.02)
LATEST = 3.0  # seconds to a kill, after the search has learned something


class Machine:
    """A machine: its folder, its cache, and the variables by which it finds the storage."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder, self.cache = folder / "work", folder / "cache"
        self.folder.mkdir(parents=True)
        project = str(Path(__file__).parents[2])
        self.variables = {
            **os.environ, **environment(endpoint), "BUILDING_TUNER_CACHE": str(self.cache), "PYTHONPATH": project,
        }  # fmt: skip
        self.log = folder / "log"

    def start(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as file:
            return subprocess.Popen(arguments, cwd=self.folder, env=self.variables, stdout=file, stderr=file)

    @property
    def told(self) -> str:
        return self.log.read_text(encoding="utf-8")


class Nodes:
    """Nodes of a cluster, each as a machine of its own: its processes have a cache of their own.

    Args:
        cluster: its head.
        folder: for caches.
        endpoint: of the storage.
    """

    def __init__(self, cluster: Any, folder: Path, endpoint: str) -> None:
        self._cluster, self._folder, self._endpoint, self._begun = cluster, folder, endpoint, 0
        self._alive: dict[int, tuple[Any, Machine]] = {}  # nodes by the numbers of their raylets
        for _ in range(NODES):
            self.add()

    @property
    def address(self) -> str:
        """Where the cluster is joined."""
        return str(self._cluster.address)

    def add(self) -> None:
        """Add a node."""
        self._begun += 1
        machine = Machine(self._folder / f"node-{self._begun}", self._endpoint)
        with pytest.MonkeyPatch.context() as patched:
            for name, value in machine.variables.items():
                patched.setenv(name, value)
            added = self._cluster.add_node(**node(cores=1))
        self._alive[_raylet(added).pid] = added, machine

    def of(self, process: psutil.Process) -> psutil.Process | None:
        """The raylet of a process' node."""
        with contextlib.suppress(psutil.Error):
            for own in (process, *process.parents()):
                if own.pid in self._alive:
                    return own
        return None

    @property
    def raylets(self) -> list[psutil.Process]:
        """Of all nodes."""
        return [psutil.Process(pid) for pid in self._alive]

    def replace_dead(self) -> None:
        """Give up nodes that are dead with all that they had, and add others."""
        for pid, (dead, machine) in list(self._alive.items()):
            process = _raylet(dead)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.0)
                del self._alive[pid]
                self._cluster.worker_nodes.remove(dead)
                shutil.rmtree(machine.folder.parent, ignore_errors=True)
                self.add()


def _raylet(of: Any) -> subprocess.Popen[bytes]:
    return of.all_processes["raylet"][0].process  # type: ignore[no-any-return]


@dataclass
class InAStorage(Torturer):
    """Tortures a search in a storage.

    Attributes:
        place: of the experiment.
        folder: for the machines.
        temporary: folder with a short name, for what killed runs leave of their Rays.
        proxy: before the storage.
        nodes: of the cluster that some runs join.
        schema: of its scenario; it is there in the first run alone.
        concurrency: trials at once.
        steps: of a trial.
        confirm: part of the budget that trains the best again.
        kept: rows that a checkpoint covers, by the key of their file: they stay as they are.
        runs: so far.
    """

    place: Location
    folder: Path
    temporary: Path
    proxy: FaultyProxy
    nodes: Nodes
    schema: Path
    concurrency: int
    steps: int
    confirm: float
    kept: dict[str, list[str]] = field(default_factory=dict)
    runs: int = 0

    def __post_init__(self) -> None:
        self._objects = Objects(self.place)
        self._joined = False
        self._log = ""

    @contextlib.contextmanager
    def started(self, budget: int) -> Iterator[subprocess.Popen[bytes]]:
        """See `Torturer`. What the machine had is gone afterwards."""
        self.runs += 1
        self._joined = self.random.random() < JOINED
        machine = Machine(self.folder / f"machine-{self.runs}", self.proxy.endpoint)
        machine.variables["RAY_TMPDIR"] = str(self.temporary)
        if self._objects.has("experiment.json"):
            arguments = [sys.executable, "-m", "tuning.run", "--resume", self.place.uri, "--budget", str(budget)]
            shutil.rmtree(self.schema.parent, ignore_errors=True)
        else:
            above, name = self.place.parent.uri, self.place.name
            arguments = command(above, name, self.schema, budget, self.concurrency, self.steps, self.confirm)
        arguments += ["--address", self.nodes.address if self._joined else "local"]
        say(f"run {self.runs} {'joins the cluster' if self._joined else 'has a Ray of its own'}, budget of {budget} steps")
        driver = machine.start(arguments)
        try:
            yield driver
        finally:
            driver.kill()
            driver.wait()
            self._log = machine.told
            (self.folder / f"run-{self.runs}.log").write_text(self._log, encoding="utf-8")
            shutil.rmtree(machine.folder.parent, ignore_errors=True)

    def known(self) -> int:
        """Bytes of evaluations in the storage."""
        return sum(stamp.nbytes for stamp in self._objects.listed("results/evaluations/").values())

    def told(self) -> str:
        """See `Torturer`."""
        return self._log

    def processes(self, driver: psutil.Process) -> list[psutil.Process]:
        """Those of its Ray, or of all nodes."""
        found = []
        for above in self.nodes.raylets if self._joined else [driver]:
            with contextlib.suppress(psutil.Error):
                found += [*([above] if self._joined else []), *above.children(recursive=True)]
        return found

    def found(self, driver: psutil.Process, others: list[psutil.Process], victim: str) -> list[psutil.Process]:
        """A raylet is that of a node with a trial; a node is all its processes, and with a Ray of its own the driver too."""
        if victim in (DRIVER, WORKER):
            return super().found(driver, others, victim)
        workers = [process for process in others if is_a(process, WORKER)]
        if not workers:
            return []
        if not self._joined:
            return [driver, *others] if victim == NODE else super().found(driver, others, victim)
        raylet = self.nodes.of(workers[0])
        return [own for own in others if own == raylet or (victim == NODE and self.nodes.of(own) == raylet)]

    def killed(self, victim: str) -> None:
        """Nodes that are gone are replaced."""
        if self._joined and victim in (RAYLET, NODE):
            self.nodes.replace_dead()

    def look(self) -> None:
        """See that nothing that a checkpoint covers was changed or lost."""
        stamps = self._objects.listed()
        assert self.kept.keys() <= stamps.keys()
        with tempfile.TemporaryDirectory() as folder:
            paths = ExperimentPaths(Path(folder))
            self._objects.fetch(paths.settings.name, paths.settings)
            JournalMirror(paths.study).fetch(self._objects)
            checkpoints = known_checkpoints(paths.folder)
        for key in stamps:
            # Files of yardsticks are no trial's.
            if key.startswith(("results/reports/", "results/evaluations/")) and Path(key).stem.isdigit():
                covered(self.kept, key, io.BytesIO(self._objects.read(key)), checkpoints.get(int(Path(key).stem), 0))


@dataclass(frozen=True)
class Search:
    """What is tortured.

    Attributes:
        place: of the experiment.
        schema: of its scenario.
        folder: for the machines, and for what it is compared with.
        seed: of moments and faults.
        concurrency: trials at once.
        confirm: part of the budget that trains the best again.
        trials: that the first budget would pay for as a whole.
        steps: of a trial.
    """

    place: Location
    schema: Path
    folder: Path
    seed: int
    concurrency: int = 1
    confirm: float = 0.0
    trials: int = 12
    steps: int = 2048

    def torture(self, server: StorageServer, victims: tuple[str, ...]) -> Path:
        """Kill it until each victim was, and see that it is the undisturbed search; all that its storage has then."""
        site = self.folder / "site"
        shutil.copytree(self.schema.parent, site)
        say(f"seed {self.seed}, {self.concurrency} at once: {' '.join(victims)}")
        with (
            tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as temporary,
            faulty_proxy(server, FAULTS, self.seed) as proxy,
            head_alone() as cluster,
        ):
            nodes = Nodes(cluster, self.folder, proxy.endpoint)
            torturer = InAStorage(
                random.Random(self.seed), LATEST, victims, self.place, self.folder, Path(temporary), proxy, nodes,
                site / self.schema.name, self.concurrency, self.steps, self.confirm,
            )  # fmt: skip
            budgets = torture(torturer, self.trials, self.steps)
            say(
                f"{dict(torturer.kills)} in {torturer.runs} runs, budgets of {budgets} steps, {proxy.requests.total()} "
                f"requests with {proxy.injected.total()} faults, {sum(map(len, torturer.kept.values()))} rows that stayed"
            )
        torturer.see_all_gone()
        assert torturer.kills == Counter(victims)
        found = fetched(self.place, self.folder / "fetched")
        check(found, budgets, self.steps, confirms=self.confirm > 0)
        assert sum(map(len, torturer.kept.values())) >= 2 * len(load(found).trials)
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(self.schema.parent, site)
        if self.concurrency == 1:
            undisturbed(self.folder / "whole", site / self.schema.name, budgets, self.steps, self.confirm)
            compare(found, self.folder / "whole")
        else:
            compare_trials(found, self.folder / "alone")
        return found


@pytest.mark.slow
def test_a_search_each_of_whose_machines_is_killed_once(
    s3_server: StorageServer, s3_bucket: str, small_schema: Path, tmp_path: Path
) -> None:
    search = Search(location(s3_bucket) / "experiments" / "killed", small_schema, tmp_path, seed=3, trials=3)
    search.torture(s3_server, (WORKER, NODE, DRIVER, RAYLET))


@pytest.mark.torture
@pytest.mark.parametrize(("concurrency", "seed"), [(1, 1), (2, 2)])
def test_a_search_whose_machines_are_killed_all_the_time(
    s3_server: StorageServer, s3_bucket: str, small_schema: Path, tmp_path: Path, concurrency: int, seed: int
) -> None:
    kills = {DRIVER: 6, WORKER: 9, RAYLET: 5, NODE: 5}
    victims = tuple(random.Random(seed).sample(list(kills), counts=kills.values(), k=sum(kills.values())))
    place = location(s3_bucket) / "experiments" / "killed"
    found = Search(place, small_schema, tmp_path, seed, concurrency, confirm=0.34).torture(s3_server, victims)
    confirmations = load(found).confirmations
    assert confirmations["state"].eq("complete").all()
    assert len(confirmations) >= 4
