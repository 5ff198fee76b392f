"""The contenders of a judgement: the best trials of experiments, and the default of each algorithm as a control.

Each is trained as an experiment with one assignment, and each of its runs is a trial.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from rich.console import Console

from common.errors import UsageError
from common.generators import Stream, stream_seed
from common.paths import shortened
from common.texts import option
from common.uris import with_uris
from envs.objective.aim import Aim
from envs.objective.columns import ALIASES
from results import Results, load
from results.loader import GAINS, GOES_ON, ranked
from results.schema import GIVEN
from search_spaces import Assignment
from tuning.algorithms.registry import DEFAULT, algorithm_of
from tuning.experiment.folder import Experiment, create, open_experiment, save
from tuning.experiment.lock import experiment_lock
from tuning.experiment.reading import is_given, open_to_read
from tuning.experiment.settings import Settings, changed, typed
from tuning.judging.folder import OF_TRAINING, Contender, JudgementPaths
from tuning.judging.settings import JudgeSettings
from tuning.search.proposals.plan import SHARED, limits, plan
from tuning.search.run.driver import search
from tuning.trial.evaluations import evaluations_due
from tuning.trial.records import TrialRecords

_STRUCTURE = {"learn_charging": "learned charging", SHARED: "one policy for all buildings"}


def judged_aim(experiment: Experiment, objective: str) -> Aim:
    """What contenders are judged by: the aim of their experiment, of two objectives the one that the user names.

    Raises a UsageError where one has to be named, or one and another is.
    """
    aim, name = experiment.settings.aim, ALIASES.get(objective, objective)
    names = [measure.name for measure in aim.objectives]
    if name in names:
        return aim.alone(name)
    if not objective and not aim.second:
        return aim
    if not aim.second:
        raise UsageError(f"--objective {objective!r}: {experiment.settings.name} was searched for {names[0]}; leave it out")
    front = ", ".join(map(str, load(experiment.paths.folder).front["trial"])) or "empty"
    given = f"--objective {objective!r}" if objective else experiment.settings.name
    raise UsageError(
        f"{given}: {experiment.settings.name} has two objectives, and a judgement names one winner; judge by one of them: "
        f"--objective {names[0]}, or {names[1]} (trials on its front: {front})"
    )


def contenders(
    experiments: Sequence[Experiment], top: int, objective: str = "", keep: Literal["", "best", "last"] = ""
) -> list[Contender]:
    """The best trials of each experiment, complete or frozen, and its algorithm's default.

    Raises a UsageError if experiments differ in scenario, reward or aim, if one has no complete trial, or if two contenders
    would share a folder.
    """
    _check_together(experiments)
    aim = judged_aim(experiments[0], objective)
    chosen: list[Contender] = []
    for experiment in experiments:
        algo, steps = experiment.settings.algo, experiment.settings.steps
        structure, words = _structure(experiment)
        control = Contender(
            f"{algo} {DEFAULT}{words}, {steps:,} steps", with_uris(str(experiment.paths.folder)),
            algorithm_of(experiment.settings).preset(DEFAULT, structure, limits(steps)), keep=keep,
        )  # fmt: skip
        records = TrialRecords(experiment)
        results = load(experiment.paths.folder)
        of_front = experiment.settings.aim.second
        for number in best_of_front(results, top, aim.objective == of_front) if of_front else best_trials(results, top):
            rated = evaluations_due(records.row(number)["steps"], steps, experiment.settings.evaluations)
            name, assignment = f"{experiment.settings.name} {number}", records.assignment(number)
            contender = Contender(name, control.experiment, assignment, rated, keep)
            if contender.hyperparameters != control.hyperparameters:
                chosen.append(contender)
        # Another experiment of the algorithm may have added the same control.
        if all(contender.name != control.name for contender in chosen):
            chosen.append(control)
    _check_folders(chosen)
    return chosen


def _check_folders(chosen: Sequence[Contender]) -> None:
    """Check that no two contenders share a folder; on Windows upper and lower case name the same one."""
    owners: dict[str, str] = {}
    for contender in chosen:
        other = owners.setdefault(contender.slug.casefold(), contender.name)
        if other != contender.name:
            raise UsageError(
                f"{other} and {contender.name} would share the folder {contender.slug}: judge one of their experiments, or "
                "rename its folder and its name"
            )


def _structure(experiment: Experiment) -> tuple[Assignment, str]:
    """What an experiment fixed of how a policy sees and acts, and words for it.

    A control without it could not be compared, or could not run at all: where chargers are the only actions of a site, and
    where a split has other buildings than those that train.
    """
    settings = experiment.settings
    fixed = plan(settings, experiment.paths.space if settings.space else None).fixed
    structure = {name: words for name, words in _STRUCTURE.items() if fixed.get(name)}
    taught = "" if settings.teacher == "none" else f" taught by {settings.teacher}"
    return dict.fromkeys(structure, True), "".join(f" with {words}" for words in structure.values()) + taught


def best_of_front(results: Results, top: int, second: bool) -> list[int]:
    """Numbers of the trials on the front that are best in the first or the second objective."""
    front = results.front
    if front.empty:
        raise UsageError(
            f"{results.folder}: no trial is complete and meets the requirements, so its front is empty: nothing can be judged"
        )
    return _first(front.sort_values([GAINS[second], "trial"], ascending=[False, True]), top)


def best_trials(results: Results, top: int) -> list[int]:
    """Numbers of the best trials, complete or frozen, each assignment once."""
    if results.scored.empty:
        raise UsageError(f"{results.folder}: no trial is complete, so there is nothing to judge; {GOES_ON}")
    return _first(ranked(results.scored), top)


def _first(ranked: pd.DataFrame, top: int) -> list[int]:
    """Numbers of the first trials, each assignment once: the same one may have begun twice, at once."""
    given = [name for name in ranked.columns if name.startswith(GIVEN)]
    different = ranked.drop_duplicates(subset=given) if given else ranked
    return [int(number) for number in different["trial"].head(top)]


def site_key(experiment: Experiment) -> str:
    """What tells the data of a given site; empty for a generated one, which its name tells, or where it is not known."""
    return str(experiment.compatibility.get("scenario", "")) if is_given(experiment.settings.scenario) else ""


def _check_together(experiments: Sequence[Experiment]) -> None:
    first = experiments[0].settings
    for experiment in experiments[1:]:
        settings = experiment.settings
        site = ("scenario", *asdict(first.splits), "reward", "weights")
        for name in ("env", "env_config", *site, "minimize", "objective", "require"):
            # The same site has another path on another machine, and in the copy of each experiment at a URI.
            is_same_site = name == "scenario" and site_key(experiment) == site_key(experiments[0]) != ""
            if getattr(settings, name) != getattr(first, name) and not is_same_site:
                shown, other = (typed(getattr(each, name)) for each in (settings, first))
                raise UsageError(
                    f"{option(name)} of {experiment.place} is {shown}, that of {experiments[0].place} is {other}: experiments "
                    "that are judged together must have the same; judge them apart"
                )
    names = [experiment.settings.name for experiment in experiments]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two experiments are called {name}: judge one of them, or rename its folder and its name")


def run_settings(contender: Contender, settings: Settings, runs: Path, judge: JudgeSettings) -> Settings:
    """Settings of a contender's training: one assignment, and a trial for each run.

    The seed is the same for all contenders, so that the same run of each has the same seed.
    """
    space = algorithm_of(settings).space
    pairs = tuple(f"{name}={_text(value)}" for name, value in contender.hyperparameters.items())
    # The texts must parse back to the same values. Those of a damaged row may not.
    if space.parse(dict(pair.split("=", 1) for pair in pairs)) != contender.hyperparameters:
        raise UsageError(f"{contender.name} has hyperparameters that cannot be: restore the row of its trial from a copy")
    same: dict[str, Any] = {name: getattr(settings, name) for name in (*OF_TRAINING, "retries", "on_oom")}
    return replace(
        Settings(**same), keep=contender.keep or settings.keep, last_evaluation=contender.evaluations,
        seed=fresh_seed(judge.seed), set=(pairs,), trials=1, start_from=(), sampler="random", scheduler="none",
        keep_checkpoints="all", gpu_memory=judge.gpu_memory, name=contender.slug, dir=str(runs), address=judge.address,
    )  # fmt: skip


def _text(value: object) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def fresh_seed(seed: int) -> int:
    """Seed of the contenders' experiments; it differs from the seeds of a search with the same number."""
    return stream_seed(Stream.FRESH, seed) >> 1


