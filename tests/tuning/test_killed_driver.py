"""A search whose driver is killed between any two disk operations decides, and knows, what one does that was left alone.

Trials are made up and Ray has no part in it, so that a search takes seconds; `test_torture.py` kills real ones.
"""

import contextlib
import io
import math
import os
import random
import shutil
import sys
import traceback
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna.samplers._tpe.sampler
import pyarrow.parquet
import pytest
import scipy.optimize
from optuna.trial import TrialState
from rich.console import Console

from results import load
from tests.tuning.killed_search import compare, in_journal
from tests.tuning.made_up import evaluated
from tests.tuning.roomy import roomy
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create, open_experiment
from tuning.experiment.settings import Settings
from tuning.search.models.curve_model import _priors
from tuning.search.proposals.plan import Plan
from tuning.search.run import adapters, machine_watch, progress, watches
from tuning.search.run.driver import run_trials
from tuning.search.run.search import Search
from tuning.storage.search_files import SearchFiles
from tuning.storage.trial_files import trial_files
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.evaluations import due_steps
from tuning.trial.protocol import Handout, Report

# A fork does not import again what is imported here; to import Ray takes longer than a search.
ONCE = (optuna.samplers._tpe.sampler, pyarrow.parquet, scipy.optimize, adapters, machine_watch, progress, watches)

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="a search runs in a fork, which Windows lacks"),
    # A process has several threads where it forks, and trials that are made up write no evaluations of years.
    pytest.mark.filterwarnings("ignore:.*fork", "ignore:.*lack"),
]

EVALUATIONS, STEPS_OF_A_TRIAL = 3, 300
KILLED = 9
OPERATIONS = ((os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (Path, "touch"), (shutil, "rmtree"))


class Slots:
    """In place of Ray Tune: so many trials at once, one report after the other."""

    def __init__(self, search: Search, at_once: int, order: random.Random) -> None:
        self._search, self._at_once, self._order = search, at_once, order

    def fit(self) -> None:
        """Run the search to its end."""
        running: dict[int, tuple[Generator[Report], Report]] = {}
        while True:
            while len(running) < self._at_once and (handout := self._search.hand_out()):
                running[handout.number] = made_up_trial(handout), Report()
            if not running:
                return
            number = self._order.choice(sorted(running))
            reports, last = running[number]
            report = next(reports, None)
            if report and self._search.take(number, report):
                running[number] = reports, report
            else:
                reports.close()
                del running[number]
                self._search.end(number, report or last, has_failed=False)


def made_up_trial(handout: Handout) -> Generator[Report]:
    """In place of training: it writes and tells what a trial does, in this order, and goes on from its newest checkpoint."""
    number = handout.number
    with trial_files(handout.home, number) as files:
        folder = files.experiment.paths.checkpoints(number)
        Checkpoints(folder).drop_after(handout.checkpoint)
        files.begun()
        done = handout.checkpoint * EVALUATIONS // STEPS_OF_A_TRIAL
        yield Report(handout.checkpoint, restored=True)
        for evaluation in range(done or 1, EVALUATIONS + 1):
            steps = due_steps(evaluation, STEPS_OF_A_TRIAL, EVALUATIONS)
            if evaluation > done:
                new = folder / f"{steps:012d}"
                new.mkdir(parents=True, exist_ok=True)
                for name in ("arrays.npz", "state.json"):
                    (new / name).write_text(f"{name} of {number} at {steps}")
                files.saved()
            clip_range = handout.hyperparameters["clip_range"]
            yield evaluated(number, evaluation, steps, rating(handout.seed, clip_range, evaluation), saved=evaluation > done)


def rating(seed: int, clip_range: float, evaluation: int) -> float:
    """It is best at a clip range of 0.25, rises, and depends on the seed."""
    noise = random.Random(f"{seed} {evaluation}").gauss(0.0, 0.01)
    return (0.2 - abs(clip_range - 0.25)) * (1.0 - 0.5**evaluation) + noise


def search(folder: Path, budget: int, at_once: int, kill_at: float, order: random.Random) -> bool:
    """Run a search in a process of its own, which dies at one of its disk operations.

    Returns:
        Whether it got to its end.
    """

    def run() -> None:
        experiment = begun(folder, budget)
        with dying_search(at_once, order) as patched:
            die_at(patched, kill_at)
            run_made_up(experiment, at_once)

    return forked(folder, run)


def forked(folder: Path, run: Callable[[], None]) -> bool:
    """Run a search in a process of its own, which may die.

    Args:
        folder: for what it fails by.
        run: the search.

    Returns:
        Whether it got to its end.
    """
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, KILLED), (folder / "failure").read_text(encoding="utf-8")
        return status == 0
    try:
        run()
    except BaseException as error:  # noqa: BLE001 - the parent shows it
        (folder / "failure").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        os._exit(1)
    os._exit(0)


