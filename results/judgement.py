"""Table of contenders, baselines and bounds, with intervals, on years that no training or selection used.

from results import load
from results.judgement import judgement
results = load("judgements/iquitos-1")
judgement(results.evaluations, results.measures)   # pandas DataFrame, a row for each contender, baseline and bound
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from common.measure import A_YEAR, BASIS, SCORE, SERVED_BOUND, SITE, VEHICLES_SERVED, Measure, Scale, services
from common.texts import markdown
from results.schema import measures_of
from results.table_files import ResultsError, read_parquet, write_parquet

JUDGEMENT_VERSION = 1
# Of each metric, over the runs. A bootstrap of few runs is too narrow.
STATISTIC = "mean over the runs with Student's 95 % interval over seeds"
METRICS = "metrics"  # attribute of a table: the metadata of each metric, by column
BOUND = "bound of score"  # name of the rows with the bound of the score
BOUNDS = (BOUND, SERVED_BOUND, "bound of co2", "bound of cost")
EXACT_MPC = "MPC: exact future"  # on the way to the bound, and no rival: no controller knows the future
_PREFERRED = ("citylearn", "batch")  # the first one that evaluated a run counts: CityLearn is the reference
CHANGE = "change"  # how years of a change against the uncontrolled site are joined: as those of what changes
_CHANGES = {"co2_kg": "co2_change", "bill": "bill_change"}  # KPIs that bounds have too, and the columns of their changes
_SHARE = Measure(
    "bound_share", "1", "score over that of perfect foresight", "more", over="bound", label="of bound", needs="a bound"
)
_SERVED = Measure(
    "served", "1", "vehicle energy served, of what charging at full power from arrival serves", "more", "ev_required_kwh",
    label="served", needs="vehicles",
)  # fmt: skip
OBJECTIVE, GOAL, SHORTFALL = "objective", "goal", "shortfall"  # columns of a ranking


@dataclass(frozen=True)
class Ranking:
    """By what contenders are ranked, where that is not the score alone."""

    objective: Measure | None  # what is judged; None where that is the score
    # Of the evaluations of a run, a row a year: the objective's value, the same turned so that more is better, and by how much
    # what is required is missed.
    rated: Callable[[Sequence[Mapping[str, Any]]], tuple[float, float, float]]
    required: str  # in words


def metrics(measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """What a table holds, by column: score and share of the bound, the measures that have a label, and vehicles served."""
    listed = [replace(SCORE, meaning="mean reward an hour; 0 is the uncontrolled site", label=SCORE.name), _SHARE]
    for measure in _labelled(measures):
        basis = f", all hours that were judged as {BASIS}" if measure.over == A_YEAR else ""
        listed.append(replace(measure, kind="float64", meaning=measure.meaning + basis))
        if change := _CHANGES.get(measure.name):
            listed.append(Measure(change, "1", "against the uncontrolled site", over=CHANGE, label=measure.label))
    return {measure.name: measure for measure in [*listed, _SERVED]}


def _labelled(measures: Mapping[str, Measure]) -> list[Measure]:
    """Measures that tables show; what was served stands there as a part of what can be."""
    return [kpi for kpi in measures.values() if kpi.label and kpi.better != "neither" and kpi.name != "ev_served"]


def metrics_of(table: pd.DataFrame, ranking: Ranking | None = None) -> dict[str, Measure]:
    """Metrics of a table that `judgement` or `written_table` gave, without those that the site does not have.

    The first is `OBJECTIVE` where a ranking has another than the score.
    """
    aim = ranking.objective if ranking else None
    first = {OBJECTIVE: replace(aim, name=OBJECTIVE, label=aim.heading)} if aim else {}
    read = {name: Measure.of(name, "float64", told) for name, told in table.attrs.get(METRICS, {}).items()}
    known = {name: measure for name, measure in read.items() if measure}
    lacking = {name for name in known if len(table) and name in table and known[name].is_lacking(table[name])}
    return first | {name: measure for name, measure in known.items() if name not in lacking}


def written_table(path: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """The table of a file that `write_table` wrote, and what that was told `about` it.

    Raises ResultsError if the file is damaged or of another version, FileNotFoundError if it is missing.
    """
    remedy = f"the judge writes it anew with --name {path.parent.name}"
    content, about = read_parquet(path, remedy)
    if (version := about.get("schema_version")) != str(JUDGEMENT_VERSION):
        raise ResultsError(f"{path}: it has the version {version}, not {JUDGEMENT_VERSION}: {remedy}")
    # What pandas wrote of the index beside the columns is not needed, and may be anything.
    table: pd.DataFrame = content.replace_schema_metadata().to_pandas()
    stored = measures_of(content.schema).items()
    table.attrs[METRICS] = {name: measure.metadata for name, measure in stored if not name.endswith(("_low", "_high"))}
    return table, about


def per_run(evaluations: pd.DataFrame, measures: Mapping[str, Measure], ranking: Ranking | None = None) -> pd.DataFrame:
    """One row a run, its years together: a contender's training with a seed, or a baseline.

    Where two backends evaluated a run, CityLearn's numbers count. Columns are contender, algorithm (empty for baselines and
    bounds), seed (-1 for these), backend, `metrics` and `SHORTFALL`; with a ranking also `OBJECTIVE` and `GOAL`.
    """
    judged = preferred(evaluations).copy()
    judged["seed"] = judged["seed"].fillna(-1).astype("int64")
    judged["algorithm"] = judged["algorithm"].fillna("")
    # Rows of bounds lack the uncontrolled site, which is the same for all rows of a year.
    lacking = [SITE + name for name in _CHANGES if SITE + name in judged]
    judged[lacking] = judged[lacking].fillna(judged.groupby("year")[lacking].transform("first"))
    bounds = judged[judged["contender"] == bound_of(judged["contender"])].set_index("year")["score"]
    rows = []
    for (contender, seed), run in judged.groupby(["contender", "seed"], sort=False):
        short = sum(kept.shortfall(run) for kept in services(run))
        rows.append({"contender": contender, "seed": seed, **_values(run, bounds, measures), SHORTFALL: short})
        rows[-1] |= {name: run[name].iloc[0] for name in ("backend", "algorithm")}
        if ranking:
            years = [{str(name): value for name, value in year.items()} for year in run.to_dict("records")]
            rows[-1] |= dict(zip((OBJECTIVE, GOAL, SHORTFALL), ranking.rated(years), strict=True))
    of_ranking = [OBJECTIVE, GOAL] if ranking else []
    columns = ["contender", "algorithm", "seed", "backend", *metrics(measures), SHORTFALL, *of_ranking]
    return pd.DataFrame(rows, columns=columns)


def bound_of(contenders: Iterable[str]) -> str:
    """Which bound of the score a winner can be compared with."""
    return SERVED_BOUND if SERVED_BOUND in set(contenders) else BOUND


def preferred(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Of each run of a judgement the evaluations by the backend that counts, CityLearn where it judged."""
    judged = evaluations[evaluations["contender"].notna()]
    order = judged["backend"].map({name: place for place, name in enumerate(_PREFERRED)}).fillna(len(_PREFERRED))
    return judged[order == order.groupby([judged["contender"], judged["seed"].fillna(-1)]).transform("min")]


