"""Command line of the search: `python -m tuning.run --algo ppo`."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tuning.errors import UsageError
from tuning.settings import ALGOS, Settings, changed, parse

if TYPE_CHECKING:
    from rich.console import Console

    from envs.scenario import Scenario
    from tuning.experiment import Experiment
    from tuning.plan import Plan

INTERRUPTED = 130  # exit status after Ctrl-C


def main(arguments: list[str] | None = None) -> int:
    """Run or continue a search.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0 if at least one trial (of each algorithm) is complete, 1 if none is, 2 for a command that cannot be
        carried out, 130 after Ctrl-C.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        settings = parse(arguments, Settings())
    except UsageError as error:
        return _refuse(error)
    # Heavy imports come after the command line is known to be one: `--help` answers at once.
    from envs.errors import ScenarioError
    from search_spaces.space import SpaceError

    try:
        return _run(settings, arguments)
    except (UsageError, ScenarioError, SpaceError) as error:
        return _refuse(error)


def _refuse(error: ValueError) -> int:
    print(f"error: {error}", file=sys.stderr)
    return 2


def _run(settings: Settings, arguments: list[str]) -> int:
    from rich.console import Console

    console = Console()
    if settings.resume:
        return _continue(settings, arguments, console)
    if settings.algo != "all":
        ready = _prepare(settings, console)
        return _search(_create(ready), ready, console)
    # Everything is checked before anything is created, for all of them.
    name = settings.name
    parts = [_prepare(replace(settings, algo=algo, name=f"{name}-{algo}" if name else ""), console) for algo in ALGOS]
    experiments = [_create(part) for part in parts]
    statuses = []
    for experiment, part in zip(experiments, parts, strict=True):
        statuses.append(_search(experiment, part, console))
        if statuses[-1] == INTERRUPTED:
            for rest in experiments[len(statuses) :]:
                console.print(f"not begun: python -m tuning.run --resume {rest.paths.folder}", highlight=False, soft_wrap=True)
            return INTERRUPTED
    from results import load
    from tuning.summary import print_comparison

    print_comparison([load(experiment.paths.folder) for experiment in experiments], console)
    return max(statuses)


@dataclass(frozen=True)
class _Ready:
    """What was checked and can be created or continued."""

    settings: Settings
    site: Scenario
    plan: Plan


def _prepare(settings: Settings, console: Console, space_file: Path | None = None) -> _Ready:
    """Check all that can be wrong; nothing is created."""
    from envs.scenario import scenario
    from envs.years import beyond_batch, choose_backend
    from tuning.plan import plan, with_trials

    settings.check()
    settings = with_trials(settings)
    site = scenario(settings.scenario)
    if settings.space and not space_file:
        space_file = Path(settings.space).expanduser()
    found = plan(settings, space_file)
    site.windows("train")
    backend = choose_backend(site, settings.backend)
    if settings.backend == "auto" and backend == "citylearn":
        console.print(
            f"{site.title}: stepped by CityLearn itself, as it uses what the batch backend does not do: "
            f"{', '.join(beyond_batch(site))}",
            highlight=False,
        )
    return _Ready(replace(settings, backend=backend), site, found)


def _create(ready: _Ready) -> Experiment:
    from tuning.experiment import create

    # A relative path would mean another scenario to whoever continues from another folder.
    scenario = str(ready.site.schema) if ready.site.schema else ready.settings.scenario
    return create(replace(ready.settings, scenario=scenario))


def _continue(settings: Settings, arguments: list[str], console: Console) -> int:
    from tuning.experiment import open_experiment, save

    before = open_experiment(settings.resume)
    settings = replace(parse(arguments, before.settings), resume="")
    if names := changed(before.settings, settings):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in names)
        raise UsageError(f"{options} cannot change when an experiment is continued; start a new one instead")
    ready = _prepare(settings, console, before.paths.space if settings.space else None)
    experiment = replace(before, settings=ready.settings)
    save(experiment)
    return _search(experiment, ready, console, begun=True)


def _search(experiment: Experiment, ready: _Ready, console: Console, begun: bool = False) -> int:
    """Search until the experiment has its trials.

    Args:
        experiment: new or continued.
        ready: what it searches.
        console: shows how far it is.
        begun: whether the folder holds what another run did.

    Returns:
        Exit status.
    """
    from envs.errors import ScenarioError
    from tuning.search import search

    folder = experiment.paths.folder
    console.print(f"experiment {folder}", highlight=False, soft_wrap=True)
    try:
        search(experiment, ready.site, ready.plan, console)
    except ScenarioError:
        if not begun:
            shutil.rmtree(folder)
        raise
    except KeyboardInterrupt:
        console.print(f"stopped; continue with: python -m tuning.run --resume {folder}", highlight=False, soft_wrap=True)
        return INTERRUPTED
    from results import load
    from tuning.summary import print_summary

    results = load(folder)
    print_summary(results, console)
    return 0 if (results.trials["state"] == "complete").any() else 1


if __name__ == "__main__":
    sys.exit(main())
