"""What a judgement came to: checked, printed, and written as Markdown and Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from common.files import write_whole
from common.units import YEAR
from results import load
from results.judgement import METRICS, cell, judgement, to_markdown, write_table
from tuning.judging.checks import check_amounts, check_scores
from tuning.judging.folder import JudgementPaths
from tuning.judging.verdict import verdict

GOOD = ("score", "bound_share")  # columns of the first table that is printed, with their intervals
# Columns of the second: metric, heading, factor.
DOES = (
    ("import_kwh", "MWh", 1e-3), ("co2_kg", "t CO2", 1e-3), ("co2_change", "CO2", 1.0), ("bill_change", "bill", 1.0),
    ("peak_kw", "peak, kW", 1.0), ("self_consumption", "PV used", 1.0), ("served", "vehicles", 1.0),
)  # fmt: skip
LEFT_OUT = " *"  # behind the name of what is not comparable


def report(
    paths: JudgementPaths, title: str, seeds: int, comparisons: int, failed: Mapping[str, str], console: Console
) -> None:
    """Check, print and write.

    Args:
        paths: of the judgement.
        title: of the scenario.
        seeds: see `tuning.judging.verdict.verdict`, as of the following two.
        comparisons: of the race.
        failed: contenders that lack runs.
        console: to print to.

    Raises:
        ValidityError: if a result is better than its bound, or a contender's score is no number.
    """
    # Where all contenders failed, nobody has written any.
    paths.locked.results.mkdir(exist_ok=True)
    evaluations = load(paths.folder).evaluations
    check_scores(evaluations)
    check_amounts(evaluations)
    table = judgement(evaluations)
    lines = verdict(evaluations, table, seeds, comparisons, failed)
    hours = evaluations.groupby("year")["hours"].first()
    years = ", ".join(map(str, hours.index))
    heading = f"{title}, {_extent(hours)}"
    for shown in tables(table, heading):
        console.print(shown)
    for line in lines:
        _say(console, line)
    write_table(paths.table, table, {"scenario": title, "years": years, "hours": str(hours.sum())})
    text = "\n".join([f"# {heading}", "", to_markdown(table), *(f"- {line}" for line in lines), ""])
    write_whole(paths.report, lambda file: file.write(text.encode()))
    for path in (paths.report, paths.table):
        _say(console, str(path))


def _extent(hours: pd.Series) -> str:
    """What was judged: years, and their hours where these are no whole years.

    Args:
        hours: judged, by year.
    """
    if hours.empty:
        return "nothing judged"
    years = f"test years {', '.join(map(str, hours.index))}"
    if (hours == YEAR).all():
        return years
    return f"{years}, {hours.sum():,} hours (energies, emission and bill scaled to a year of {YEAR:,})"


def tables(table: pd.DataFrame, title: str) -> tuple[Table, Table]:
    """The table for a terminal of 80 columns: how good, with intervals, and what the site does."""
    good, does = (
        Table(title=text, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for text in (title, None)
    )
    good.add_column("", overflow="fold")
    does.add_column("", overflow="fold", min_width=16)
    for heading in ("runs", *(METRICS[name][1] for name in GOOD)):
        good.add_column(heading, justify="right")
    for _, heading, _ in DOES:
        does.add_column(heading, justify="right", no_wrap=True)
    for _, row in table.iterrows():
        name = str(row["contender"]) + ("" if row["comparable"] else LEFT_OUT)
        runs = str(row["runs"]) if row["algorithm"] else ""
        good.add_row(name, runs, *(cell(row, metric).replace(" (", "\n(") for metric in GOOD))
        values = (row[metric] * factor for metric, _, factor in DOES)
        forms = (METRICS[metric][2] for metric, _, _ in DOES)
        does.add_row(name, *("" if pd.isna(v) else format(v, form) for v, form in zip(values, forms, strict=True)))
    return good, does


def _say(console: Console, line: str | Path) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)
