"""What tests share that kill a real search again and again: its command, moments and victims, and what is true at its end."""

import contextlib
import json
import math
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pyarrow.parquet as pq
from optuna.trial import TrialState

from results import load
from tests.tuning.one_trial import train
from tuning.experiment.folder import create, open_experiment
from tuning.runtime.ray_session import ray_session
from tuning.search.record.study import read_trials
from tuning.search.record.trials import Standing
from tuning.trial.evaluations import due_steps, evaluations_due
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords

DRIVER, WORKER, RAYLET, NODE = "driver", "worker", "raylet", "node"
GONE_SECONDS = 30.0  # that trials' processes may take to notice that their run is over
AGENTS_GONE_SECONDS = 240.0  # and Ray's agents, which try to tell others first that their node died
END_SECONDS = 300.0  # that a search may take to end by itself, once it lost what it needs
LOOK_SECONDS = 0.2  # between two looks at the processes
EARLY = 0.2  # part of the kills that do not wait until the run has got further
EVALUATIONS = 4  # of a trial
WRITTEN_ANEW = ("worker_id", "datetime_start", "datetime_complete")  # what differs between two journals of one search
MEASURED = ("time", "seconds", "steps_per_second", "rss_bytes", "vram_bytes", "machine_memory_bytes", "cpu_cores")


def command(above: str | Path, name: str, schema: Path, budget: int, concurrency: int, steps: int, confirm: float) -> list[str]:
    """The command of a small search.

    Args:
        above: folder or URI that holds the experiment.
        name: of the experiment.
        schema: of its scenario.
        budget: environment steps of all trials.
        concurrency: trials at once.
        steps: of a trial.
        confirm: part of the budget that trains the best again.
    """
    return [
        sys.executable, "-m", "tuning.run", "--dir", str(above), "--name", name, "--algo", "ppo",
        "--scenario", str(schema), "--steps", str(steps), "--evaluations", str(EVALUATIONS), "--validation-weeks", "1",
        "--budget", str(budget), "--concurrency", str(concurrency), "--keep-checkpoints", "all", "--confirm", str(confirm),
        "--set", "hidden_sizes=32,32", "batch_size=64", "n_steps=128", "n_epochs=4",
    ]  # fmt: skip


@dataclass
class Torturer:
    """Starts a search again and again, and kills what runs it, each time at a moment of chance.

    What it is killed of, where it is started, and where its results are is up to those that inherit from this.

    Attributes:
        random: draws moments and victims.
        latest: greatest number of seconds to the next kill, after the search has learned something new.
        victims: what is killed, one after the other.
        kills: so far, by victim.
        family: processes of all runs so far, by number, and their names.
    """

    random: random.Random
    latest: float
    victims: tuple[str, ...]
    kills: Counter[str] = field(default_factory=Counter, kw_only=True)
    family: dict[int, tuple[psutil.Process, str]] = field(default_factory=dict, kw_only=True)

    def started(self, budget: int) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
        """The search, begun or continued with a budget of steps; the driver's process."""
        raise NotImplementedError

    def known(self) -> int:
        """Number of evaluations that the search has kept."""
        raise NotImplementedError

    def told(self) -> str:
        """What the last run printed."""
        raise NotImplementedError

    def look(self) -> None:
        """See that what was kept is as it was; no process of a trial is left."""

    def processes(self, driver: psutil.Process) -> list[psutil.Process]:
        """The processes that a run has now, beside its driver."""
        return _children(driver)

    def found(self, driver: psutil.Process, others: list[psutil.Process], victim: str) -> list[psutil.Process]:
        """The processes that are killed as a victim; none as long as there is none.

        Args:
            driver: of the run.
            others: see `processes`.
            victim: see `victims`.
        """
        return [driver] if victim == DRIVER else [process for process in others if is_a(process, victim)][:1]

    def killed(self, victim: str) -> None:
        """A victim was killed while its run goes on; what has to be put in its place."""

    def run(self, budget: int) -> bool:
        """Run the search once, with a budget of steps, and kill what is next, until the last victim.

        Returns:
            Whether it got to its end.
        """
        with self.started(budget) as started:
            driver, before = psutil.Process(started.pid), self.kills.total()
            moment, victim = self._next(time.monotonic())
            while started.poll() is None:
                time.sleep(LOOK_SECONDS)
                others = self.processes(driver)
                self.family |= {process.pid: (process, name_of(process)) for process in others}
                if victim is None or time.monotonic() < moment() or not (found := self.found(driver, others, victim)):
                    continue
                names = sorted({Path(name_of(process).split(" ")[0]).name for process in found})
                for process in found:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
                self.kills[victim] += 1
                # So that a failure can be followed, and repeated by its seed.
                say(f"kill {self.kills.total()} of {len(self.victims)}: {victim} {names}; known: {self.known()}")
                if driver in found:
                    break
                self.killed(victim)
                # A worker that died is replaced, and the run goes on.
                moment, victim = self._next(time.monotonic())
            status = started.wait(END_SECONDS)
            own = [process for process, name in self.family.values() if is_a_trial(name)]
            left = still_there(own, GONE_SECONDS)
            assert [self.family[process.pid][1] for process in left] == []
            self.look()
            # Without a kill, it gets to its end.
            assert status == 0 or self.kills.total() > before, self.told()
            return status == 0

    def _next(self, now: float) -> tuple[Callable[[], float], str | None]:
        """When to kill what next: most victims some time after the search has learned something, so that all runs get on."""
        killed = self.kills.total()
        victim = self.victims[killed] if killed < len(self.victims) else None
        wait, known = self.random.uniform(0.0, self.latest), self.known()
        if self.random.random() < EARLY:
            return lambda: now + 1.0 + wait, victim
        learned: list[float] = []

        def moment() -> float:
            if not learned and self.known() > known:
                learned.append(time.monotonic())
            return learned[0] + wait if learned else math.inf

        return moment, victim

    def see_all_gone(self) -> None:
        """See that no process is left of any run. Ray's agents try for minutes to tell others that their node died."""
        left = still_there([process for process, _ in self.family.values()], AGENTS_GONE_SECONDS)
        assert [self.family[process.pid][1] for process in left] == []


