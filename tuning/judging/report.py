"""The result of a judgement: checked, written as Parquet and Markdown, printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from common.amounts import Scale
from common.files import write_whole
from common.texts import markdown
from common.units import YEAR
from envs.objective.aim import SCORE_ALONE, Aim
from results import load
from results.judgement import METRICS, Ranking, cell, judgement, objective_cells, to_markdown, write_table
from tuning.cli.console import say
from tuning.cli.tables import Fitted, plain_table
from tuning.judging.checks import check_amounts, check_scores
from tuning.judging.folder import JudgementPaths
from tuning.judging.verdict import verdict

RATINGS = ("score", "bound_share")  # columns of the first printed table, with their intervals
AMOUNTS = {"import_kwh": ("import", "kWh"), "co2_kg": ("CO2", "kg"), "peak_kw": ("peak", "kW")}  # of the second, with units
# Columns of the second and their headings; amounts have theirs by their size.
FIGURES = {
    "import_kwh": "", "co2_kg": "", "co2_change": "CO2", "bill_change": "bill", "peak_kw": "", "self_consumption": "PV used",
    "served": "served",
}  # fmt: skip
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

    better = "" if aim.is_score else aim.objective.better
    return Ranking(better, aim.objective.fitted, rated, aim.facts.get("requirements", ""))


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
    evaluations = load(paths.folder).evaluations
    check_scores(evaluations)
    check_amounts(evaluations)
    ranking = ranking_of(aim)
    table = judgement(evaluations, ranking=ranking)
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
    """The years that were judged, and their hours where these are not whole years.

    Args:
        hours: judged, by year.
        has_years: whether these are years, and not ranges.
    """
    if hours.empty:
        return "nothing judged"
    years = f"test years {', '.join(map(str, hours.index))}" if has_years else ""
    if has_years and (hours == YEAR).all():
        return years
    return f"{f'{years}, ' if years else ''}{hours.sum():,} hours (energies, emission and bill scaled to a year of {YEAR:,})"


def tables(table: pd.DataFrame, title: str, ranking: Ranking | None = None) -> tuple[Table, Table]:
    """Two tables: ratings, each with its interval in a column of its own, and the site's figures in units of their size."""
    of_objective = objective_cells(table, ranking)
    objective = [of_objective[0]] if of_objective else []
    ratings, amounts = plain_table(title), plain_table()
    for own in (ratings, amounts):
        own.add_column("", overflow="fold")
    headings = (
        "runs",
        *(heading for name in (*objective, *(METRICS[name][1] for name in RATINGS)) for heading in (name, INTERVAL)),
    )
    for heading in headings:
        ratings.add_column(heading, justify="right", no_wrap=True)
    scales = {name: Scale.of(table[name], unit) for name, (_, unit) in AMOUNTS.items()}
    for name, heading in FIGURES.items():
        amounts.add_column(scales[name].heading(AMOUNTS[name][0]) if name in scales else heading, justify="right", no_wrap=True)
    for place, (_, row) in enumerate(table.iterrows()):
        name = str(row["contender"]) + ("" if row["comparable"] else NOT_COMPARABLE)
        runs = str(row["runs"]) if row["algorithm"] else ""
        own_cells = (*([of_objective[1][place]] if of_objective else []), *(cell(row, metric) for metric in RATINGS))
        parts = [text.removesuffix(")").partition(" (") for text in own_cells]
        ratings.add_row(name, runs, *(part for value, _, interval in parts for part in (value, interval)))
        amounts.add_row(name, *(_figure(row[metric], metric, scales) for metric in FIGURES))
    return ratings, amounts


def _figure(value: float, metric: str, scales: Mapping[str, Scale]) -> str:
    if metric in scales:
        return scales[metric].text(value)
    return "" if pd.isna(value) else format(value, METRICS[metric][2])
