"""Command line of the search: `python -m tuning.run --algo ppo`."""

from __future__ import annotations

import errno
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tuning.cli.command import INTERRUPTED, command
from tuning.experiment.errors import UsageError
from tuning.experiment.settings import ALGOS, Algo, Settings, changed, parse

if TYPE_CHECKING:
    from rich.console import Console

    from envs.scenarios.scenario import Scenario
    from tuning.experiment.folder import Experiment
    from tuning.search.plan import Plan

PROGRAM = "python -m tuning.run"


def main(arguments: list[str] | None = None) -> int:
    """Run or continue a search.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0 if at least one trial (of each algorithm) is complete; 1 if none is, or if the search was stopped by what
        went wrong; 2 for a command that cannot be carried out; 130 after Ctrl-C or SIGTERM.
    """
    given = sys.argv[1:] if arguments is None else arguments
    return command(Settings, given, PROGRAM, lambda settings: _run(settings, given))


def _run(settings: Settings, arguments: list[str]) -> int:
    from rich.console import Console

    console = Console()
    if settings.resume or settings.algo != "all":
        return _search(_created(_ready(settings, arguments, console)), console)
    # Everything is checked before anything is created, for all of them.
    name = settings.name
    parts = [_ready(replace(settings, name=f"{name}-{algo}" if name else ""), arguments, console, algo) for algo in ALGOS]
    experiments = [_created(part) for part in parts]
    statuses = []
    for experiment in experiments:
        statuses.append(_search(experiment, console))
        if statuses[-1] == INTERRUPTED:
            for rest in experiments[len(statuses) :]:
                _say(console, f"not begun: {_command(rest.experiment.paths.folder)}")
            return INTERRUPTED
    from results import load
    from tuning.cli.summary import print_comparison

    print_comparison([load(part.experiment.paths.folder) for part in experiments], console)
    return max(statuses)


@dataclass(frozen=True)
class _Ready:
    """What was checked and can be searched.

    Attributes:
        settings: that hold now.
        site: of the settings.
        plan: of the settings.
        marks: see `Experiment`.
        before: the experiment that is continued; None for a new one.
    """

    settings: Settings
    site: Scenario
    plan: Plan
    marks: dict[str, Any]
    before: Experiment | None


@dataclass(frozen=True)
class _Created:
    """An experiment with what was checked."""

    ready: _Ready
    experiment: Experiment


def _ready(settings: Settings, arguments: list[str], console: Console, algo: Algo | None = None) -> _Ready:
    """Check all that can be wrong with a new experiment, or one that is continued; nothing is created.

    Args:
        settings: of the command line, with the experiment's own name.
        arguments: the command line, to be read once more with the experiment's settings as what holds where nothing is given.
        console: tells what is worth knowing.
        algo: which algorithm, where the command line names all.
    """
    from tuning.experiment.folder import existing, open_experiment

    folder = Path(settings.resume) if settings.resume else existing(settings)
    if not folder:
        if settings.extend:
            raise UsageError("--extend continues an experiment: say which with --resume, or with its --name")
        new = replace(settings, algo=algo or settings.algo)
        return _checked(new, Path(new.space).expanduser() if new.space else None, None, console)
    before = open_experiment(folder)
    # A file with a space that is given again is compared by its content; otherwise the copy of it holds. What --set is given is
    # added to the default, so it starts from none.
    now = parse(arguments, replace(before.settings, space="", set=()))
    space_file = Path(now.space).expanduser() if now.space else before.paths.space if before.settings.space else None
    kept = {name: getattr(before.settings, name) for name in ("name", "dir", "space")}
    if not now.set or now.fixed_texts() == before.settings.fixed_texts():
        kept["set"] = before.settings.set
    now = replace(now, resume="", algo=algo or now.algo, **kept)
    ready = _checked(now, space_file, before, console)
    _refuse_changes(before, ready)
    if not settings.resume:
        _say(console, f"{before.paths.folder} is there already, and is continued")
    for difference in _version_differences(before, ready):
        _say(console, f"other code than before, so results may differ: {difference}")
    return ready


