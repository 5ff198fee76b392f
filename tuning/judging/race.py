"""The race of a judgement: it trains contenders, evaluates them, and drops those that fall behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console

from common.paths import fit_name
from common.texts import counted, raised
from envs.environments import fit
from envs.environments.backend import Backend
from envs.gym.source import Source
from envs.scenarios.scenario import Split
from envs.task import SiteTask, Task
from envs.yardsticks.mpc_runs import NAMES
from envs.yardsticks.rows import bound_rows, bounded, mpc_rows
from results import load
from results.judgement import meets
from results.table_files import OTHER_VERSION, ResultsError, read_file, read_table
from tuning.cli.console import busy, say
from tuning.experiment.folder import Experiment
from tuning.judging.contenders import experiment_of, train
from tuning.judging.evaluations import (
    SPLIT,
    Job,
    baseline_job,
    check_agreement,
    objective_of,
    run_all,
    run_jobs,
    yearly_jobs,
    years_of,
)
from tuning.judging.folder import Contender, Judgement
from tuning.judging.settings import JudgeSettings, methods
from tuning.judging.verdict import looks, standing
from tuning.runtime.cluster import address_source, cluster_address
from tuning.runtime.ray_session import ray_session
from tuning.search.run.preparation import prepare
from tuning.trial.records import trial_seed

SPLITS: tuple[Split, ...] = ("train", "test")  # that evaluations need; the search that trains prepares the others


class Race:
    """One race over the contenders of a judgement.

    Results that are in the folder already are not computed again, so a stopped race continues where it was.

    Attributes:
        task: of its experiments, as a judge steps it.
        failed: contenders that lack runs, with the reason.
        finalists: names of the contenders that stayed in the race to its end.
    """

    def __init__(self, judgement: Judgement, task: Task, settings: JudgeSettings, console: Console) -> None:
        """Nothing is trained or written yet; `judgement` is locked by this process."""
        self._mpc = methods(settings.mpc)
        self.judgement = judgement
        self.task: Task = task.judged
        self._settings, self._console, self._aim = settings, console, task.aim
        self._backend = self.task.stepped_by
        self.looks = looks(judgement.settings.seeds)
        self.failed: dict[str, str] = {}
        self.finalists: list[str] = []
        self._experiments: dict[str, Experiment] = {}
        self._runs: dict[str, list[int]] = {}

    def run(self) -> None:
        """Train, evaluate and drop until the last look; then CityLearn evaluates the finalists, if asked to."""
        racing = list(self.judgement.contenders)
        if isinstance(self.task, SiteTask):
            self._check_site(self.task)
        for contender in racing:
            self._experiments[contender.name] = experiment_of(contender, self.judgement.paths, self._settings)
        for count in self.looks:
            for contender in list(racing):
                self._say(f"{contender.name}: {counted(count, 'run')}")
                complete = train(self._experiments[contender.name], count, self._console)
                # A continued judgement may hold more runs, and has to decide as it did before it had them.
                self._runs[contender.name] = [number for number in complete if number < count]
                if len(self._runs[contender.name]) < count:
                    racing.remove(contender)
                    self.failed[contender.name] = self._failure(contender)
                    self._say(f"{contender.name} is out of the race: {self.failed[contender.name]}")
            if not racing:
                break
            self._evaluate(racing, self._backend)
            racing = [contender for contender in racing if self._meets(contender)]
            # At the last look no score drops a contender: the verdict compares all that remain.
            if count != self.looks[-1] and len(racing) > 1:
                racing = self._ahead(racing)
        self.finalists = [contender.name for contender in racing]
        if racing and self._settings.backend == "citylearn" and self._backend == "batch":
            self._evaluate(racing, "citylearn")
            for contender in racing:
                for number in self._runs[contender.name]:
                    check_agreement(self._part(contender, number, self._backend), self._part(contender, number, "citylearn"))

    def _check_site(self, task: SiteTask) -> None:
        """Raise a UserError where contenders cannot be judged on the test split of a site; a line where controllers cannot."""
        fit.check_stays(task.site, SPLIT)
        if task.reward == "improvement":
            fit.check_people(task.site, SPLIT)
        if self._mpc and (reason := _beyond_rewards(task) or fit.why_no_mpc(task.site)):
            self._say(f"no model predictive control: {reason}")

    def _failure(self, contender: Contender) -> str:
        trials = load(self._experiments[contender.name].paths.folder).trials
        row = trials[trials["state"] != "complete"].iloc[0]
        return f"run {row['trial']} {row['state']}: {raised(row['error'] or '')}"

    def _evaluate(self, racing: list[Contender], backend: Backend | Literal["gymnasium"]) -> None:
        jobs = self._yardsticks()
        for contender in racing:
            experiment = self._experiments[contender.name]
            about = {"contender": contender.name, "algorithm": experiment.settings.algo}
            for number in self._runs[contender.name]:
                part = self._part(contender, number, backend)
                if self._lacks(part, contender.name):
                    of_run = {**about, "seed": trial_seed(experiment.settings.seed, number), "trial": number}
                    jobs += run_jobs(self.task, experiment.paths.folder, number, of_run, backend, part)
        if jobs:
            with ray_session(cluster_address(self._settings.address), address_source(self._settings.address)):
                if isinstance(self.task, SiteTask):
                    seens = [self.task.seen, *(self.task.seeing(e.hyperparameters).seen for e in self.judgement.contenders)]
                    prepare(self.task, self._console, SPLITS, seens)
                with busy(self._console, f"judging by {backend}: {counted(len(jobs), 'evaluation')}") as tell:
                    run_all(jobs, self._judged, lambda left: tell(f"{left} left"), self.task.columns)

    def _yardsticks(self) -> list[Job]:
        jobs: list[Job] = []
        baselines, bounds = self.judgement.paths.part("baselines", self._backend), self.judgement.paths.part("bounds", "batch")
        if self._lacks(baselines):
            jobs.append(baseline_job(self.task, baselines))
        if not isinstance(self.task, SiteTask):
            title = Source(self._settings.baseline).title
            part = self.judgement.paths.part(f"own-{fit_name(title)}", self._backend)
            is_asked = title and self._lacks(part, title)
            return [*jobs, baseline_job(self.task, part, self._settings.baseline)] if is_asked else jobs
        if _beyond_rewards(self.task):
            return jobs
        if self._lacks(bounds) and not fit.why_no_bound(self.task.site):
            jobs += yearly_jobs(bound_rows, self.task, bounds, bounded(self.task.site))
        if self._mpc and not fit.why_no_mpc(self.task.site):
            for method in self._mpc:
                part = self.judgement.paths.part(f"mpc-{method}", "batch")
                if self._lacks(part, NAMES[method]):
                    jobs += yearly_jobs(mpc_rows, self.task, part, method)
        return jobs

    def _lacks(self, part: Path, contender: str | None = None) -> bool:
        """Whether a file has to be made: it is missing, or is damaged or of another contender, which a line says.

        One of another version of this package is not written over: it raises a ResultsError.
        """
        if not part.exists():
            return True
        table = read_table(part)
        if isinstance(table, str):
            if part.is_dir() or table.endswith(OTHER_VERSION):
                raise ResultsError(f"{part} cannot be used: {table}")
            reason = table
        else:
            rows = table.to_pylist()
            years = years_of(self.task)
            owners = {row.get("contender") for row in rows}
            if contender is not None and owners != {contender}:
                reason = f"it is of {', '.join(map(str, owners)) or 'nothing'}, not of {contender}"
            elif {row["year"] for row in rows} != years:
                reason = f"it is of other {'years' if isinstance(self.task, SiteTask) else 'episodes'}"
            else:
                return False
        self._say(f"{part} is made again: {reason}")
        return True

    def _part(self, contender: Contender, number: int, backend: str) -> Path:
        return self.judgement.paths.part(f"{contender.slug}-{number:03d}", backend)

    def _judged(self, rows: list[dict[str, Any]]) -> None:
        first = rows[0]
        if first["contender"] in NAMES.values() or first.get("seed") is not None:
            objective_of(rows)  # whatever it is judged by
            told = self._aim.told(self._aim.outcome(rows))
            run = "" if first.get("seed") is None else f", run {first['trial']}"
            self._say(f"{first['contender']}{run}: {told} by {first['backend']}")

    def _of_runs(self, contender: Contender, figure: Callable[[list[dict[str, Any]]], float]) -> np.ndarray:
        """A figure of each of a contender's runs, by the backend of the race, shape (runs,)."""
        parts = (self._part(contender, number, self._backend) for number in self._runs[contender.name])
        return np.array([figure(read_file(part)) for part in parts])

    def _meets(self, contender: Contender) -> bool:
        """Whether a contender serves its vehicles and meets the requirements; a line says what it misses."""
        shortfalls = self._of_runs(contender, lambda rows: self._aim.outcome(rows).shortfall or 0.0)
        if meets(shortfalls):
            return True
        worst = self._runs[contender.name][int(shortfalls.argmax())]
        missed = "; ".join(self._aim.missed(read_file(self._part(contender, worst, self._backend))))
        self._say(f"{contender.name} is out of the race: it cannot win, as it misses {missed} in run {worst}")
        return False

    def _ahead(self, racing: list[Contender]) -> list[Contender]:
        scores = {contender.name: self._of_runs(contender, lambda rows: objective_of(rows, self._aim)) for contender in racing}
        now = standing(scores, len(self.looks))
        for name in now.beaten:
            self._say(f"{name} is out of the race: {now.leader} is better by {now.behind[name]}")
        return [contender for contender in racing if contender.name not in now.beaten]

    def _say(self, line: str) -> None:
        say(self._console, line)


def _beyond_rewards(task: SiteTask) -> str:
    """Reason why the reward has neither a bound nor model predictive control; empty where it has."""
    return "" if task.reward == "improvement" else f"it plans for the reward improvement, and this is {task.reward}"
