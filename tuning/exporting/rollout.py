"""The hours of a policy's year: computed, checked, written as Parquet, drawn for a week."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile

import pandas as pd

from common.errors import UsageError
from common.files import write_whole
from common.paths import missing_folders, remove_empty, user_path
from common.units import WEEK
from common.uris import uri_of
from envs.environments.backend import choose_backend
from envs.environments.year_cache import whole_year
from envs.objective.evaluate import check_episode
from envs.objective.hours import hours_of
from envs.objective.reward import check_reward
from envs.task import SiteTask
from results import load
from results import rollout as output
from results.places import ROLLOUTS
from results.table_files import write_parquet
from tuning.cli.console import busy, terminal
from tuning.experiment.folder import Experiment
from tuning.experiment.reading import open_to_read, with_checkpoints
from tuning.experiment.settings import check_types
from tuning.exporting.settings import RolloutSettings
from tuning.trial import policy

DEFAULT_WEEK = 34  # late August in Iquitos, when the sky is clearest


@dataclass(frozen=True)
class Rollout:
    """A policy's year."""

    hours: pd.DataFrame  # a row an hour; units are in `results.rollout.COLUMNS`
    table: Path  # the same as a Parquet file
    picture: Path  # of a week, a PNG file


def roll_out(settings: RolloutSettings) -> Rollout:
    """Run a trial's policy through a year, and write its hours and a picture of a week.

    Raises:
        UserError: if trial, year or week does not exist, or the folder cannot be created; nothing is written then.
        ValidityError: if the run is physically impossible.
    """
    check_types(settings)
    experiment = open_to_read(settings.experiment).trusting(settings.trust_scenario)
    searched = experiment.settings
    elsewhere = searched.site_task.elsewhere(settings.scenario) if settings.scenario else None
    task = elsewhere or searched.site_task
    site = task.site
    check_reward(site, searched.reward)
    number = policy.trial_number(load(experiment.paths.folder), settings.trial)
    backend = choose_backend(site, settings.backend, searched.reward)
    year = _year(settings.year, task)
    window = whole_year(site, year)
    start = _first_hour(settings.week, window.lasts)
    folder = user_path(settings.to) if settings.to else _folder_of(experiment)
    created = missing_folders(folder)
    try:
        of_trial, split = with_checkpoints(experiment, number), site.split_of(year)
        with (
            # What the command prints are paths.
            busy(terminal(stderr=True), f"running the policy of trial {number} through year {year}"),
            policy.trained(of_trial, number, elsewhere, split, settings.keep) as trained,
        ):
            # Before the year runs: CityLearn takes minutes for it.
            _create(folder)
            env = trained.on_site.by(backend).evaluation_env((window,), trained.shares)
            (episode,) = env.episodes(trained.policy)
            env.close()
        check_episode(episode)
        series = hours_of(episode)
        where = f"-on-{site.title}" if elsewhere else ""
        name = f"trial-{number:05d}-{trained.steps:012d}-year-{year}{where}"
        about = {
            "experiment": searched.name, "trial": number, "steps": trained.steps, "scenario": site.title, "year": year,
            "backend": backend, "currency": site.currency,
        }  # fmt: skip
        which = site.described(site.split_of(year)) if site.segments else f"year {year}"
        title = f"{site.title}, {which}, trial {number}: a week from day {start // 24 + 1}"
        figure, drawn = output.draw_week(series, start, title), BytesIO()
        figure.savefig(drawn, dpi=110)
        table, picture = folder / f"{name}.parquet", folder / f"{name}.png"
        write_parquet(table, output.table(series, {key: str(value) for key, value in about.items()}))
        write_whole(picture, drawn.getvalue())
        return Rollout(pd.DataFrame(series), table, picture)
    except BaseException:
        remove_empty(created)
        raise


def _folder_of(experiment: Experiment) -> Path:
    if uri_of(experiment.paths.folder):
        return Path(ROLLOUTS) / experiment.paths.folder.name
    return experiment.paths.folder / ROLLOUTS


def _year(given: int | None, task: SiteTask) -> int:
    site = task.site
    if given is None:
        return site.years("test")[0]
    if site.segments and given not in range(len(site.segments)):
        last = len(site.segments) - 1
        raise UsageError(f"--year {given}: the ranges of the splits of {site.title} have numbers from 0 to {last}")
    if site.schema and given and not site.segments:
        raise UsageError(f"--year {given}: {site.title} has the one year 0")
    if given < 0:
        raise UsageError(f"--year {given}: it is at least 0")
    return given


def _first_hour(week: int | None, hours: int) -> int:
    last = max(0, hours // WEEK - 1)
    if week is None:
        return min(DEFAULT_WEEK, last) * WEEK
    if not 0 <= week <= last:
        raise UsageError(f"--week {week}: the whole weeks of this year are 0 to {last}")
    return week * WEEK


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(f"--to {folder}: cannot create {error.filename}: {error.strerror}") from error
