"""The course of a judgement: contenders are trained, judged and dropped, until all runs are there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from envs.environments.backend import Backend, beyond_batch
from envs.scenarios.scenario import Scenario, Split
from envs.yardsticks.bound import why_no_bound
from results import load
from results.judgement import LEAST_SERVED, serves
from results.writer import read_part
from tuning.experiment.folder import Experiment
from tuning.experiment.settings import Settings
from tuning.judging.contenders import Contender
from tuning.judging.evaluations import (
    Job,
    baseline_job,
    bound_jobs,
    check_agreement,
    run_jobs,
    score_of,
    served_of,
    work_off,
)
from tuning.judging.folder import Judgement
from tuning.judging.race import comparisons, looks, standing
from tuning.judging.training import experiment_of, seed_of, train
from tuning.runtime.ray_session import ray_session
from tuning.search.preparation import prepare

SPLITS: tuple[Split, ...] = ("train", "test")  # whose years are looked at here; the search that trains prepares the others


class Course:
    """Whatever is in the folder already is not done again, so a course that was stopped goes on where it was.

    Attributes:
        comparisons: see `tuning.judging.race.standing`.
        failed: contenders that lack runs, with the reason.
        left: names of who stayed in the race to its end.
    """

    def __init__(self, judgement: Judgement, site: Scenario, settings: Settings, console: Console) -> None:
        """Look at what is to be judged.

        Args:
            judgement: locked.
            site: of its experiments.
            settings: with the reward of its experiments, and with memory and cluster of this run.
            console: shows how far it is.
        """
        self._judgement, self._paths, self._site = judgement, judgement.paths, site
        self._settings, self._console = settings, console
        # Who judges the race: where the batch backend can, it has CityLearn's numbers in no time.
        self._backend: Backend = "citylearn" if beyond_batch(site) else "batch"
        self._looks = looks(judgement.question.seeds)
        self.comparisons = comparisons(len(judgement.contenders), judgement.question.seeds)
        self.failed: dict[str, str] = {}
        self.left: list[str] = []
        self._experiments: dict[str, Experiment] = {}
        self._runs: dict[str, list[int]] = {}

    def run(self, judged_by: Backend) -> None:
        """Train, judge and drop; then CityLearn judges who is left, if it is asked for.

        Args:
            judged_by: whose numbers the last word is.

        Raises:
            ValidityError: if a result cannot be.
            BoundError: if a bound is not found.
            KeyboardInterrupt: if it was told to stop.
        """
        racing = list(self._judgement.contenders)
        for contender in racing:
            self._experiments[contender.name] = experiment_of(
                contender, self._paths, self._judgement.question.seed, self._settings.gpu_memory, self._settings.address
            )
        for count in self._looks:
            for contender in list(racing):
                self._say(f"{contender.name}: {count} runs")
                complete = train(self._experiments[contender.name], count, self._site, self._console)
                # A judgement that is continued has more: it is to decide as it did when it had not.
                self._runs[contender.name] = [number for number in complete if number < count]
                if len(self._runs[contender.name]) < count:
                    racing.remove(contender)
                    self.failed[contender.name] = self._failure(contender)
                    self._say(f"{contender.name} is out of the race: {self.failed[contender.name]}")
            if not racing:
                break
            self._evaluate(racing, self._backend)
            racing = self._serving(racing)
            # At the last look nobody is dropped for a score: the verdict is about who is left.
            if count != self._looks[-1] and len(racing) > 1:
                racing = self._ahead(racing)
        self.left = [contender.name for contender in racing]
        if racing and judged_by == "citylearn" and self._backend != "citylearn":
            self._evaluate(racing, "citylearn")
            for contender in racing:
                for number in self._runs[contender.name]:
                    check_agreement(self._part(contender, number, self._backend), self._part(contender, number, "citylearn"))

    def _failure(self, contender: Contender) -> str:
        """Why a contender lacks runs."""
        trials = load(self._experiments[contender.name].paths.folder).trials
        row = trials[trials["state"] != "complete"].iloc[0]
        return f"run {row['trial']} {row['state']}: {str(row['error'] or '').strip().rpartition(chr(10))[2]}"

    def _evaluate(self, racing: list[Contender], backend: Backend) -> None:
        """Judge what a backend has not judged yet: baselines and bounds the first time, and runs of who is in the race."""
        jobs = self._standards()
        for contender in racing:
            experiment = self._experiments[contender.name]
            about = {"contender": contender.name, "algorithm": experiment.settings.algo}
            for number in self._runs[contender.name]:
                part = self._part(contender, number, backend)
                if not part.is_file():
                    own = {**about, "seed": seed_of(experiment, number), "trial": number}
                    jobs += run_jobs(self._site, experiment.paths.folder, number, own, backend, part)
        if jobs:
            with ray_session(self._settings.address):
                prepare(self._site, self._console, SPLITS)
                self._say(f"judging by {backend}: {len(jobs)} evaluations")
                work_off(jobs, self._judged)

    def _standards(self) -> list[Job]:
        """What contenders are held against, as far as it is not there yet."""
        found: list[Job] = []
        baselines, bounds = self._paths.part("baselines", self._backend), self._paths.part("bounds", "batch")
        reward = self._settings.reward
        if not baselines.is_file():
            found.append(baseline_job(self._site, reward, self._backend, baselines))
        if not bounds.is_file() and reward == "improvement" and not why_no_bound(self._site):
            found += bound_jobs(self._site, bounds)
        return found

    def _part(self, contender: Contender, number: int, backend: Backend) -> Path:
        return self._paths.part(f"{contender.slug}-{number:03d}", backend)

    def _judged(self, rows: list[dict[str, Any]]) -> None:
        """Say how a run did."""
        first = rows[0]
        if first.get("seed") is not None:
            self._say(f"{first['contender']}, run {first['trial']}: score {score_of(rows):+.4f} by {first['backend']}")

    def _of_runs(self, contender: Contender, figure: Callable[[list[dict[str, Any]]], float]) -> np.ndarray:
        """A figure of each of a contender's runs, by the backend that judges the race, shape (runs,)."""
        parts = (self._part(contender, number, self._backend) for number in self._runs[contender.name])
        return np.array([figure(read_part(part)) for part in parts])

    def _serving(self, racing: list[Contender]) -> list[Contender]:
        """Who serves its vehicles: energy that is not delivered makes a score that drops the honest."""
        found = [contender for contender in racing if serves(self._of_runs(contender, served_of))]
        for contender in racing:
            if contender not in found:
                self._say(
                    f"{contender.name} is out of the race: it cannot win, as it serves less than {LEAST_SERVED:.0%} of the "
                    "vehicle energy that can be served"
                )
        return found

    def _ahead(self, racing: list[Contender]) -> list[Contender]:
        """Who is not behind the leader."""
        scores = {contender.name: self._of_runs(contender, score_of) for contender in racing}
        found = standing(scores, self.comparisons)
        for name in found.beaten:
            self._say(f"{name} is out of the race: {found.leader} is better by {found.behind[name]}")
        return [contender for contender in racing if contender.name not in found.beaten]

    def _say(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)