def _values(years: pd.DataFrame, bounds: pd.Series, measures: Mapping[str, Measure]) -> dict[str, float]:
    hours = years["hours"].to_numpy(float)
    limits = bounds.reindex(years["year"]).to_numpy(float)
    share = _ratio(float((years["score"] * hours).sum(skipna=False)), float((limits * hours).sum()))
    row = {SCORE.name: SCORE.value(years), _SHARE.name: share}
    for measure in _labelled(measures):
        row[measure.name] = measure.value(years)
        if change := _CHANGES.get(measure.name):
            row[change] = _ratio(row[measure.name], measure.value(years, SITE)) - 1.0
    served = VEHICLES_SERVED.measure
    return {**row, _SERVED.name: _ratio(served.value(years), served.value(years, SITE))}


def meets(shortfalls: np.ndarray) -> bool:
    """Whether a contender meets what is required, as interquartile mean over its runs."""
    from results.statistics import iqm

    return not iqm(shortfalls) > 0.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else float("nan")


def judgement(evaluations: pd.DataFrame, measures: Mapping[str, Measure], ranking: Ranking | None = None) -> pd.DataFrame:
    """The table: a row for each contender, baseline and bound, the best contender first.

    Columns are contender, algorithm, runs, backend, comparable, and of each of `metrics` the mean over runs with `..._low` and
    `..._high`, the ends of Student's 95 % interval over seeds, each by itself; empty with a single run. `comparable` is false
    for what misses something that a ranking requires; without one, `services`. With a ranking there are `OBJECTIVE`, its
    interval and `GOAL` too.
    """
    from results.statistics import known_mean

    runs = per_run(evaluations, measures, ranking)
    listed = metrics(measures)
    measured = [*listed, OBJECTIVE] if ranking else [*listed]
    rows = []
    for contender, group in runs.groupby("contender", sort=False):
        row: dict[str, object] = {
            "contender": contender, "algorithm": group["algorithm"].iloc[0], "runs": len(group),
            "backend": ", ".join(sorted(set(group["backend"]))),
        }  # fmt: skip
        for name in measured:
            whole = known_mean(group[name].to_numpy(float))
            row |= {name: whole.value, f"{name}_low": whole.low, f"{name}_high": whole.high}
        # Bounds lack most KPIs, and what has no score is another site: what these miss does not count.
        rated = contender not in BOUNDS and bool(group["score"].notna().any())
        row["comparable"] = not rated or meets(group[SHORTFALL].to_numpy(float))
        if ranking:
            row[GOAL] = float(group[GOAL].mean()) if rated and np.isfinite(group[GOAL]).all() else float("nan")
        rows.append(row)
    ends = [f"{name}{end}" for name in measured for end in ("", "_low", "_high")]
    of_ranking = [GOAL] if ranking else []
    table = pd.DataFrame(rows, columns=["contender", "algorithm", "runs", "backend", "comparable", *ends, *of_ranking])
    table.attrs[METRICS] = {name: measure.metadata for name, measure in listed.items()}
    kinds = [0 if row.algorithm else 2 if row.contender in BOUNDS else 1 for row in table.itertuples()]
    order = ["kind", "comparable", GOAL if ranking else "score"]
    table = table.assign(kind=kinds).sort_values(order, ascending=[True, False, False], ignore_index=True, na_position="last")
    return table.drop(columns="kind")


