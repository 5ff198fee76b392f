"""The result of a judgement: checked, written as Parquet and Markdown, printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from common.files import write_whole
from common.measure import BASIS, SCORE, SITE, Measure
from common.texts import markdown
from common.units import YEAR
from envs.objective.aim import Aim
from envs.objective.evaluate import ValidityError, check_score
from envs.task import SiteTask
from results import Results, load
from results.analysis.judged import luck
from results.judgement import (
    BOUND,
    BOUNDS,
    OBJECTIVE,
    Ranking,
    headings,
    judgement,
    metrics_of,
    scales,
    to_markdown,
    value_and_interval,
    value_text,
    write_table,
)
from tuning.cli.console import Fitted, plain_table, say
from tuning.judging.verdict import verdict

if TYPE_CHECKING:
    from tuning.experiment.folder import Experiment
    from tuning.judging.race import Race

RATINGS = (OBJECTIVE, "score", "bound_share")  # columns of the first printed table, with their intervals
LEFT_OUT = (*RATINGS, "bill")  # of the second, as its change stands there
INTERVAL = "95% interval"
_INTERVALS = (
    "Means over runs. Intervals are Student's, 95 %, each by itself. They are over seeds of training, for these test {} as "
    "they are. Those below hold for all contenders together."
)
NOT_COMPARABLE = " *"  # behind the name of a contender that is not comparable
# Relative tolerance, of the larger of the bound and the uncontrolled site's figure: for the solver's tolerance and float32
# series.
AMOUNT = 1e-4
SERVED = 1e-6  # part of the required vehicle energy: too little to lower an emission or a bill noticeably
_SERVICE = ("ev_missing_kwh", "ev_required_kwh")
_AMOUNTS = {"co2_kg": ("bound of co2", "an emission", "kg"), "bill": ("bound of cost", "a bill", "")}


@dataclass(frozen=True)
class Comparison:
    """What a judgement found."""

    folder: Path
    table: pd.DataFrame  # a row for each contender, baseline and bound, the best first; see `results.judgement.judgement`
    verdict: tuple[str, ...]  # sentences
    finalists: tuple[str, ...]  # names of the contenders that stayed in the race to its end; none where all failed


def conclude(race: Race, console: Console, searched: Sequence[Experiment] = ()) -> Comparison:
    """Check the evaluations of a race, write its table and verdict as Parquet and Markdown, and print them.

    The verdict ends with what the searches that the contenders come from had said of them.
    """
    paths, seeds = race.judgement.paths, race.judgement.settings.seeds
    task, aim = race.task, race.task.aim
    # The folder is missing where all contenders failed before their first evaluation.
    paths.locked.results.mkdir(exist_ok=True)
    results = load(paths.folder)
    evaluations = results.evaluations
    check_scores(evaluations)
    check_amounts(evaluations)
    ranking = ranking_of(aim, evaluations, results.measures)
    table = judgement(evaluations, results.measures, ranking)
    lines = verdict(evaluations, table, seeds, len(race.looks), race.failed, ranking)
    lines += [line for experiment in searched for line in promised(load(experiment.paths.folder), results)]
    if aim.shown:
        lines = [f"aim: {aim.shown}", *lines]
    hours = evaluations.groupby("year")["hours"].first()
    if isinstance(task, SiteTask):
        title = task.site.title_of("test")
        heading = f"{title}, {_extent(hours, has_years=task.site.schema is None)}"
        about = {"scenario": title, "years": ", ".join(map(str, hours.index)), "hours": str(hours.sum())}
        intervals = _INTERVALS.format("years")
    else:
        heading = f"{task.title}, {task.episodes} episodes with seeds of the test"
        about = {"scenario": task.title, "episodes": str(task.episodes)}
        intervals = _INTERVALS.format("episodes")
    write_table(paths.table, table, {**about, **aim.facts})
    points = [f"- {markdown(line)}" for line in lines]
    text = "\n".join([f"# {markdown(heading)}", "", to_markdown(table, ranking), f"{intervals}\n", *points, ""])
    write_whole(paths.report, text.encode())
    for shown in tables(table, heading, ranking):
        if len(shown.columns) == 1:
            continue  # nothing is known beside the ratings
        console.print(Fitted(shown))
        console.print()
    for line in (*lines, paths.report, paths.table):
        say(console, line)
    return Comparison(paths.folder, table, tuple(lines), tuple(race.finalists))


def promised(search: Results, judgement: Results) -> list[str]:
    """The score that its search had for each trial that was judged, beside the one that fresh seeds have."""
    rows = luck(search, judgement)
    rows = rows[(rows["split"] == "test") & (rows["trial"] >= 0) & rows["change"].notna()]
    steps = search.trials.set_index("trial")["kept_steps"]
    after = {trial: f"after {int(kept):,} steps of" for trial, kept in steps.items() if pd.notna(kept)}
    return [
        f"{name}: score {SCORE.shown(before)} {after.get(trial, 'in')} its search, {SCORE.shown(now)} on the test with fresh "
        "seeds"
        for name, trial, before, now in rows[["name", "trial", "search", "fresh"]].itertuples(index=False)
    ]


def check_scores(evaluations: pd.DataFrame) -> None:
    """Raise a ValidityError for a score above the bound of its year, and for a contender without one."""
    limits = dict(evaluations.loc[evaluations["contender"] == BOUND, ["year", "score"]].to_numpy().tolist())
    judged = evaluations[~evaluations["contender"].isin(BOUNDS)].reindex(columns=["contender", "algorithm", "year", "score"])
    for name, algorithm, year, score in judged.itertuples(index=False):
        if pd.notna(algorithm) and not np.isfinite(score):
            raise ValidityError(f"{name}, year {year}: a score of {score} is no number")
        # A baseline that is another site, such as one without PV, has none.
        if year in limits and pd.notna(score):
            check_score(name, year, score, limits[year])


def check_amounts(evaluations: pd.DataFrame) -> None:
    """Raise a ValidityError for a policy with less emission or a lower bill than the bound of each.

    The bounds serve every vehicle that can be served. A policy that serves fewer may be below them, unchecked.
    """
    # Without a row of a bound its amounts have no column.
    needed = [name for amount in _AMOUNTS for name in (amount, SITE + amount)]
    evaluations = evaluations.reindex(columns=[*dict.fromkeys([*evaluations.columns, *needed, *_SERVICE])])
    judged = evaluations[~evaluations["contender"].isin(BOUNDS)]
    for amount, (bound, thing, unit) in _AMOUNTS.items():
        limits = evaluations[evaluations["contender"] == bound].set_index("year")
        limit, missing = (judged["year"].map(limits[name]) for name in (amount, "ev_missing_kwh"))
        serves_all = judged["ev_missing_kwh"] <= missing + SERVED * judged["ev_required_kwh"]
        slack = AMOUNT * np.maximum(limit.abs(), judged[SITE + amount].abs())
        below = serves_all & (judged[amount] < limit - slack)
        if below.any():
            row = judged[below].iloc[0]
            raise ValidityError(
                f"{row['contender']}, year {row['year']}: {thing} of {row[amount]:,.3f} {unit}".rstrip()
                + f" is below the bound of {limit[below].iloc[0]:,.3f}"
            )


def ranking_of(aim: Aim, evaluations: pd.DataFrame, measures: Mapping[str, Measure]) -> Ranking | None:
    """How an aim ranks contenders of a judgement; None where the score alone does."""
    if aim.is_score and not aim.requirements:
        return None

    def rated(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
        outcome = aim.outcome(rows)
        value = outcome.score if outcome.objective is None else outcome.objective
        return value, aim.goal(outcome), outcome.shortfall or 0.0

    return Ranking(None if aim.is_score else aim.measured(measures).objective, rated, aim.required(evaluations))


def _extent(hours: pd.Series, has_years: bool) -> str:
    """The years that were judged, their hours where these are not whole years, and what amounts are of."""
    if hours.empty:
        return "nothing judged"
    years = f"test years {', '.join(map(str, hours.index))}" if has_years else "test"
    part = [] if has_years and (hours == YEAR).all() else [f"{hours.sum():,} hours"]
    return f"{', '.join([years, *part])}; amounts of {BASIS}"


def tables(table: pd.DataFrame, title: str, ranking: Ranking | None = None) -> tuple[Table, Table]:
    """Two tables: ratings, each with its interval in a column of its own, and the site's figures in units of their size."""
    measures = metrics_of(table, ranking)
    sizes = scales(table, measures)
    titles = dict(zip(measures, headings(measures, sizes)[2:], strict=True))
    rated = {name: measures[name] for name in RATINGS if name in measures}
    figures = {name: measure for name, measure in measures.items() if name not in LEFT_OUT}
    ratings = plain_table(title, ("", "runs", *(part for name in rated for part in (titles[name], INTERVAL))))
    amounts = plain_table(None, ("", *(titles[name] for name in figures)))
    for _, row in table.iterrows():
        name = str(row["contender"]) + ("" if row["comparable"] else NOT_COMPARABLE)
        runs = str(row["runs"]) if row["algorithm"] else ""
        both = (value_and_interval(row, measure, sizes.get(metric)) for metric, measure in rated.items())
        ratings.add_row(name, runs, *chain(*both))
        amounts.add_row(
            name, *(value_text(measure, float(row[metric]), sizes.get(metric)) for metric, measure in figures.items())
        )
    return ratings, amounts
