"""Command line of the search: `python -m tuning.run --algo ppo`."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace

from tuning.errors import UsageError
from tuning.settings import Settings, changed, parse


def main(arguments: list[str] | None = None) -> int:
    """Run or continue a search.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0 if at least one trial is complete, 1 if none is, 2 for a command that cannot be
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

    from envs.errors import ScenarioError
    from envs.scenario import scenario
    from envs.years import beyond_batch, choose_backend
    from search_spaces import SPACES
    from tuning.experiment import create, open_experiment, save
    from tuning.search import limits, search

    before = open_experiment(settings.resume) if settings.resume else None
    if before:
        settings = replace(parse(arguments, before.settings), resume="")
        if names := changed(before.settings, settings):
            options = ", ".join(f"--{name.replace('_', '-')}" for name in names)
            raise UsageError(f"{options} cannot change when an experiment is continued; start a new one instead")
    # Everything is checked before anything is created.
    settings.check()
    site = scenario(settings.scenario)
    space = SPACES[settings.algo]
    fixed = space.parse(settings.fixed_texts())
    space.check(fixed, limits(settings.steps))
    site.windows("train")
    backend = choose_backend(site, settings.backend)

    console = Console()
    if settings.backend == "auto" and backend == "citylearn":
        console.print(
            f"{site.title}: stepped by CityLearn itself, as it uses what the batch backend does not do: "
            f"{', '.join(beyond_batch(site))}",
            highlight=False,
        )
    settings = replace(settings, backend=backend)
    if before:
        experiment = replace(before, settings=settings)
        save(experiment)
    else:
        # A relative path would mean another scenario to whoever continues from another folder.
        experiment = create(replace(settings, scenario=str(site.schema) if site.schema else settings.scenario))
    folder = experiment.paths.folder
    console.print(f"experiment {folder}", highlight=False, soft_wrap=True)
    try:
        search(experiment, site, space, fixed, console)
    except ScenarioError:
        if not before:
            shutil.rmtree(folder)
        raise
    except KeyboardInterrupt:
        console.print(f"stopped; continue with: python -m tuning.run --resume {folder}", highlight=False, soft_wrap=True)
        return 130
    from results import load
    from tuning.summary import print_summary

    results = load(folder)
    print_summary(results, console)
    return 0 if (results.trials["state"] == "complete").any() else 1


if __name__ == "__main__":
    sys.exit(main())
