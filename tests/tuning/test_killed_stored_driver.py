"""The same as `test_killed_driver.py` with the experiment in a storage: after each kill only its URI is left.

The driver dies at one of its operations, on the disk or in the storage, whichever thread does it. Its working copy is deleted,
and the next run has another cache.
"""

from __future__ import annotations

import io
import math
import os
import random
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from common.storage.location import Location, location
from common.storage.objects import Objects
from common.storage.remote_store import RemoteStore
from common.storage.working_copy import WorkingCopy
from results import load
from results.table_files import add_rows, drop_rows_after
from tests.tuning import test_killed_driver as local
from tests.tuning.roomy import roomy
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings
from tuning.search.models.curve_model import _priors
from tuning.search.proposals.plan import Plan
from tuning.search.run.driver import run_trials
from tuning.storage import epoch, upload_queue
from tuning.storage.journal_chunks import fetch_journal
from tuning.storage.stored_experiment import create_stored, look_up, run_files
from tuning.storage.trial_files import trial_files
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.evaluation_schedule import due_steps
from tuning.trial.protocol import EXPERIMENT, NUMBER, RUN
from tuning.trial.records import TrialRecords

pytestmark = local.pytestmark

STORED = ((RemoteStore, "_write"), (RemoteStore, "remove"))


class Slots(local.Slots):
    """In place of Ray Tune, with trials that have files of their own."""

    def fit(self) -> None:
        running: dict[str, tuple[Iterator[dict[str, Any]], dict[str, Any]]] = {}
        begun = 0
        while True:
            while len(running) < self._at_once and isinstance(config := self._searcher.suggest(str(begun)), dict):
                running[str(begun)] = made_up_trial(config), {}
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
                reports.close()  # type: ignore[attr-defined]
                del running[name]
                self._searcher.on_trial_complete(name, result or last)


def made_up_trial(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """In place of training: it writes and pushes what a trial does, in this order."""
    number = config[NUMBER]
    with trial_files(config, number, config[RUN], config[EXPERIMENT]) as files:
        paths = files.experiment.paths
        records, checkpoints = TrialRecords(files.experiment, files.written), Checkpoints(paths.checkpoints(number))
        taken = checkpoints.steps
        is_dropped = drop_rows_after(paths.folder, "reports", number, taken)
        files.begun()
        if is_dropped:
            files.written(paths.part("reports", number))
        evaluation = taken * local.EVALUATIONS // local.STEPS_OF_A_TRIAL
        if evaluation:
            yield local.report(evaluation, local.rating(records.seed(number), config, evaluation))
        while evaluation < local.EVALUATIONS:
            evaluation += 1
            score = local.rating(records.seed(number), config, evaluation)
            steps = due_steps(evaluation, local.STEPS_OF_A_TRIAL, local.EVALUATIONS)
            row = {"trial": number, "update": evaluation, "steps": steps, "score": score}
            files.written(add_rows(paths.folder, "reports", number, [row]))
            records.update(number, steps=steps, score=score, updates=evaluation)
            folder = paths.checkpoints(number) / f"{steps:012d}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "arrays.npz").write_text(f"arrays of {number} at {steps}")
            (folder / "state.json").write_text(f"state of {number} at {steps}")
            files.saved()
            yield local.report(evaluation, score)


def search(place: Location, folder: Path, at_once: int, kill_at: float, order: random.Random) -> bool:
    """Run a search in a process of its own, which dies at one of its operations.

    Args:
        place: of the experiment.
        folder: for the cache of this run.
        at_once: trials.
        kill_at: which operation it dies at.
        order: draws which trial reports next.

    Returns:
        Whether it got to its end.
    """
    folder.mkdir(parents=True)
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, local.KILLED), (folder / "failure").read_text(encoding="utf-8")
        return status == 0
    try:
        os.environ["BUILDING_TUNER_CACHE"] = str(folder / "cache")
        run_and_die(place, at_once, kill_at, order)
    except BaseException as error:  # noqa: BLE001 - the parent shows it
        (folder / "failure").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        os._exit(1)
    os._exit(0)


