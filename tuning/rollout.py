"""The hours of a policy's year: `python -m tuning.rollout experiments/NAME --trial best --year 3`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro

from common.units import WEEK
from tuning.cli.command import command
from tuning.experiment.errors import UsageError

if TYPE_CHECKING:
    from envs.objective.episodes import Episode
    from envs.scenarios.scenario import Scenario

DRAWN = 34  # week that is drawn where none is named and the year has so many


@dataclass(frozen=True)
class Question:
    """Run a trial's policy through a year and write what happened, hour by hour, as Parquet, and a picture of a week."""

    experiment: Annotated[Path, tyro.conf.Positional]
    """Folder of the experiment."""
    trial: str = "best"
    """Number of the trial, or best."""
    year: int | None = None
    """Scenario year; by default the first of the test split."""
    backend: Literal["auto", "citylearn", "batch"] = "auto"
    """What steps it: the batch backend, which has CityLearn's numbers, or CityLearn itself, a thousand times slower. By
    default the first where it does all that the scenario uses."""
    week: int | None = None
    """Week of the year that is drawn, from 0; by default 34, or the last of a shorter year."""
    to: Path = Path()
    """Folder for the files; by default rollouts in the experiment's."""


def main(arguments: list[str] | None = None) -> int:
    """Run and write.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0; 1 if a result cannot be, which an internal check found; 2 for a command that cannot be carried out.
    """
    return command(Question, arguments, "python -m tuning.rollout", _roll_out)


def _roll_out(question: Question) -> int:
    from envs.environments.backend import choose_backend
    from envs.environments.factory import windows_env
    from envs.objective.validity import check_episode
    from envs.scenarios.scenario import Window, scenario
    from results import load
    from results.rollout import draw_week, table, write
    from tuning.experiment.folder import open_experiment
    from tuning.trial.policy import trained, trial_number

    experiment = open_experiment(question.experiment)
    settings = experiment.settings
    site = scenario(settings.scenario)
    number = trial_number(load(experiment.paths.folder), question.trial)
    backend = choose_backend(site, question.backend)
    year = _year(question.year, site)
    hours = hours_of(site, year)
    start = _first_hour(question.week, hours)
    folder = question.to if question.to != Path() else experiment.paths.folder / "rollouts"
    with trained(experiment, number) as found:
        # Before the year is run through, which CityLearn takes minutes for.
        _create(folder)
        env = windows_env(site, backend, (Window(year, 0, hours),), settings.reward)
        (episode,) = env.episodes(found.policy)
        env.close()
    check_episode(episode)
    series = series_of(episode)
    name = f"trial-{number:05d}-{found.steps:012d}-year-{year}"
    own = {
        "experiment": settings.name, "trial": number, "steps": found.steps, "scenario": site.title, "year": year,
        "backend": backend,
    }  # fmt: skip
    figure = draw_week(series, start, f"{site.title}, year {year}, trial {number}: a week from day {start // 24 + 1}")
    write(folder / f"{name}.parquet", table(series, {key: str(value) for key, value in own.items()}))
    figure.savefig(folder / f"{name}.png", dpi=110)
    for suffix in ("parquet", "png"):
        print(folder / f"{name}.{suffix}")
    return 0


def _year(asked: int | None, site: Scenario) -> int:
    """Number of the year, checked."""
    if asked is None:
        return site.years("test")[0]
    if site.schema and asked:
        raise UsageError(f"--year {asked}: {site.title} has the one year 0")
    if asked < 0:
        raise UsageError(f"--year {asked}: it is at least 0")
    return asked


def _first_hour(week: int | None, hours: int) -> int:
    """First hour of the week that is drawn, checked.

    Args:
        week: as it was asked for.
        hours: of the year.
    """
    last = max(0, hours // WEEK - 1)
    if week is None:
        return min(DRAWN, last) * WEEK
    if not 0 <= week <= last:
        raise UsageError(f"--week {week}: the whole weeks of this year are 0 to {last}")
    return week * WEEK


def _create(folder: Path) -> None:
    """Create the folder of the files, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--to {folder}: cannot create {error.filename}: {error.strerror}") from error


def hours_of(site: Scenario, year: int) -> int:
    """Hours of a scenario year that can be stepped."""
    from envs.environments.year_cache import year_reference

    return int(year_reference(site, year).run.net_kwh.shape[1])


def series_of(episode: Episode) -> dict[str, np.ndarray]:
    """Columns of `results.rollout` from a run through a window, each of shape (hours,)."""
    from envs.objective.series import export_kwh, import_kwh

    window, reference, run = episode.window, episode.reference, episode.run
    part = slice(window.start, window.start + window.hours)
    exogenous, net = reference.exogenous, run.net_kwh
    load, pv = exogenous.load_kwh[:, part], exogenous.pv_kwh[:, part]
    return {
        "step": np.arange(window.start, window.start + window.hours),
        "month": exogenous.month[part],
        "hour": exogenous.hour[part],
        "load_kwh": load.sum(axis=0),
        "pv_kwh": pv.sum(axis=0),
        "battery_kwh": run.battery_kwh.sum(axis=0),
        "charging_kwh": run.charging_kwh.sum(axis=0),
        "other_kwh": (net - load + pv - run.battery_kwh - run.charging_kwh).sum(axis=0),
        "net_kwh": net.sum(axis=0),
        "import_kwh": import_kwh(net).sum(axis=0),
        "export_kwh": export_kwh(net).sum(axis=0),
        "price": exogenous.price[:, part].mean(axis=0),
        "carbon": exogenous.carbon[:, part].mean(axis=0),
        "uncontrolled_net_kwh": reference.run.net_kwh[:, part].sum(axis=0),
    }


if __name__ == "__main__":
    sys.exit(main())
