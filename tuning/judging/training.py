"""Train contenders: each contender is an experiment with one assignment, and each of its runs is a trial."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rich.console import Console

from common.paths import shortened
from common.streams import Stream, stream_seed
from envs.scenarios.scenario import Scenario
from results import load
from search_spaces.earlier import in_todays_names
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.errors import UsageError
from tuning.experiment.folder import Experiment, ExperimentPaths, create, open_experiment, save
from tuning.experiment.lock import experiment_lock
from tuning.experiment.reading import open_to_read
from tuning.experiment.settings import Settings, changed
from tuning.judging.contenders import Contender, run_settings, site_key
from tuning.judging.folder import JudgementPaths, known_then
from tuning.search.proposals.plan import plan
from tuning.search.run.driver import search
from tuning.trial.records import trial_seed


def fresh_seed(seed: int) -> int:
    """Seed of the contenders' experiments; it differs from the seeds of a search with the same number."""
    return stream_seed(Stream.FRESH, seed) >> 1


def _fresh_seed_before(seed: int) -> int:
    """The same in version 0.1, where it was the seed of the search's trial 1 too."""
    return int(np.random.SeedSequence([seed, 1]).generate_state(1)[0] >> 1)


def _seed_in(paths: JudgementPaths, seed: int) -> int:
    """Seed of the contenders' experiments of a judgement; one that version 0.1 began goes on with its own."""
    before, begun = _fresh_seed_before(seed), sorted(paths.runs.glob(f"*/{ExperimentPaths(paths.runs).settings.name}"))
    is_older = any(open_experiment(path.parent).settings.seed == before for path in begun)
    return before if is_older else fresh_seed(seed)


def experiment_of(
    contender: Contender,
    paths: JudgementPaths,
    seed: int,
    gpu_memory: float = 0.0,
    address: str = "",
    trust_scenario: bool = False,
) -> Experiment:
    """Open a contender's experiment, or create it the first time.

    Args:
        contender: to train.
        paths: of the judgement.
        seed: of the judgement.
        gpu_memory: see `Settings`.
        address: see `Settings`.
        trust_scenario: see `Settings`.

    Raises:
        UsageError: if its folder holds runs of something else, as one that came from elsewhere.
    """
    folder = paths.run(contender)
    of = open_to_read(contender.experiment)
    wanted = run_settings(contender, of.settings, paths.runs, _seed_in(paths, seed), gpu_memory, address)
    if folder.is_dir():
        found = open_experiment(folder)
        before = _with_site_of(wanted, found, of)
        wanted = _as_known(wanted, before)
        # Its steps may change in a search, but not in a judgement.
        differ = changed(before, replace(wanted, name=before.name, dir=before.dir))
        if found.settings.steps != wanted.steps:
            differ.append(f"--steps is {found.settings.steps}, not {wanted.steps}")
        if differ:
            raise UsageError(
                f"{folder} holds runs of something else than {contender.name} ({shortened(differ[0])}): judge under "
                "another --name"
            )
        of_run = replace(before, gpu_memory=gpu_memory, address=address)
        return replace(found, settings=of_run).trusting(trust_scenario)
    site = site_key(of)
    return create(wanted, {"scenario": site} if site else None).trusting(trust_scenario)


def _with_site_of(wanted: Settings, found: Experiment, of: Experiment) -> Settings:
    """Settings that were found, with the path that the same given site has on this machine now.

    A judgement may go on elsewhere, and the copy of a site from a storage has another path on each machine.
    """
    if site_key(found) == site_key(of) != "":
        return replace(found.settings, scenario=wanted.scenario)
    return found.settings


def _as_known(wanted: Settings, found: Settings) -> Settings:
    """Settings without fixed hyperparameters that are newer than those found."""
    space = algorithm_of(wanted).space
    kept = known_then(space.parse(wanted.fixed_texts()), space.parse(found.fixed_texts()), space)
    return replace(wanted, set=(tuple(f"{name}={text}" for name, text in wanted.fixed_texts().items() if name in kept),))


def train(experiment: Experiment, runs: int, site: Scenario, console: Console) -> list[int]:
    """Train a contender until it has a number of runs; existing runs are kept.

    Args:
        experiment: of the contender.
        runs: how many it has to have.
        site: the scenario.
        console: shows progress.

    Returns:
        Numbers of the runs that are complete.

    Raises:
        UsageError: if the search had to stop, with the reason.
        KeyboardInterrupt: after a signal to stop.
    """
    settings, folder = replace(experiment.settings, trials=runs), experiment.paths.folder
    if len(load(folder).trials) < runs or (load(folder).trials["state"] == "running").any():
        with experiment_lock(experiment.paths):
            going = replace(experiment, settings=settings)
            save(going)
            planned = plan(settings, None)
            # A contender's settings name all hyperparameters that its version knew, by the names of that version.
            if reason := search(going, site, replace(planned, fixed=in_todays_names(planned.fixed)), console):
                raise UsageError(reason)
    trials = load(folder).trials
    return [int(number) for number in trials.loc[trials["state"] == "complete", "trial"]]


def seed_of(experiment: Experiment, number: int) -> int:
    """Seed of a contender's run, the same for all contenders."""
    return trial_seed(experiment.settings.seed, number)