def run_and_die(place: Location, at_once: int, kill_at: float, order: random.Random) -> None:
    """Run a search in this process, which dies at one of its operations."""

    def tuner(paths: Any, trainable: Any, searcher: Any, scheduler: Any, callbacks: Any) -> Slots:
        return Slots(paths, searcher, scheduler, at_once, order)

    default = algorithm("ppo").preset("default", {}, {"steps": float(local.STEPS_OF_A_TRIAL)})
    plan = Plan(algorithm("ppo").space, {}, (default,))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tuning.search.run.driver._tuner", tuner)
        patched.setattr(
            "tuning.search.models.curve_model._most_probable", lambda arrays, iterations: _priors(arrays.points.shape[1])[0]
        )
        patched.setattr(epoch, "WATCH_SECONDS", 0.0)
        patched.setattr(epoch, "SETTLE_SECONDS", 0.0)
        patched.setattr(upload_queue, "TICK_SECONDS", 0.01)
        patched.setattr(local, "OPERATIONS", (*local.OPERATIONS, *STORED))
        experiment = look_up(place)
        local.die_at(patched, kill_at)
        experiment = replace(experiment, settings=replace(experiment.settings, concurrency=at_once))
        with run_files(experiment, lambda line: None) as (held, files):
            run_trials(held, plan, roomy(held), Console(file=io.StringIO()), lambda config: None, files=files)


def begun(above: Location, name: str, budget: int) -> Location:
    """Create the experiment."""
    settings = Settings(
        name=name, dir=above.uri, steps=local.STEPS_OF_A_TRIAL, reports=local.EVALUATIONS, budget=str(budget),
        confirm=0.34, concurrency=1,
    )  # fmt: skip
    return create_stored(above, settings, {}, "").storage or above


def fetched(place: Location, folder: Path) -> Path:
    """All that a storage has of an experiment."""
    objects = Objects(place)
    WorkingCopy(folder, objects).pull([""])
    fetch_journal(objects, folder / "study.journal")
    return folder


def check_kills(above: Location, folder: Path, at_once: int, trials: int, most: int, least: int, confirmations: int) -> None:
    """Kill a search again and again, and compare it with a local one that is left alone.

    Args:
        above: where it is.
        folder: for the caches of its runs.
        at_once: trials.
        trials: that its budget pays for.
        most: operations that a run makes at first.
        least: kills.
        confirmations: that it has at least.
    """
    drawn, budget, kills, known = random.Random(at_once), trials * local.STEPS_OF_A_TRIAL, 0, 0
    place = begun(above, "killed", budget)
    objects = Objects(place)
    while not search(place, folder / str(kills), at_once, drawn.randrange(2 * most) / 2.0, drawn):
        kills, before, known = kills + 1, known, sum(own.nbytes for own in objects.listed("results/reports/").values())
        # A run fetches first what is known, and this grows: one that got no further is followed by one that lives longer.
        most += most // 20 if known == before else 0
    print(f"killed {kills} times, at most after {most} operations")
    assert kills >= least
    found = fetched(place, folder / "fetched")
    local.check(found, budget)
    assert len(load(found).confirmations) >= confirmations
    assert not list(found.rglob("*.turn"))
    if at_once == 1:
        whole = folder / "whole"
        local.begun(whole, budget)
        assert local.search(whole, budget, 1, math.inf, drawn)
        assert local.journal(found) == local.journal(whole)
        one, two = load(found), load(whole)
        columns = ["trial", "state", "score", "steps", "seed", "confirms", "confirm_run", "hp_clip_range"]
        pd.testing.assert_frame_equal(one.trials[columns], two.trials[columns], check_exact=True)
        pd.testing.assert_frame_equal(one.reports, two.reports, check_exact=True)
        assert one.best["trial"] == two.best["trial"]


def test_a_search_that_is_killed_anywhere_goes_on_from_its_uri(tmp_path: Path) -> None:
    above = location(f"file://{tmp_path}/storage")
    check_kills(above, tmp_path, at_once=1, trials=4, most=1000, least=2, confirmations=0)


@pytest.mark.torture
@pytest.mark.parametrize("at_once", [1, 2])
def test_so_it_does_with_many_kills_in_a_folder(tmp_path: Path, at_once: int) -> None:
    above = location(f"file://{tmp_path}/storage")
    check_kills(above, tmp_path, at_once, trials=12, most=400, least=15, confirmations=4)


@pytest.mark.torture
@pytest.mark.parametrize("at_once", [1, 2])
def test_so_it_does_with_many_kills_and_a_server(s3_bucket: str, tmp_path: Path, at_once: int) -> None:
    check_kills(location(s3_bucket), tmp_path, at_once, trials=12, most=160, least=25, confirmations=4)
