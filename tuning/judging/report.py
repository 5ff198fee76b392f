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
from results.judgement import BOUND, BOUNDS, METRICS, cells, judgement, to_markdown, write_table
from tuning.judging.folder import JudgementPaths
from tuning.judging.verdict import verdict

# Columns of the two tables that are printed.
GOOD = ("score", "bound_share")
DOES = ("import_kwh", "co2_kg", "co2_change", "bill_change", "peak_kw", "self_consumption", "served")


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
    good, does = (Table(title=text, title_justify="left", box=SIMPLE_HEAD, pad_edge=False) for text in (title, ""))
    for shown, names in ((good, GOOD), (does, DOES)):
        shown.add_column("", overflow="fold")
        for name in ("runs", *names) if shown is good else names:
            shown.add_column(METRICS[name][1] if name in METRICS else name, justify="right", no_wrap=True)
    for _, row in table.iterrows():
        name, runs, *_ = cells(row)
        intervals = []
        for metric in GOOD:
            low, high = (_number(row, metric, end) for end in ("_low", "_high"))
            intervals.append(f"{_number(row, metric)} ({low} to {high})" if low else _number(row, metric))
        good.add_row(name, runs, *intervals)
        does.add_row(name, *(_number(row, metric) for metric in DOES))
    return good, does


def _number(row: pd.Series, metric: str, end: str = "") -> str:
    value = row[f"{metric}{end}"]
    return "" if pd.isna(value) else format(value, METRICS[metric][2])


def _say(console: Console, line: str | Path) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)