@contextlib.contextmanager
def dying_search(at_once: int, order: random.Random) -> Iterator[pytest.MonkeyPatch]:
    """Put `Slots` in place of Ray Tune."""

    def tuner(paths: Any, trainable: Any, search: Search, callbacks: Any) -> Slots:
        return Slots(search, at_once, order)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tuning.search.run.driver.tuner", tuner)
        # What decisions follow from does not matter here, and to fit the model takes most of the time.
        patched.setattr(
            "tuning.search.models.curve_model._most_probable", lambda arrays, iterations: _priors(arrays.points.shape[1])[0]
        )
        yield patched


def run_made_up(experiment: Experiment, at_once: int, files: SearchFiles | None = None) -> None:
    """Run a search in this process."""
    experiment = replace(experiment, settings=replace(experiment.settings, concurrency=at_once))
    default = algorithm("ppo").preset("default", {}, {"steps": float(STEPS_OF_A_TRIAL)})
    plan = Plan(algorithm("ppo").space, {}, (default,))
    run_trials(experiment, plan, roomy(experiment), Console(file=io.StringIO()), lambda config: None, files=files)


def begun(folder: Path, budget: int) -> Experiment:
    """The experiment, new or continued."""
    if (folder / "experiment.json").exists():
        return open_experiment(folder)
    return create(settings(folder.name, str(folder.parent), budget))


def settings(name: str, above: str, budget: int) -> Settings:
    return Settings(
        name=name, dir=above, steps=STEPS_OF_A_TRIAL, evaluations=EVALUATIONS, budget=str(budget), confirm=0.34, concurrency=1
    )


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


def killed_search(folder: Path, budget: int, at_once: int, drawn: random.Random, most: int) -> int:
    """Run a search to its end, killed after few disk operations each time; how often it was killed."""
    kills = 0
    while not search(folder, budget, at_once, drawn.randrange(2 * most) / 2.0, drawn):
        kills += 1
        assert load(folder).skipped == ()
    return kills


def test_a_search_that_is_killed_anywhere_is_whole(tmp_path: Path) -> None:
    check_kills(tmp_path, at_once=1, trials=4, most=160, least=2, confirmations=0)


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
        compare(killed, whole)


def check(folder: Path, budget: int) -> None:
    """Check that study and rows hold everything once, and that the budget was spent."""
    found = load(folder)
    states, ended, told = in_journal(folder)
    assert found.trials["trial"].tolist() == list(range(len(states)))
    named = {TrialState.COMPLETE: "complete", TrialState.WAITING: "frozen"}
    assert found.trials["state"].tolist() == [named[states[number]] for number in range(len(states))]
    assert set(ended.values()) <= {1}
    reports = found.reports
    assert told == dict.fromkeys(zip(reports["trial"].tolist(), reports["steps"].tolist(), strict=True), 1)
    assert reports.groupby("trial")["steps"].max().sum() == budget
    for number, own in reports.groupby("trial"):
        row = found.trials.loc[number]
        scores = [rating(row["seed"], row["hp_clip_range"], evaluation) for evaluation in own["update"]]
        assert own["score"].tolist() == scores
        assert own["update"].tolist() == list(range(1, len(own) + 1))
    confirming = found.confirmations
    assert confirming["state"].eq("complete").all()
    assert not confirming.duplicated(["confirms", "confirm_run"]).any()
    assert not list(folder.glob("running-*"))