def _checked(settings: Settings, space_file: Path | None, before: Experiment | None, console: Console) -> _Ready:
    from envs.environments.backend import beyond_batch, choose_backend
    from envs.objective.reward import check_reward
    from envs.scenarios.scenario import scenario
    from tuning.search.plan import plan, with_trials
    from tuning.trial.records import machine

    settings.check()
    settings = with_trials(settings)
    site = scenario(settings.scenario)
    found = plan(settings, space_file)
    check_reward(site, settings.reward)
    site.windows("train")
    backend = choose_backend(site, settings.backend)
    if settings.backend == "auto" and backend == "citylearn":
        _say(
            console,
            f"{site.title}: stepped by CityLearn itself, as it uses what the batch backend does not do: "
            f"{', '.join(beyond_batch(site))}",
        )
    # A relative path would mean another scenario to whoever continues from another folder.
    name = str(site.schema) if site.schema else settings.scenario
    marks = {"scenario": site.key, "space": found.space.describe(), "machine": machine()}
    return _Ready(replace(settings, backend=backend, scenario=name), site, found, marks, before)


def _refuse_changes(before: Experiment, ready: _Ready) -> None:
    """Refuse to continue with what would be another experiment.

    Raises:
        UsageError: says what differs.
    """
    old, new = before.marks, ready.marks
    same_data = old.get("scenario") == new["scenario"]
    # The same files may lie elsewhere, as on another machine.
    known = replace(before.settings, scenario=ready.settings.scenario) if same_data else before.settings
    differences = changed(known, ready.settings)
    if "scenario" in old and not same_data and not differences:
        differences.append(f"the scenario's data are other ones ({old['scenario']}, now {new['scenario']})")
    spaces = [marks.get("space", new["space"]) for marks in (old, new)]
    for name in {**spaces[0], **spaces[1]}:
        texts = [space.get(name, "not there") for space in spaces]
        if texts[0] != texts[1] and not differences:
            differences.append(f"the space of {name} is not that of before ({texts[0]}; now {texts[1]})")
    if differences:
        raise UsageError(f"{before.paths.folder} cannot go on as another experiment: {'; '.join(differences)}; start a new one")


def _version_differences(before: Experiment, ready: _Ready) -> list[str]:
    from tuning.search.recovery import version_differences

    return version_differences(before.marks["machine"], ready.marks["machine"]) if "machine" in before.marks else []


def _created(ready: _Ready) -> _Created:
    from tuning.experiment.folder import create

    if ready.before:
        return _Created(ready, replace(ready.before, settings=ready.settings, marks=ready.marks))
    return _Created(ready, create(ready.settings, ready.marks))


def _search(created: _Created, console: Console) -> int:
    """Search until the experiment has its trials.

    Returns:
        Exit status.
    """
    from envs.errors import ScenarioError
    from tuning.experiment.folder import save
    from tuning.experiment.lock import experiment_lock

    experiment, begun = created.experiment, created.ready.before is not None
    folder = experiment.paths.folder
    with experiment_lock(experiment.paths) as killed:
        _say(console, f"experiment {folder}")
        if killed:
            _say(console, f"the run before was killed ({killed}); going on from what it left")
        try:
            if begun:
                save(experiment)
            return _searched(created, console)
        except (ScenarioError, UsageError):
            if not begun:
                shutil.rmtree(folder)
            raise
        except KeyboardInterrupt:
            _say(console, f"stopped; continue with: {_command(folder)}")
            return INTERRUPTED
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return _stopped(f"the disk of {folder} is full: free some of it", folder)


def _searched(created: _Created, console: Console) -> int:
    from tuning.runtime.ray_session import NodeLostError
    from tuning.search.driver import search

    experiment, ready = created.experiment, created.ready
    folder = experiment.paths.folder
    try:
        reason = search(experiment, ready.site, ready.plan, console, ready.settings.extend)
    except NodeLostError:
        reason = "Ray lost its last node again and again: see its logs, on this machine in the temporary files' folder ray"
    if reason:
        return _stopped(reason, folder)
    from results import load
    from tuning.cli.summary import print_summary
    from tuning.trial.checkpoint import Checkpoints

    results = load(folder)
    print_summary(results, console)
    sizes = [Checkpoints(experiment.paths.checkpoints(number)).nbytes for number in results.trials["trial"]]
    kept, size = sum(size > 0 for size in sizes), sum(sizes) / 2**20
    _say(console, f"Checkpoints: {size:,.1f} MiB of {kept} trials (--keep-checkpoints {experiment.settings.keep_checkpoints})")
    return 0 if (results.trials["state"] == "complete").any() else 1


def _stopped(reason: str, folder: Path) -> int:
    print(f"error: {reason}\nthen continue with: {_command(folder)}", file=sys.stderr)
    return 1


def _command(folder: Path) -> str:
    return f"python -m tuning.run --resume {folder}"


def _say(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