def still_there(processes: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Processes that are still there after so many seconds, at most.

    `psutil.wait_procs` may raise FileNotFoundError for a process of another parent that goes just then.
    """
    until = time.monotonic() + seconds
    while (left := [process for process in processes if _runs(process)]) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def say(line: str) -> None:
    """Print a line with the time of day."""
    print(time.strftime("%H:%M:%S"), line, flush=True)


def name_of(process: psutil.Process) -> str:
    """A process in words; empty where it has ended."""
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())[:200].strip()
    return ""


def is_a_trial(name: str) -> bool:
    """Whether a process runs a trial; not whether it is one of Ray's own, or waits for work, which ends when Ray says so."""
    return "ray::" in name and "Agent" not in name and "IDLE" not in name


def is_a(process: psutil.Process, victim: str) -> bool:
    """Whether a process, which is alive, is such a victim. Ray names a worker by the actor in it, and its agents likewise."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return process.name() == "raylet" if victim == RAYLET else is_a_trial(" ".join(process.cmdline()))
    except psutil.Error:
        return False


def _children(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def torture(torturer: Torturer, trials: int, steps: int) -> list[int]:
    """Torture a search until each victim was killed, and let it get to its end.

    Args:
        torturer: of it.
        trials: that the first budget would pay for as a whole.
        steps: of a trial.

    Returns:
        The budgets that it had one after the other: larger ones, where it was too quick.
    """
    budgets = [trials * steps]
    while True:
        ended = torturer.run(budgets[-1])
        if ended and torturer.kills.total() >= len(torturer.victims):
            return budgets
        if ended:
            budgets.append(budgets[-1] + trials // 2 * steps)


def check(folder: Path, budgets: list[int], steps: int, confirms: bool) -> None:
    """Check that results and study hold everything once."""
    found = load(folder)
    assert found.skipped == ()
    trials = len(found.trials)
    assert found.trials["trial"].tolist() == list(range(trials))
    # A policy that does nothing is stopped.
    stopped = found.trials["noticed"].notna()
    assert found.trials["state"].isin(["complete", "frozen"]).where(~stopped, found.trials["state"] != "running").all()
    assert found.trials["finished"].notna().equals(found.trials["state"].isin(["complete", "pruned"]))
    assert found.trials["crashes"].eq(0).all()
    for number, reports in found.reports.groupby("trial"):
        assert reports["update"].tolist() == list(range(1, len(reports) + 1)), number
        assert reports["steps"].is_monotonic_increasing
        assert reports["steps"].iloc[-1] == found.trials["steps"][number]
    complete = found.trials[found.trials["state"] == "complete"]
    assert (complete["steps"] >= steps).all()
    scored = found.reports.dropna(subset=["score"])
    # Yardsticks are rows of no trial.
    evaluations = found.evaluations.dropna(subset=["trial"])
    assert not evaluations.duplicated(["trial", "steps", "year"]).any()
    assert set(zip(scored["trial"], scored["steps"], strict=True)) == set(
        zip(evaluations["trial"], evaluations["steps"], strict=True)
    )
    states, ended, told = in_journal(folder)
    assert ended == dict.fromkeys(found.trials.loc[found.trials["state"].isin(["complete", "pruned"]), "trial"], 1)
    assert all(states[number] is TrialState.WAITING for number in found.trials.loc[found.trials["state"] == "frozen", "trial"])
    # Each evaluation was told once, and the study lacks none.
    due = [due_steps(evaluations_due(taken, steps, EVALUATIONS), steps, EVALUATIONS) for taken in scored["steps"]]
    assert told == dict.fromkeys(zip(scored["trial"], due, strict=True), 1)
    # What an evaluation is due at is counted, once for each trial.
    used = pd.Series(due, index=scored["trial"]).groupby(level=0).max().sum()
    # A round of trainings of the best and of the default begins only where there is enough for all of it.
    assert used == budgets[-1] if not confirms else budgets[-1] - 3 * steps < used <= budgets[-1]
    left = [path.name for path in folder.iterdir() if path.name.startswith(("running-", "owner"))]
    assert left == []
    assert open_experiment(folder).settings.budget == str(budgets[-1])


def journal(folder: Path) -> list[dict[str, Any]]:
    """What was written of trials into the study, in this order, without times and names of processes.

    Optuna writes a line whenever a study is opened; that is left out.
    """
    logs = map(json.loads, (folder / "study.journal").read_text(encoding="utf-8").splitlines())
    return [
        {key: value for key, value in log.items() if key not in WRITTEN_ANEW}
        for log in logs
        if {"trial_id", "distributions"} & log.keys()
    ]


def in_journal(folder: Path) -> tuple[dict[int, TrialState], Counter[int], Counter[tuple[int, int]]]:
    """What the study has at last of each trial: its state, how often it ended, and how often it told each evaluation."""
    states, ended, told = dict[int, TrialState](), Counter[int](), Counter[tuple[int, int]]()
    for log in journal(folder):
        if "distributions" in log:
            states[len(states)] = TrialState(log["state"])
        elif "state" in log:
            states[log["trial_id"]] = TrialState(log["state"])
            ended[log["trial_id"]] += states[log["trial_id"]].is_finished()
        elif "intermediate_value" in log:
            told[log["trial_id"], log["step"]] += 1
    return states, +ended, told


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    measured = [name for name in frame.columns if name in MEASURED or name.endswith("_seconds")]
    return frame.drop(columns=measured).reset_index(drop=True)


def compare(folder: Path, other: Path) -> None:
    """Check that two searches tried the same in the same order, and measured the same."""
    one, two = load(folder), load(other)
    for table in ("reports", "evaluations"):
        pd.testing.assert_frame_equal(numbers(getattr(one, table)), numbers(getattr(two, table)), check_exact=True)
    columns: list[Any] = [name for name in one.trials.columns if name.startswith(("hp_", "used_", "confirm"))]
    columns += ["state", "score", "steps", "seed", "noticed"]
    pd.testing.assert_frame_equal(one.trials[columns], two.trials[columns], check_exact=True)
    assert one.best["trial"] == two.best["trial"]
    # Draws, decisions, evaluations and ends stand in the journal one after the other.
    assert journal(folder) == journal(other)


def known_checkpoints(folder: Path) -> dict[int, int]:
    """Steps of the newest checkpoint of each trial that the study of an experiment knows of."""
    return {trial.number: Standing.of(trial).checkpoint for trial in read_trials(open_experiment(folder))}


def covered(known: dict[Any, list[str]], key: Any, file: Any, steps: int) -> None:
    """See that rows that a checkpoint covers are as they were, and note those that it covers now.

    Args:
        known: such rows, by their file; changed in place.
        key: of the file in it.
        file: path, or content that can be read.
        steps: of the newest checkpoint that the study knows of; 0 without one.
    """
    rows = pq.read_table(file, partitioning=None).to_pylist()
    before = known.setdefault(key, [])
    assert [str(row) for row in rows[: len(before)]] == before, key
    now = [str(row) for row in rows if row["steps"] <= steps]
    known[key] = max(before, now, key=len)


def undisturbed(folder: Path, schema: Path, budgets: list[int], steps: int, confirm: float) -> None:
    for budget in budgets:
        arguments = command(folder.parent, folder.name, schema, budget, 1, steps, confirm)
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def compare_trials(folder: Path, alone: Path) -> None:
    """Check that each trial measured what it does where it is trained by itself, without a break.

    Args:
        folder: of the experiment.
        alone: folder for the same experiment without a search.
    """
    experiment, found = open_experiment(folder), load(folder)
    same = create(replace(experiment.settings, dir=str(alone.parent), name=alone.name))
    source, records = TrialRecords(experiment), TrialRecords(same)
    with ray_session(num_cpus=1):
        for row in found.trials.to_dict("records"):
            number = int(row["trial"])
            confirms, run = (None if math.isnan(row[name]) else int(row[name]) for name in ("confirms", "confirm_run"))
            role = None if pd.isna(row["confirm_role"]) else row["confirm_role"]
            train(same, Proposal(number, source.assignment(number), None, None, confirms, run, role), row["steps"])
            assert (records.seed(number), records.row(number)["steps"]) == (row["seed"], row["steps"])
    trained = load(alone)
    for table in ("reports", "evaluations"):
        pd.testing.assert_frame_equal(numbers(getattr(found, table)), numbers(getattr(trained, table)), check_exact=True)
    used = [name for name in found.trials.columns if name.startswith("used_")]
    pd.testing.assert_frame_equal(found.trials[used], trained.trials[used], check_exact=True)
