"""A search whose driver is killed between any two disk operations decides, and knows, what one does that was left alone.

Trials are made up and Ray has no part in it, so that a search takes seconds; `test_torture.py` kills real ones.
"""

from __future__ import annotations

import io
import json
import math
import os
import random
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna.samplers._tpe.sampler
import pandas as pd
import pyarrow.parquet
import pytest
import scipy.optimize
from optuna.trial import TrialState
from rich.console import Console

from results import load
from results.table_files import add_rows, drop_rows_after
from tests.tuning.roomy import roomy
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, ExperimentPaths, create, open_experiment
from tuning.experiment.settings import Settings
from tuning.search.models.curve_model import _priors
from tuning.search.proposals.plan import Plan
from tuning.search.run import budget_watch, machine_watch, progress, scheduler
from tuning.search.run.driver import run_trials
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.evaluation_schedule import due_steps
from tuning.trial.protocol import EVALUATION, HYPERPARAMETERS, NUMBER, SCORE, STEPS
from tuning.trial.records import TrialRecords

# A fork does not import again what is imported here; to import Ray takes longer than a search.
ONCE = (optuna.samplers._tpe.sampler, pyarrow.parquet, scipy.optimize, budget_watch, machine_watch, progress, scheduler)

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="a search runs in a fork, which Windows lacks"),
    # A process has several threads where it forks, and trials that are made up write no evaluations of years.
    pytest.mark.filterwarnings("ignore:.*fork", "ignore:.*lack"),
]