def experiment_of(contender: Contender, paths: JudgementPaths, judge: JudgeSettings) -> Experiment:
    """Open a contender's experiment, or create it. Raises a UsageError if its folder holds runs of something else."""
    folder = paths.run(contender)
    searched = open_to_read(contender.experiment)
    wanted = run_settings(contender, searched.settings, paths.runs, judge)
    if folder.is_dir():
        run = open_experiment(folder)
        before = run.settings
        if site_key(run) == site_key(searched) != "":
            # The judgement may go on elsewhere, and the copy of a site from a storage has another path on each machine.
            before = replace(before, scenario=wanted.scenario)
        # Its steps may change in a search, but not in a judgement.
        differ = changed(before, replace(wanted, name=before.name, dir=before.dir))
        if before.steps != wanted.steps:
            differ.append(f"--steps was {before.steps}, now {wanted.steps}")
        if differ:
            raise UsageError(
                f"{folder} holds runs of something else than {contender.name} ({shortened(differ[0])}): judge under "
                "another --name"
            )
        now = replace(before, gpu_memory=judge.gpu_memory, address=judge.address)
        return replace(run, settings=now).trusting(judge.trust_scenario)
    site = site_key(searched)
    return create(wanted, {"scenario": site} if site else None).trusting(judge.trust_scenario)


def train(experiment: Experiment, runs: int, console: Console) -> list[int]:
    """Train a contender until it has a number of runs, and give the numbers of those that are complete.

    Raises a UsageError if the search had to stop, with the reason.
    """
    settings, folder = replace(experiment.settings, trials=runs), experiment.paths.folder
    before = load(folder).trials
    if len(before) < runs or (before["state"] == "running").any():
        with experiment_lock(experiment.paths):
            going = replace(experiment, settings=settings)
            save(going)
            if reason := search(going, plan(settings, None), console):
                raise UsageError(reason)
    trials = load(folder).trials
    return [int(number) for number in trials.loc[trials["state"] == "complete", "trial"]]
