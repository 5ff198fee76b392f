"""The result of a judgement: checked, written as Parquet and Markdown, printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from common.files import write_whole
from common.measure import BASIS
from common.texts import markdown
from common.units import YEAR
from envs.objective.aim import SCORE_ALONE, Aim
from results import load
from results.judgement import (
    Ranking,
    cell,
    judgement,
    metrics_of,
    objective_cells,
    scales,
    to_markdown,
    value_text,
    write_table,
)
from tuning.cli.console import say
from tuning.cli.tables import Fitted, plain_table
from tuning.judging.checks import check_amounts, check_scores
from tuning.judging.folder import JudgementPaths
from tuning.judging.verdict import verdict

RATINGS = ("score", "bound_share")  # columns of the first printed table, with their intervals
LEFT_OUT = (*RATINGS, "bill")  # of the second, as its change stands there
INTERVAL = "95% interval"
_INTERVALS = (
    "Means over runs. Intervals are Student's, 95 %, each by itself. They are over seeds of training, for these test years as "
    "they are. Those below hold for all contenders together."
)
NOT_COMPARABLE = " *"  # behind the name of a contender that is not comparable


@dataclass(frozen=True)
class JudgementReport:
    """The result of a judgement.

    Attributes:
        paths: of the judgement's files.
        title: of the scenario, with the years that were judged.
        table: a row for each contender, baseline and bound; see `results.judgement.judgement`.
        verdict: sentences.
        ranking: by what else than the score contenders are ranked.
    """

    paths: JudgementPaths
    title: str
    table: pd.DataFrame
    verdict: tuple[str, ...]
    ranking: Ranking | None = None


def ranking_of(aim: Aim) -> Ranking | None:
    """How an aim ranks contenders; None where the score alone does."""
    if aim.is_score and not aim.requirements:
        return None

    def rated(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
        outcome = aim.outcome(rows)
        value = outcome.score if outcome.objective is None else outcome.objective
        return value, aim.goal(outcome), outcome.shortfall or 0.0

    return Ranking(None if aim.is_score else aim.objective, rated, aim.facts.get("requirements", ""))


def write_report(
    paths: JudgementPaths,
    title: str,
    seeds: int,
    looks: int,
    failed: Mapping[str, str],
    aim: Aim = SCORE_ALONE,
    has_years: bool = True,
) -> JudgementReport:
    """Check the evaluations of a judgement, and write its table and verdict.

    Args:
        paths: of the judgement.
        title: of the scenario.
        seeds: see `tuning.judging.verdict.verdict`, as for the next two.
        looks: of the race.
        failed: contenders that lack runs, with the reason.
        aim: of the experiments.
        has_years: whether the test has years, and not ranges that the title names.

    Raises:
        ValidityError: if a result is better than its bound, or a contender's score is not a number.
    """
    # The folder is missing where all contenders failed before their first evaluation.
    paths.locked.results.mkdir(exist_ok=True)
    results = load(paths.folder)
    evaluations = results.evaluations
    check_scores(evaluations)
    check_amounts(evaluations)
    ranking = ranking_of(aim)
    table = judgement(evaluations, results.measures, ranking)
    lines = verdict(evaluations, table, seeds, looks, failed, ranking)
    if aim.shown:
        lines = [f"aim: {aim.shown}", *lines]
    hours = evaluations.groupby("year")["hours"].first()
    years = ", ".join(map(str, hours.index))
    heading = f"{title}, {_extent(hours, has_years)}"
    write_table(paths.table, table, {"scenario": title, "years": years, "hours": str(hours.sum()), **aim.facts})
    text = "\n".join(
        [
            f"# {markdown(heading)}",
            "",
            to_markdown(table, ranking),
            f"{_INTERVALS}\n",
            *(f"- {markdown(line)}" for line in lines),
            "",
        ]
    )
    write_whole(paths.report, lambda file: file.write(text.encode()))
    return JudgementReport(paths, heading, table, tuple(lines), ranking)


def print_report(report: JudgementReport, console: Console) -> None:
    """Print tables, verdict and the paths of the files."""
    for shown in tables(report.table, report.title, report.ranking):
        console.print(Fitted(shown))
        console.print()
    for line in (*report.verdict, report.paths.report, report.paths.table):
        say(console, line)


def _extent(hours: pd.Series, has_years: bool) -> str:
    """The years that were judged, their hours where these are not whole years, and what amounts are of."""
    if hours.empty:
        return "nothing judged"
    years = [f"test years {', '.join(map(str, hours.index))}"] if has_years else []
    part = [] if has_years and (hours == YEAR).all() else [f"{hours.sum():,} hours"]
    return f"{', '.join([*years, *part])}; amounts of {BASIS}"


def tables(table: pd.DataFrame, title: str, ranking: Ranking | None = None) -> tuple[Table, Table]:
    """Two tables: ratings, each with its interval in a column of its own, and the site's figures in units of their size."""
    of_objective = objective_cells(table, ranking)
    objective = [of_objective[0]] if of_objective else []
    measures, sizes = metrics_of(table), scales(table)
    rated = [measures[name] for name in RATINGS]
    figures = {name: own for name, own in measures.items() if name not in LEFT_OUT}
    ratings, amounts = plain_table(title), plain_table()
    for own in (ratings, amounts):
        own.add_column("", overflow="fold")
    for heading in ("runs", *(part for name in (*objective, *(own.label for own in rated)) for part in (name, INTERVAL))):
        ratings.add_column(heading, justify="right", no_wrap=True)
    for name, measure in figures.items():
        heading = sizes[name].heading(measure.label) if name in sizes else measure.label
        amounts.add_column(heading, justify="right", no_wrap=True)
    for place, (_, row) in enumerate(table.iterrows()):
        name = str(row["contender"]) + ("" if row["comparable"] else NOT_COMPARABLE)
        runs = str(row["runs"]) if row["algorithm"] else ""
        own_cells = (*([of_objective[1][place]] if of_objective else []), *(cell(row, measure) for measure in rated))
        parts = [text.removesuffix(")").partition(" (") for text in own_cells]
        ratings.add_row(name, runs, *(part for value, _, interval in parts for part in (value, interval)))
        amounts.add_row(
            name, *(value_text(measure, float(row[metric]), sizes.get(metric)) for metric, measure in figures.items())
        )
    return ratings, amounts