EVALUATIONS, STEPS_OF_A_TRIAL = 3, 300
KILLED = 9
OPERATIONS = ((os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (Path, "touch"), (shutil, "rmtree"))
ANEW = ("worker_id", "datetime_start", "datetime_complete")


class Slots:
    """In place of Ray Tune: so many trials at once, one report after the other."""

    def __init__(self, paths: ExperimentPaths, searcher: Any, scheduler: Any, at_once: int, order: random.Random) -> None:
        self._experiment = open_experiment(paths.folder)
        self._searcher, self._scheduler, self._at_once, self._order = searcher, scheduler, at_once, order

    def fit(self) -> None:
        """Run the search to its end."""
        running: dict[str, tuple[Iterator[dict[str, Any]], dict[str, Any]]] = {}
        begun = 0
        while True:
            while len(running) < self._at_once and isinstance(config := self._searcher.suggest(str(begun)), dict):
                running[str(begun)] = made_up_trial(self._experiment, config), {}
                begun += 1
            if not running:
                return
            name = self._order.choice(sorted(running))
            reports, last = running[name]
            result = next(reports, None)
            goes_on = result and self._scheduler.on_trial_result(None, SimpleNamespace(trial_id=name), result) == "CONTINUE"
            if result and goes_on:
                running[name] = reports, result
            else:
                del running[name]
                self._searcher.on_trial_complete(name, result or last)


def made_up_trial(experiment: Experiment, config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """In place of training: it writes what a trial does, in this order, and goes on from its newest checkpoint."""
    number, paths, records = config[NUMBER], experiment.paths, TrialRecords(experiment)
    taken = Checkpoints(paths.checkpoints(number)).steps
    drop_rows_after(paths.folder, "reports", number, taken)
    evaluation = taken * EVALUATIONS // STEPS_OF_A_TRIAL
    if evaluation:
        yield report(evaluation, rating(records.seed(number), config, evaluation))
    while evaluation < EVALUATIONS:
        evaluation += 1
        score = rating(records.seed(number), config, evaluation)
        steps = due_steps(evaluation, STEPS_OF_A_TRIAL, EVALUATIONS)
        row = {"trial": number, "update": evaluation, "steps": steps, "score": score}
        add_rows(paths.folder, "reports", number, [row])
        records.update(number, steps=steps, score=score, updates=evaluation)
        (paths.checkpoints(number) / f"{steps:012d}").mkdir(parents=True, exist_ok=True)
        yield report(evaluation, score)


def report(evaluation: int, score: float) -> dict[str, Any]:
    return {STEPS: due_steps(evaluation, STEPS_OF_A_TRIAL, EVALUATIONS), EVALUATION: evaluation, SCORE: score}


def rating(seed: int, config: dict[str, Any], evaluation: int) -> float:
    """It is best at a clip range of 0.25, rises, and depends on the seed."""
    noise = random.Random(f"{seed} {evaluation}").gauss(0.0, 0.01)
    return (0.2 - abs(config[HYPERPARAMETERS]["clip_range"] - 0.25)) * (1.0 - 0.5**evaluation) + noise


def search(folder: Path, budget: int, at_once: int, kill_at: float, order: random.Random) -> bool:
    """Run a search in a process of its own, which dies at one of its disk operations.

    Returns:
        Whether it got to its end.
    """
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, KILLED), (folder / "failure").read_text(encoding="utf-8")
        return status == 0
    try:
        run_and_die(begun(folder, budget), at_once, kill_at, order)
    except BaseException as error:  # noqa: BLE001 - the parent shows it
        (folder / "failure").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        os._exit(1)
    os._exit(0)


def run_and_die(experiment: Experiment, at_once: int, kill_at: float, order: random.Random) -> None:
    """Run a search in this process, which dies at one of its disk operations."""

    def tuner(paths: Any, trainable: Any, searcher: Any, scheduler: Any, callbacks: Any) -> Slots:
        return Slots(paths, searcher, scheduler, at_once, order)

    experiment = replace(experiment, settings=replace(experiment.settings, concurrency=at_once))
    default = algorithm("ppo").preset("default", {}, {"steps": float(STEPS_OF_A_TRIAL)})
    plan = Plan(algorithm("ppo").space, {}, (default,))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tuning.search.run.driver._tuner", tuner)
        # What decisions follow from does not matter here, and to fit the model takes most of the time.
        patched.setattr(
            "tuning.search.models.curve_model._most_probable", lambda arrays, iterations: _priors(arrays.points.shape[1])[0]
        )
        die_at(patched, kill_at)
        run_trials(experiment, plan, roomy(experiment), Console(file=io.StringIO()), lambda config: None)


def begun(folder: Path, budget: int) -> Experiment:
    """The experiment, new or continued."""
    if (folder / "experiment.json").exists():
        return open_experiment(folder)
    return create(
        Settings(
            name=folder.name, dir=str(folder.parent), steps=STEPS_OF_A_TRIAL, reports=EVALUATIONS, budget=str(budget),
            confirm=0.34, concurrency=1,
        )
    )  # fmt: skip


def die_at(patched: pytest.MonkeyPatch, operation: float) -> None:
    """Let this process die right before or right after one of its disk operations; no `finally` sees it."""
    done = 0.0

    def counted(function: Any) -> Any:
        def operated(*arguments: Any, **named: Any) -> Any:
            nonlocal done
            for moment in (0.0, 0.5):
                if done + moment >= operation:
                    os._exit(KILLED)
                if not moment:
                    result = function(*arguments, **named)
            done += 1.0
            return result

        return operated

    for owner, name in OPERATIONS:
        patched.setattr(owner, name, counted(getattr(owner, name)))


def journal(folder: Path) -> list[dict[str, Any]]:
    """What was written of trials into the study, in this order, without times and names of processes."""
    logs = map(json.loads, (folder / "study.journal").read_text(encoding="utf-8").splitlines())
    return [
        {key: value for key, value in log.items() if key not in ANEW}
        for log in logs
        if {"trial_id", "distributions"} & log.keys()
    ]


def killed_search(folder: Path, budget: int, at_once: int, drawn: random.Random, most: int) -> int:
    """Run a search to its end, killed after few disk operations each time; how often it was killed."""
    kills = 0
    while not search(folder, budget, at_once, drawn.randrange(2 * most) / 2.0, drawn):
        kills += 1
        assert load(folder).skipped == ()
    return kills


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_search_that_is_killed_anywhere_is_whole(tmp_path: Path, at_once: int) -> None:
    check_kills(tmp_path, at_once, trials=4, most=160, least=2, confirmations=0)


@pytest.mark.torture
@pytest.mark.parametrize("at_once", [1, 2])
def test_so_it_is_with_many_kills(tmp_path: Path, at_once: int) -> None:
    check_kills(tmp_path, at_once, trials=12, most=80, least=25, confirmations=4)


def check_kills(folder: Path, at_once: int, trials: int, most: int, least: int, confirmations: int) -> None:
    """Kill a search again and again, and compare it with one that is left alone."""
    drawn, killed, whole = random.Random(at_once), folder / "killed", folder / "whole"
    budget = trials * STEPS_OF_A_TRIAL
    for each in (killed, whole):
        begun(each, budget)
    kills = killed_search(killed, budget, at_once, drawn, most)
    print(f"killed {kills} times")
    assert kills >= least
    check(killed, budget)
    assert len(load(killed).confirmations) >= confirmations
    if at_once == 1:
        assert search(whole, budget, 1, math.inf, drawn)
        assert journal(killed) == journal(whole)
        one, two = load(killed), load(whole)
        columns = ["trial", "state", "score", "steps", "seed", "confirms", "confirm_run", "hp_clip_range"]
        pd.testing.assert_frame_equal(one.trials[columns], two.trials[columns], check_exact=True)
        pd.testing.assert_frame_equal(one.reports, two.reports, check_exact=True)
        assert one.best["trial"] == two.best["trial"]


def check(folder: Path, budget: int) -> None:
    """Check that study and rows hold everything once, and that the budget was spent."""
    found, states, told = load(folder), {}, Counter[tuple[int, int]]()
    ended: Counter[int] = Counter()
    for log in journal(folder):
        if "distributions" in log:
            states[len(states)] = TrialState(log["state"])
        elif "state" in log:
            states[log["trial_id"]] = TrialState(log["state"])
            ended[log["trial_id"]] += states[log["trial_id"]].is_finished()
        elif "intermediate_value" in log:
            told[log["trial_id"], log["step"]] += 1
    assert found.trials["trial"].tolist() == list(range(len(states)))
    named = {TrialState.COMPLETE: "complete", TrialState.WAITING: "frozen"}
    assert found.trials["state"].tolist() == [named[states[number]] for number in range(len(states))]
    assert set(ended.values()) <= {0, 1}
    reports = found.reports
    assert told == dict.fromkeys(zip(reports["trial"].tolist(), reports["steps"].tolist(), strict=True), 1)
    assert reports.groupby("trial")["steps"].max().sum() == budget
    for number, own in reports.groupby("trial"):
        row = found.trials.loc[number]
        config = {HYPERPARAMETERS: {"clip_range": row["hp_clip_range"]}}
        assert own["score"].tolist() == [rating(row["seed"], config, evaluation) for evaluation in own["update"]]
        assert own["update"].tolist() == list(range(1, len(own) + 1))
    confirming = found.confirmations
    assert confirming["state"].eq("complete").all()
    assert not confirming.duplicated(["confirms", "confirm_run"]).any()
    assert not list(folder.glob("running-*"))
