"""The hours of a policy's year: `python -m tuning.rollout experiments/NAME --trial best --year 3`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro

from tuning.command import command
from tuning.errors import UsageError

if TYPE_CHECKING:
    from envs.episodes import Episode
    from envs.scenario import Scenario

WEEK = 168  # hours


@dataclass(frozen=True)
class Question:
    """Run a trial's policy through a year and write what happened, hour by hour, as Parquet, and a picture of a week."""

    experiment: Annotated[Path, tyro.conf.Positional]
    """Folder of the experiment."""
    trial: str = "best"
    """Number of the trial, or best."""
    year: int = -1
    """Scenario year; by default the first of the test split."""
    backend: Literal["citylearn", "batch"] = "batch"
    """What steps it: the batch backend, which has CityLearn's numbers, or CityLearn itself, a thousand times slower."""
    week: int = 34
    """Week of the year that is drawn, from 0."""
    to: Path = Path()
    """Folder for the files; by default rollouts in the experiment's."""


def main(arguments: list[str] | None = None) -> int:
    """Run and write.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0, or 2 for a command that cannot be carried out.
    """
    return command(Question, arguments, "python -m tuning.rollout", _roll_out)


def _roll_out(question: Question) -> int:
    from envs.factory import windows_env
    from envs.scenario import Window, scenario
    from results import load
    from results.rollout import draw_week, table, write
    from tuning.experiment import open_experiment
    from tuning.policies import trained, trial_number
    from tuning.ray_session import ray_session

    experiment = open_experiment(question.experiment)
    settings = experiment.settings
    site = scenario(settings.scenario)
    number = trial_number(load(experiment.paths.folder), question.trial)
    year = question.year if question.year >= 0 else site.years("test")[0]
    if site.schema and year:
        raise UsageError(f"--year {year}: {site.title} has the one year 0")
    with ray_session(num_cpus=1), trained(experiment, number) as found:
        whole = Window(year, 0, hours_of(site, year))
        env = windows_env(settings.scenario, question.backend, (whole,), settings.reward)
        (episode,) = env.episodes(found.policy)
        env.close()
    series = series_of(episode)
    folder = question.to if question.to != Path() else experiment.paths.folder / "rollouts"
    name = f"trial-{number:05d}-{found.steps:012d}-year-{year}"
    own = {"experiment": settings.name, "trial": number, "steps": found.steps, "scenario": site.title, "year": year}
    about = {key: str(value) for key, value in own.items()}
    write(folder / f"{name}.parquet", table(series, about))
    start = min(question.week * WEEK, max(0, len(series["step"]) - WEEK))
    figure = draw_week(series, start, f"{site.title}, year {year}, trial {number}: a week from day {start // 24 + 1}")
    figure.savefig(folder / f"{name}.png", dpi=110)
    for suffix in ("parquet", "png"):
        print(folder / f"{name}.{suffix}")
    return 0


def hours_of(site: Scenario, year: int) -> int:
    """Hours of a scenario year that can be stepped."""
    from envs.years import year_reference

    return int(year_reference(site, year).run.net_kwh.shape[1])


def series_of(episode: Episode) -> dict[str, np.ndarray]:
    """Columns of `results.rollout` from a run through a window."""
    from envs.series import export_kwh, import_kwh

    window, reference, run = episode.window, episode.reference, episode.run
    part = slice(window.start, window.start + window.hours)
    exogenous, net = reference.exogenous, run.net_kwh
    load = net - run.battery_kwh - run.charging_kwh + exogenous.pv_kwh[:, part]
    return {
        "step": np.arange(window.start, window.start + window.hours),
        "month": exogenous.month[part],
        "hour": exogenous.hour[part],
        "load_kwh": load.sum(axis=0),
        "pv_kwh": exogenous.pv_kwh[:, part].sum(axis=0),
        "battery_kwh": run.battery_kwh.sum(axis=0),
        "charging_kwh": run.charging_kwh.sum(axis=0),
        "net_kwh": net.sum(axis=0),
        "import_kwh": import_kwh(net).sum(axis=0),
        "export_kwh": export_kwh(net).sum(axis=0),
        "price": exogenous.price[:, part].mean(axis=0),
        "carbon": exogenous.carbon[:, part].mean(axis=0),
        "uncontrolled_net_kwh": reference.run.net_kwh[:, part].sum(axis=0),
    }


if __name__ == "__main__":
    sys.exit(main())
