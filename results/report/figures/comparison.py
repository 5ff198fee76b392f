"""Which of several experiments came further, and in which time."""

import pandas as pd

from results import analysis
from results.loader import Results, names_of
from results.report.charts import CATEGORIES, Figure, Panel, channel, chart, coloured, hover, layer, sampled
from results.report.figures.best_so_far import fallen
from results.report.words import duration, first_of, listed, score

PLACES = {"comparison": 1}  # in the sections of these kinds
_MOST_POINTS = 200
_DIFFER = {"scenario": "sites or environments", "reward": "rewards", "aim": "aims or splits"}  # what ratings depend on


def figure(experiments: tuple[Results, ...]) -> Figure | None:
    names = names_of([one.folder for one in experiments])
    lines = [analysis.best_so_far(one).assign(experiment=name) for one, name in zip(experiments, names, strict=True)]
    return comparison(analysis.compare(experiments), pd.concat(lines, ignore_index=True))


def comparison(table: pd.DataFrame, lines: pd.DataFrame) -> Figure | None:
    question = "Which experiment came furthest?"
    rated = table[table["best_rating"].notna()].sort_values("best_rating", ascending=False)
    if rated.empty:
        return None
    top = rated.iloc[0]
    differ = [several for name, several in _DIFFER.items() if rated[name].nunique() > 1]
    second = f", before {rated['experiment'].iloc[1]} with {score(rated['best_rating'].iloc[1])}" if len(rated) > 1 else ""
    answer = (
        f"{top.experiment}, with {score(top.best_rating)} after {duration(top.elapsed_seconds)}{second}."
        if not differ
        else f"Their ratings cannot be compared: {listed(differ)} differ."
    )
    names = list(dict.fromkeys(lines["experiment"]))[: len(CATEGORIES)]
    drawn = lines[lines["experiment"].isin(names) & lines["best"].notna()]
    thin = [sampled(rows, _MOST_POINTS) for _, rows in drawn.groupby("experiment", sort=False)]
    joined = (pd.concat(thin) if thin else drawn).assign(minutes=lambda rows: rows["elapsed_seconds"] / 60.0)
    experiments = table.set_index("experiment")
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(str(experiments.at[name, column]) for column in _DIFFER), []).append(name)
    panels = []
    for (_, _, aim), group in groups.items():
        rows = joined[joined["experiment"].isin(group)]
        if rows.empty:
            continue
        heading = f"{listed(group)}{f' ({aim})' if aim else ''}" if len(groups) > 1 else ""
        colours = [CATEGORIES[names.index(name)] for name in group]
        line = layer(
            rows, {"type": "line", "interpolate": "step-after"}, x=channel("minutes", title="minutes in which a trial ran"),
            y=channel("best", title="best rating so far", scale={"zero": False}), color=coloured("experiment", group, colours),
            tooltip=hover(("experiment", "experiment"), ("best", "rating"), ("minutes", "minutes")),
        )  # fmt: skip
        panels.append(Panel(chart(line), heading))
    shown = table[
        ["experiment", "algorithm", "aim", "trials", "total_steps", "elapsed_seconds", "best_rating", "default_rating", "gain"]
    ]
    if not shown["aim"].any():
        shown = shown.drop(columns="aim")
    shown = shown.assign(elapsed_seconds=[duration(value) for value in shown["elapsed_seconds"]]).rename(
        columns={
            "total_steps": "steps",
            "elapsed_seconds": "time",
            "best_rating": "best",
            "default_rating": "default",
        }
    )
    falls = next(filter(None, (fallen(rows["best"]) for _, rows in drawn.groupby("experiment"))), "")
    note = " ".join(filter(None, (first_of(len(names), len(table), "experiments").strip(), falls)))
    return Figure("comparison", question, answer, tuple(panels), shown, note)
