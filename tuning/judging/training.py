"""Train contenders: each contender is an experiment with one assignment, and each of its runs is a trial."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from common.errors import UsageError
from common.generators import Stream, stream_seed
from common.paths import shortened
from results import load
from tuning.experiment.folder import Experiment, create, open_experiment, save
from tuning.experiment.lock import experiment_lock
from tuning.experiment.reading import open_to_read
from tuning.experiment.settings import Settings, changed
from tuning.judging.contenders import Contender, run_settings, site_key
from tuning.judging.folder import JudgementPaths
from tuning.search.proposals.plan import plan
from tuning.search.run.driver import search
from tuning.trial.records import trial_seed


def fresh_seed(seed: int) -> int:
    """Seed of the contenders' experiments; it differs from the seeds of a search with the same number."""
    return stream_seed(Stream.FRESH, seed) >> 1


def experiment_of(
    contender: Contender,
    paths: JudgementPaths,
    seed: int,
    gpu_memory: float = 0.0,
    address: str = "",
    trust_scenario: bool = False,
) -> Experiment:
    """Open a contender's experiment, or create it the first time.

    Raises:
        UsageError: if its folder holds runs of something else, as one that came from elsewhere.
    """
    folder = paths.run(contender)
    of = open_to_read(contender.experiment)
    wanted = run_settings(contender, of.settings, paths.runs, fresh_seed(seed), gpu_memory, address)
    if folder.is_dir():
        found = open_experiment(folder)
        before = _with_site_of(wanted, found, of)
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


def train(experiment: Experiment, runs: int, console: Console) -> list[int]:
    """Train a contender until it has a number of runs; existing runs are kept.

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
            if reason := search(going, planned, console):
                raise UsageError(reason)
    trials = load(folder).trials
    return [int(number) for number in trials.loc[trials["state"] == "complete", "trial"]]


def seed_of(experiment: Experiment, number: int) -> int:
    """Seed of a contender's run, the same for all contenders."""
    return trial_seed(experiment.settings.seed, number)
