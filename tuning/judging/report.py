"""What a judgement came to: checked, printed, and written as Markdown and Parquet."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from envs.validity import check_score
from results import load
from results.files import write_whole
from results.judgement import BOUND, BOUNDS, METRICS, cell, judgement, to_markdown, write_table
from tuning.judging.folder import JudgementPaths
from tuning.judging.verdict import verdict

GOOD = ("score", "bound_share")  # columns of the first table that is printed, with their intervals
# Columns of the second: metric, heading, factor.
DOES = (
    ("import_kwh", "MWh", 1e-3), ("co2_kg", "t CO2", 1e-3), ("co2_change", "CO2", 1.0), ("bill_change", "bill", 1.0),
    ("peak_kw", "peak, kW", 1.0), ("self_consumption", "PV used", 1.0), ("served", "vehicles", 1.0),
)  # fmt: skip
LEFT_OUT = " *"  # behind the name of what is not comparable


def report(paths: JudgementPaths, title: str, comparisons: int, console: Console) -> None:
    """Check, print and write.

    Args:
        paths: of the judgement.
        title: of the scenario.
        comparisons: see `tuning.judging.race.standing`.
        console: to print to.

    Raises:
        ValidityError: if a score is above the bound.
    """
    evaluations = load(paths.folder).evaluations
    check_scores(evaluations)
    table = judgement(evaluations)
    lines = verdict(evaluations, table, comparisons)
    years = ", ".join(map(str, sorted(set(evaluations["year"]))))
    heading = f"{title}, test years {years}"
    for shown in tables(table, heading):
        console.print(shown)
    for line in lines:
        _say(console, line)
    write_table(paths.table, table, {"scenario": title, "years": years})
    text = "\n".join([f"# {heading}", "", to_markdown(table), *(f"- {line}" for line in lines), ""])
    write_whole(paths.report, lambda file: file.write(text.encode()))
    for path in (paths.report, paths.table):
        _say(console, str(path))


def check_scores(evaluations: pd.DataFrame) -> None:
    """Check all scores against the bound of their year, where there is one.

    Raises:
        ValidityError: if one is above it.
    """
    limits = dict(evaluations.loc[evaluations["contender"] == BOUND, ["year", "score"]].to_numpy().tolist())
    judged = evaluations[~evaluations["contender"].isin(BOUNDS) & evaluations["score"].notna()]
    for name, year, score in judged[["contender", "year", "score"]].to_numpy().tolist():
        if year in limits:
            check_score(name, int(year), score, limits[year])


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
