"""Table of contenders, baselines and bounds, with intervals, on years that no training or selection used.

from results.judgement import judgement
judgement(load("judgements/iquitos-1").evaluations)   # pandas DataFrame, a row for each contender, baseline and bound
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.amounts import Scale
from common.files import write_whole
from common.texts import markdown
from common.units import YEAR

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

JUDGEMENT_VERSION = 2
# What a table holds of each metric, by its version. A bootstrap of few runs is too narrow.
STATISTICS = {
    1: "interquartile mean over the runs with its 95 % bootstrap interval",
    2: "mean over the runs with Student's 95 % interval over seeds",
}
STATISTIC = "statistic"  # attribute of a table: one of these
BOUND = "bound of score"  # name of the rows with the bound of the score
BOUNDS = (BOUND, "bound of co2", "bound of cost")
EXACT_MPC = "MPC: exact future"  # on the way to the bound, and no rival: no controller knows the future
LEAST_SERVED = 0.95  # of the vehicle energy that can be served; below it, savings come from energy that was not delivered
PREFERRED = ("citylearn", "batch")  # the first one that evaluated a run counts: CityLearn is the reference
# The test hours of a scenario with one year are a fifth of it.
_A_YEAR = f"all hours that were judged scaled to a year of {YEAR:,}"
# name: (unit, label, format, meaning).
METRICS: Mapping[str, tuple[str, str, str, str]] = {
    "score": ("1", "score", "+.4f", "mean reward an hour; 0 is the uncontrolled site"),
    "bound_share": ("1", "of bound", ".1%", "score over that of perfect foresight"),
    "import_kwh": ("kWh", "import", ",.0f", f"drawn from the grid, {_A_YEAR}"),
    "co2_kg": ("kg", "CO2", ",.0f", f"emission of the import, {_A_YEAR}"),
    "co2_change": ("1", "CO2", "+.2%", "against the uncontrolled site"),
    "bill": ("currency", "bill", ",.0f", f"energy and demand charge, {_A_YEAR}"),
    "bill_change": ("1", "bill", "+.2%", "against the uncontrolled site"),
    "peak_kw": ("kW", "peak", ",.0f", "highest import of all hours that were judged"),
    "self_consumption": ("1", "PV used", ".1%", "part of the PV energy used on site"),
    "served": ("1", "vehicles", ".1%", "vehicle energy served, of what charging at full power from arrival serves"),
}
_SUMS = (
    "hours", "import_kwh", "co2_kg", "bill", "pv_kwh", "ev_required_kwh", "ev_missing_kwh", "uncontrolled_co2_kg",
    "uncontrolled_bill", "uncontrolled_ev_missing_kwh",
)  # fmt: skip
_BEFORE = ("uncontrolled_co2_kg", "uncontrolled_bill")  # with which changes are compared


OBJECTIVE, GOAL, SHORTFALL = "objective", "goal", "shortfall"  # columns of a ranking


@dataclass(frozen=True)
class Ranking:
    """By what contenders are ranked, where that is not the score alone.

    Attributes:
        better: whether less or more of the objective is better; empty where that is the score.
        fitted: of all its values the heading of their column, and how it shows one.
        rated: of the evaluations of a run, a row a year: the objective's value, the same turned so that more is better, and by
            how much requirements are missed.
        requirements: in words; empty for none.
    """

    better: str
    fitted: Callable[[Iterable[float | None]], tuple[str, Callable[[float], str]]]
    rated: Callable[[Sequence[Mapping[str, Any]]], tuple[float, float, float]]
    requirements: str


def per_run(evaluations: pd.DataFrame, ranking: Ranking | None = None) -> pd.DataFrame:
    """One row a run, its years together: a contender's training with a seed, or a baseline.

    Args:
        evaluations: of a judgement; see `results.schema`. If two backends evaluated a run, CityLearn's numbers count.
        ranking: by what else than the score contenders are ranked.

    Returns:
        Columns contender, algorithm (empty for baselines and bounds), seed (-1 for these), backend, and `METRICS`; with a
        ranking also `OBJECTIVE`, `GOAL` and `SHORTFALL`.
    """
    import pandas as pd

    judged = evaluations[evaluations["contender"].notna()].copy()
    judged["seed"] = judged["seed"].fillna(-1).astype("int64")
    judged["algorithm"] = judged["algorithm"].fillna("")
    # Rows of bounds lack the uncontrolled site, which is the same for all rows of a year.
    before = judged.groupby("year")[list(_BEFORE)].first()
    for name in _BEFORE:
        judged[name] = judged[name].fillna(judged["year"].map(before[name]))
    bounds = judged[judged["contender"] == BOUND].set_index("year")["score"]
    rows = []
    for (contender, seed), own in judged.groupby(["contender", "seed"], sort=False):
        backend = next(name for name in PREFERRED if (own["backend"] == name).any())
        own = own[own["backend"] == backend]
        rows.append({"contender": contender, "seed": seed, "backend": backend, **_metrics(own, bounds)})
        rows[-1]["algorithm"] = own["algorithm"].iloc[0]
        if ranking:
            years = [{str(name): value for name, value in year.items()} for year in own.to_dict("records")]
            rows[-1] |= dict(zip((OBJECTIVE, GOAL, SHORTFALL), ranking.rated(years), strict=True))
    of_ranking = [OBJECTIVE, GOAL, SHORTFALL] if ranking else []
    return pd.DataFrame(rows, columns=["contender", "algorithm", "seed", "backend", *METRICS, *of_ranking])


def _metrics(years: pd.DataFrame, bounds: pd.Series) -> dict[str, float]:
    """`METRICS` of a run.

    Args:
        years: its evaluations, a row a year.
        bounds: of the score, by year.
    """
    import numpy as np

    total = {name: float(years[name].sum(min_count=1)) for name in _SUMS}
    hours = years["hours"].to_numpy(float)
    limits = bounds.reindex(years["year"]).to_numpy(float)
    used = float((years["self_consumption"] * years["pv_kwh"]).sum(min_count=1))
    return {
        "score": float(np.average(years["score"], weights=hours)),
        "bound_share": _ratio(float((years["score"] * hours).sum(skipna=False)), float((limits * hours).sum())),
        **{name: total[name] / (total["hours"] / YEAR) for name in ("import_kwh", "co2_kg", "bill")},
        "co2_change": _ratio(total["co2_kg"], total["uncontrolled_co2_kg"]) - 1.0,
        "bill_change": _ratio(total["bill"], total["uncontrolled_bill"]) - 1.0,
        "peak_kw": float(years["peak_kw"].max()),
        "self_consumption": _ratio(used, total["pv_kwh"]),
        "served": served(total["ev_required_kwh"], total["ev_missing_kwh"], total["uncontrolled_ev_missing_kwh"]),
    }


def served(required_kwh: float, missing_kwh: float, uncontrolled_missing_kwh: float) -> float:
    """Vehicle energy served, as a part of what charging at full power from arrival serves; NaN if that is none.

    Args:
        required_kwh: by departing vehicles.
        missing_kwh: of it not delivered.
        uncontrolled_missing_kwh: of it not delivered by the uncontrolled site.
    """
    return _ratio(required_kwh - missing_kwh, required_kwh - uncontrolled_missing_kwh)


def serves(shares: np.ndarray) -> bool:
    """Whether a contender serves its vehicles: `LEAST_SERVED` or more, as interquartile mean. True without vehicles.

    Args:
        shares: of `served`, one a run, shape (runs,).
    """
    import numpy as np

    from results.statistics import iqm

    return not (np.isfinite(shares).all() and iqm(shares) < LEAST_SERVED)


def meets(shortfalls: np.ndarray) -> bool:
    """Whether a contender meets the requirements, as interquartile mean over its runs.

    Args:
        shortfalls: by how much each run misses them, 0 where it does not, shape (runs,).
    """
    from results.statistics import iqm

    return not iqm(shortfalls) > 0.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else float("nan")


def judgement(evaluations: pd.DataFrame, ranking: Ranking | None = None) -> pd.DataFrame:
    """The table: a row for each contender, baseline and bound, the best contender first.

    Args:
        evaluations: of a judgement.
        ranking: see `per_run`.

    Returns:
        Columns contender, algorithm, runs, backend, comparable, and of each of `METRICS` the mean over runs. The ends of
        Student's 95 % interval are `..._low` and `..._high`, empty with a single run. It is over seeds, for the years that were
        judged, and of this number by itself. `comparable` is false below `LEAST_SERVED`. With a ranking there are `OBJECTIVE`,
        its interval, `GOAL` and `meets` too; a contender that misses requirements is not comparable.
    """
    import numpy as np
    import pandas as pd

    from results.statistics import mean

    runs = per_run(evaluations, ranking)
    measured = [*METRICS, OBJECTIVE] if ranking else [*METRICS]
    rows = []
    for contender, own in runs.groupby("contender", sort=False):
        row: dict[str, object] = {
            "contender": contender, "algorithm": own["algorithm"].iloc[0], "runs": len(own),
            "backend": ", ".join(sorted(set(own["backend"]))),
        }  # fmt: skip
        for name in measured:
            values = own[name].to_numpy(float)
            known = bool(np.isfinite(values).all())
            row[name] = float(values.mean()) if known else float("nan")
            interval = mean(values) if known and len(values) > 1 else None
            row[f"{name}_low"], row[f"{name}_high"] = (interval.low, interval.high) if interval else (float("nan"),) * 2
        row["comparable"] = serves(own["served"].to_numpy(float))
        if ranking:
            # Bounds say nothing of most KPIs, and what has no score is another site: neither is measured by what it misses.
            rated = contender not in BOUNDS and bool(own["score"].notna().any())
            row["meets"] = not rated or meets(own[SHORTFALL].to_numpy(float))
            row["comparable"] = row["comparable"] and row["meets"]
            row[GOAL] = float(own[GOAL].mean()) if rated and np.isfinite(own[GOAL]).all() else float("nan")
        rows.append(row)
    ends = [f"{name}{end}" for name in measured for end in ("", "_low", "_high")]
    of_ranking = [GOAL, "meets"] if ranking else []
    table = pd.DataFrame(rows, columns=["contender", "algorithm", "runs", "backend", "comparable", *ends, *of_ranking])
    table.attrs[STATISTIC] = STATISTICS[JUDGEMENT_VERSION]
    table["_kind"] = [0 if row.algorithm else 2 if row.contender in BOUNDS else 1 for row in table.itertuples()]
    order = ["_kind", "comparable", GOAL if ranking else "score"]
    return table.sort_values(order, ascending=[True, False, False], ignore_index=True, na_position="last").drop(columns="_kind")


def objective_cells(table: pd.DataFrame, ranking: Ranking | None) -> tuple[str, list[str]] | None:
    """Heading and cells of the objective, with intervals where there are any; None where that is the score."""
    import pandas as pd

    if ranking is None or not ranking.better:
        return None
    heading, shown = ranking.fitted(table[OBJECTIVE].tolist())
    cells = []
    for _, row in table.iterrows():
        value, low, high = (row[f"{OBJECTIVE}{end}"] for end in ("", "_low", "_high"))
        text = "" if pd.isna(value) else shown(value)
        cells.append(text if pd.isna(low) else f"{text} ({shown(low)} to {shown(high)})")
    return heading, cells


def scales(table: pd.DataFrame) -> dict[str, Scale]:
    """How the amounts of a table are shown, by metric: in units of their size."""
    units = {"kWh": "kWh", "kg": "kg", "kW": "kW", "currency": ""}
    return {name: Scale.of(table[name], units[unit]) for name, (unit, *_) in METRICS.items() if unit in units}


def cells(row: pd.Series, scales: Mapping[str, Scale]) -> list[str]:
    """Cells of a row: its name, its runs and each of `METRICS`.

    Args:
        row: of the table.
        scales: of the table.
    """
    name = str(row["contender"]) if row["comparable"] else f"{row['contender']} (not comparable)"
    return [name, str(row["runs"]) if row["algorithm"] else "", *(cell(row, metric, scales.get(metric)) for metric in METRICS)]


def cell(row: pd.Series, metric: str, scale: Scale | None = None) -> str:
    """Cell of one of `METRICS`, with its interval if it has one; empty without a value.

    Args:
        row: of the table.
        metric: one of `METRICS`.
        scale: of its column; None for what is no amount.
    """
    import pandas as pd

    def shown(value: float) -> str:
        return scale.text(value) if scale else format(value, METRICS[metric][2])

    value, low, high = (row[f"{metric}{end}"] for end in ("", "_low", "_high"))
    text = "" if pd.isna(value) else shown(value)
    return text if pd.isna(low) else f"{text} ({shown(low)} to {shown(high)})"


def headings(scales: Mapping[str, Scale]) -> list[str]:
    """Headings of `cells`."""
    labels = {name: label for name, (_, label, _, _) in METRICS.items()}
    return ["", "runs", *(scales[name].heading(label) if name in scales else label for name, label in labels.items())]


def to_markdown(table: pd.DataFrame, ranking: Ranking | None = None) -> str:
    """The table in Markdown, with the objective behind the runs where it is not the score."""
    of_objective = objective_cells(table, ranking)
    heading = [f"{of_objective[0]}, {ranking.better} is better"] if ranking and of_objective else []
    sizes = scales(table)
    named = headings(sizes)
    first, rest = named[:2], named[2:]
    lines = [[*first, *heading, *rest], ["---", *["---:"] * (len(METRICS) + len(heading) + 1)]]
    for place, (_, row) in enumerate(table.iterrows()):
        own = cells(row, sizes)
        objective = [of_objective[1][place]] if of_objective else []
        lines.append([markdown(text) for text in (*own[:2], *objective, *own[2:])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def write_table(path: Path, table: pd.DataFrame, about: Mapping[str, str]) -> None:
    """Write the table as Parquet, with units and meanings in the fields' metadata.

    Args:
        path: of the file.
        table: of `judgement`.
        about: facts for the file's metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = pa.Table.from_pandas(table, preserve_index=False)
    fields = []
    for field in content.schema:
        metric = field.name.removesuffix("_low").removesuffix("_high")
        unit, _, _, meaning = METRICS.get(metric, ("", "", "", ""))
        fields.append(field.with_metadata({"unit": unit, "meaning": meaning}))
    metadata = {"table": "judgement", "schema_version": str(JUDGEMENT_VERSION), **about}
    content = content.cast(pa.schema(fields, metadata=metadata))
    write_whole(path, lambda file: pq.write_table(content, file, write_page_checksum=True))
