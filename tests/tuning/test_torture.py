"""A search ends with the same results although its processes are killed at random moments."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from optuna.trial import TrialState

from results import load
from tuning.experiment.folder import ExperimentPaths, open_experiment
from tuning.trial.checkpoint import Checkpoints

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its raylet and workers are found by their POSIX names")

DRIVER, WORKER, RAYLET = "driver", "worker", "raylet"
GONE_SECONDS = 30.0  # that trials' processes may take to notice that their run is over
AGENTS_GONE_SECONDS = 240.0  # and Ray's agents, which try to tell others first that their node died
EVALUATIONS = 8  # of a trial
MEASURED = ("time", "seconds", "steps_per_second", "rss_bytes", "vram_bytes", "machine_memory_bytes", "cpu_cores")


def command(folder: Path, schema: Path, budget: int, concurrency: int, steps: int) -> list[str]:
    return [
        sys.executable, "-m", "tuning.run", "--dir", str(folder.parent), "--name", folder.name, "--algo", "ppo",
        "--scenario", str(schema), "--steps", str(steps), "--reports", str(EVALUATIONS), "--validation-weeks", "1",
        "--budget", str(budget), "--concurrency", str(concurrency), "--keep-checkpoints", "all",
        "--set", "hidden_sizes=32,32", "batch_size=64", "n_steps=128", "n_epochs=4",
    ]  # fmt: skip


@dataclass
class Torturer:
    """Starts a search again and again, and kills one of its processes each time.

    Attributes:
        folder: of the experiment.
        schema: of its scenario.
        random: draws moments and victims.
        concurrency: trials at once.
        steps: of a trial.
        latest: greatest number of seconds to the next kill.
        victims: what is killed.
        patient: whether to wait for the end of Ray's agents too, which takes minutes.
        kills: so far, by victim.
        frozen: what was in part files that a checkpoint covers, by path: it is never written again.
    """

    folder: Path
    schema: Path
    random: random.Random
    concurrency: int
    steps: int
    latest: float
    victims: tuple[str, ...] = (DRIVER, WORKER, RAYLET)
    patient: bool = True
    kills: Counter[str] = field(default_factory=Counter)
    frozen: dict[Path, int] = field(default_factory=dict)

    def run(self, budget: int, kill: bool) -> bool:
        """Run the search once, with a budget of steps.

        Returns:
            Whether it got to its end.
        """
        with self._started(budget) as driver:
            family: dict[int, psutil.Process] = {}
            names: dict[int, str] = {}
            before = self.kills.total()
            moment = time.monotonic() + self.random.uniform(1.0, self.latest)
            victim = self.random.choice(self.victims)
            while driver.poll() is None:
                time.sleep(0.05)
                for child in _children(driver.pid):
                    family[child.pid] = child
                    names[child.pid] = _name(child)
                if kill and time.monotonic() > moment and (found := _find(driver.pid, family, victim)):
                    found.kill()
                    self.kills[victim] += 1
                    if victim == DRIVER:
                        break
                    # A worker that died is replaced, and the run goes on.
                    moment = time.monotonic() + self.random.uniform(1.0, self.latest)
                    victim = self.random.choice(self.victims)
            status = driver.wait(120.0)
            for own, seconds in ((True, GONE_SECONDS), (False, AGENTS_GONE_SECONDS))[: 2 if self.patient else 1]:
                _, left = psutil.wait_procs([p for p in family.values() if _is_ours(names[p.pid]) == own], seconds)
                assert [names[process.pid] for process in left if process.is_running()] == []
            self._look()
            # Without a kill, it gets to its end.
            assert status == 0 or self.kills.total() > before, self.log.read_text(encoding="utf-8")
            return status == 0

    @contextlib.contextmanager
    def _started(self, budget: int) -> Iterator[subprocess.Popen[bytes]]:
        arguments = command(self.folder, self.schema, budget, self.concurrency, self.steps)
        with self.log.open("a") as file, subprocess.Popen(arguments, stdout=file, stderr=file) as driver:
            yield driver

    @property
    def log(self) -> Path:
        """What its runs printed."""
        return self.folder.parent / f"{self.folder.name}.log"

    def _look(self) -> None:
        """See that nothing that a checkpoint covers was written again, and that no part is damaged."""
        if not (self.folder / "experiment.json").is_file():
            return
        paths = ExperimentPaths(self.folder)
        assert load(self.folder).skipped == ()
        for path, written in self.frozen.items():
            assert path.stat().st_mtime_ns == written, path
        for table in ("reports", "evaluations"):
            for path in (paths.results / table).glob("*.parquet"):
                number, _, steps = path.stem.partition("-")
                newest, damage = Checkpoints(paths.checkpoints(int(number))).newest()
                assert damage == []
                if newest and int(steps) <= newest.trial.steps:
                    self.frozen.setdefault(path, path.stat().st_mtime_ns)


def _name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline())[:200]
    return ""


def _is_ours(name: str) -> bool:
    """Whether a process runs a trial; not whether it is one of Ray's own, or waits for work, which ends when Ray says so."""
    return "ray::" in name and "Agent" not in name and "IDLE" not in name