def scales(table: pd.DataFrame, measures: Mapping[str, Measure]) -> dict[str, Scale]:
    """How the amounts of a table are shown, by metric: in units of their size."""
    amounts = [name for name, measure in measures.items() if name == OBJECTIVE or not (name == SCORE.name or measure.is_share)]
    return {name: measures[name].scale(table[name]) for name in amounts}


def cells(row: pd.Series, measures: Mapping[str, Measure], scales: Mapping[str, Scale]) -> list[str]:
    """Cells of a row: its name, its runs and each metric."""
    name = str(row["contender"]) if row["comparable"] else f"{row['contender']} (not comparable)"
    both = (value_and_interval(row, measure, scales.get(metric)) for metric, measure in measures.items())
    shown = [f"{value} ({interval})" if interval else value for value, interval in both]
    return [name, str(row["runs"]) if row["algorithm"] else "", *shown]


def value_and_interval(row: pd.Series, measure: Measure, scale: Scale | None) -> tuple[str, str]:
    """Texts of a metric's value and of its interval, each empty where there is none."""
    value, low, high = (value_text(measure, float(row[f"{measure.name}{end}"]), scale) for end in ("", "_low", "_high"))
    return value, f"{low} to {high}" if low else ""


def value_text(measure: Measure, value: float, scale: Scale | None) -> str:
    """A value of a metric; empty where it is no number."""
    if value != value:
        return ""
    if measure.name == SCORE.name:
        return SCORE.shown(value)
    return scale.text(value) if scale else format(value, "+.2%" if measure.over == CHANGE else ".1%")


def headings(measures: Mapping[str, Measure], scales: Mapping[str, Scale]) -> list[str]:
    """Headings of `cells`."""
    named = [scales[name].heading(measure.label) if name in scales else measure.label for name, measure in measures.items()]
    return ["", "runs", *named]


def to_markdown(table: pd.DataFrame, ranking: Ranking | None = None) -> str:
    """The table in Markdown, with the objective behind the runs where it is not the score."""
    measures = metrics_of(table, ranking)
    sizes = scales(table, measures)
    named = headings(measures, sizes)
    if OBJECTIVE in measures:
        named[2] += f", {measures[OBJECTIVE].better} is better"
    return "\n".join(markdown_table(named, [cells(row, measures, sizes) for _, row in table.iterrows()])) + "\n"


def markdown_table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown, with what is no markup in its cells."""
    lines = [heading, ["---", *["---:"] * (len(heading) - 1)], *([markdown(text) for text in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def write_table(path: Path, table: pd.DataFrame, about: Mapping[str, str]) -> None:
    """Write the table as Parquet, with what its columns measure in the fields' metadata."""
    import pyarrow as pa

    content, told = pa.Table.from_pandas(table, preserve_index=False), table.attrs[METRICS]
    fields = []
    for field in content.schema:
        metric = field.name.removesuffix("_low").removesuffix("_high")
        fields.append(field.with_metadata(told.get(metric, {"unit": "", "meaning": ""})))
    metadata = {"table": "judgement", "schema_version": str(JUDGEMENT_VERSION), **about}
    write_parquet(path, content.cast(pa.schema(fields, metadata=metadata)))