def _children(driver: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(driver).children(recursive=True)
    return []


def _find(driver: int, family: dict[int, psutil.Process], victim: str) -> psutil.Process | None:
    if victim == DRIVER:
        return psutil.Process(driver)
    for process in family.values():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            names = " ".join(process.cmdline())
            if victim == RAYLET and process.name() == "raylet":
                return process
            # Ray names a worker by the actor in it.
            if victim == WORKER and "ray::" in names and "IDLE" not in names and process.status() != psutil.STATUS_ZOMBIE:
                return process
    return None


def torture(torturer: Torturer, kills: int, trials: int) -> list[int]:
    """Torture a search until it was killed so often and then got to its end.

    Args:
        torturer: of it.
        kills: at least.
        trials: that the first budget would pay for as a whole.

    Returns:
        The budgets that it had one after the other: larger ones, where it was too quick.
    """
    budgets = [trials * torturer.steps]
    while True:
        ended = torturer.run(budgets[-1], kill=torturer.kills.total() < kills)
        if ended and torturer.kills.total() >= kills:
            return budgets
        if ended:
            budgets.append(budgets[-1] + 2 * torturer.steps)


def check(folder: Path, budgets: list[int], steps: int) -> None:
    """Check that results and study hold everything once."""
    found = load(folder)
    assert found.skipped == ()
    trials = len(found.trials)
    assert found.trials["trial"].tolist() == list(range(trials))
    assert found.trials["state"].isin(["complete", "frozen"]).all()
    assert found.trials["finished"].notna().equals(found.trials["state"] == "complete")
    assert found.trials["crashes"].eq(0).all()
    for number, reports in found.reports.groupby("trial"):
        assert reports["update"].tolist() == list(range(1, len(reports) + 1)), number
        assert reports["steps"].is_monotonic_increasing
        assert reports["steps"].iloc[-1] == found.trials["steps"][number]
    complete = found.trials[found.trials["state"] == "complete"]
    assert (complete["steps"] >= steps).all()
    scored = found.reports.dropna(subset=["score"])
    assert not found.evaluations.duplicated(["trial", "steps", "year"]).any()
    assert set(zip(scored["trial"], scored["steps"], strict=True)) == set(
        zip(found.evaluations["trial"], found.evaluations["steps"], strict=True)
    )
    ended: Counter[int] = Counter()
    waiting: Counter[int] = Counter()
    for line in (folder / "study.journal").read_text(encoding="utf-8").splitlines():
        log = json.loads(line)
        if "trial_id" in log and log.get("state") == TrialState.WAITING:
            waiting[log["trial_id"]] += 1
        elif "trial_id" in log and log.get("state") == TrialState.COMPLETE:
            ended[log["trial_id"]] += 1
    assert ended == dict.fromkeys(found.trials.loc[found.trials["state"] == "complete", "trial"], 1)
    assert set(found.trials.loc[found.trials["state"] == "frozen", "trial"]) <= set(waiting)
    # What an evaluation is due at is counted, once for each trial.
    evaluated = found.reports.dropna(subset=["score"]).groupby("trial")["steps"].max() * EVALUATIONS // steps
    assert (evaluated.clip(upper=EVALUATIONS) * steps // EVALUATIONS).sum() == budgets[-1]
    left = [path.name for path in folder.iterdir() if path.name.startswith(("running-", "owner"))]
    assert left == []
    assert open_experiment(folder).settings.budget == str(budgets[-1])


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=[name for name in frame.columns if name in MEASURED or name.endswith("_seconds")])


def compare(folder: Path, other: Path) -> None:
    """Check that two searches tried the same and measured the same."""
    one, two = load(folder), load(other)
    for table in ("reports", "evaluations"):
        pd.testing.assert_frame_equal(numbers(getattr(one, table)), numbers(getattr(two, table)), check_exact=True)
    columns: list[Any] = [name for name in one.trials.columns if name.startswith(("hp_", "used_"))]
    columns += ["state", "score", "steps", "seed"]
    pd.testing.assert_frame_equal(one.trials[columns], two.trials[columns], check_exact=True)


def undisturbed(folder: Path, schema: Path, budgets: list[int], steps: int) -> None:
    for budget in budgets:
        done = subprocess.run(command(folder, schema, budget, 1, steps), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_search_that_is_killed_a_few_times_is_the_same_search(small_schema: Path, tmp_path: Path) -> None:
    # Of a raylet's death Ray learns only after half a minute.
    torturer = Torturer(
        tmp_path / "killed", small_schema, random.Random(3), 1, steps=4096, latest=15.0, victims=(DRIVER, WORKER), patient=False
    )
    budgets = torture(torturer, kills=2, trials=2)
    assert torturer.kills.total() >= 2
    check(tmp_path / "killed", budgets, 4096)
    undisturbed(tmp_path / "whole", small_schema, budgets, 4096)
    compare(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.torture
@pytest.mark.parametrize(("concurrency", "seed"), [(1, 1), (2, 2)])
def test_a_search_that_is_killed_all_the_time(small_schema: Path, tmp_path: Path, concurrency: int, seed: int) -> None:
    torturer = Torturer(tmp_path / "killed", small_schema, random.Random(seed), concurrency, steps=8192, latest=60.0)
    budgets = torture(torturer, kills=25, trials=12)
    print(dict(torturer.kills), "budgets of", budgets, "steps")
    assert torturer.kills.total() >= 25
    assert min(torturer.kills[victim] for victim in (DRIVER, WORKER, RAYLET)) >= 3
    check(tmp_path / "killed", budgets, 8192)
    if concurrency == 1:
        undisturbed(tmp_path / "whole", small_schema, budgets, 8192)
        compare(tmp_path / "killed", tmp_path / "whole")
