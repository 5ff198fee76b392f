"""What is left for learning on a site, before anyone spends an hour on it: `python -m tuning.headroom --scenario iquitos`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from results.judgement import BOUNDS, LEAST_SERVED
from tuning.cli.command import command

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from envs.objective.evaluate import Evaluation
    from envs.scenarios.scenario import Scenario, Window
    from envs.yardsticks.bound import Bound, Objective

LITTLE = 0.005  # of the uncontrolled site: what is left below this is called nothing
MANY = 100_000.0  # kilogrammes, or money: from here on thousands are shown


@dataclass(frozen=True)
class Question:
    """What the uncontrolled site, rules and a bound with perfect foresight give, and so what is left for learning."""

    scenario: str = "iquitos"
    """Site: iquitos, iquitos-38, or the path of a CityLearn schema.json."""
    split: Literal["train", "validation", "test"] = "validation"
    """Whose years or weeks are looked at."""


@dataclass(frozen=True)
class Row:
    """One way to run the site, over all its hours.

    Attributes:
        name: of it.
        score: mean reward an hour; None where it has none, as it is another site.
        co2_kg, cost: sums.
        peak_kw: highest import; None for the bound, which does not minimise it.
        served: part of the vehicles' energy; None without vehicles.
    """

    name: str
    score: float | None
    co2_kg: float
    cost: float
    peak_kw: float | None
    served: float | None


def main(arguments: list[str] | None = None) -> int:
    """Print the table.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0; 1 if a result cannot be, which an internal check found; 2 for a command that cannot be carried out.
    """
    return command(Question, arguments, "python -m tuning.headroom", _answer)


def _answer(question: Question) -> int:
    from rich.console import Console

    from envs.objective.reward import check_reward
    from envs.scenarios.scenario import scenario

    site = scenario(question.scenario)
    check_reward(site, "improvement")
    _show(site, question.split, Console())
    return 0


def _show(site: Scenario, split: Literal["train", "validation", "test"], console: Console) -> None:
    """Print the table of baselines, and with it the bounds and what is left, if the site has bounds.

    Raises:
        BoundError: if a bound is not found.
        ValidityError: if a baseline cannot be, or is above the bound.
    """
    from envs.environments.backend import choose_backend
    from envs.yardsticks.baselines import UNCONTROLLED, baselines
    from envs.yardsticks.bound import OBJECTIVES, bound, why_no_bound

    windows, backend = site.windows(split), choose_backend(site, "auto")
    slowly = " (by CityLearn, which takes a while)" if backend == "citylearn" else ""
    with console.status(f"{site.title}: uncontrolled, rules{slowly}"):
        found = baselines(site, windows, backend=backend)
    rows = [row_of(name, evaluations) for name, evaluations in found.items()]
    before = next(row for row in rows if row.name == UNCONTROLLED)
    reason = why_no_bound(site)
    bounds: dict[Objective, list[Bound]] = {}
    for objective in () if reason else OBJECTIVES:
        with console.status(f"{site.title}: bound of {objective}, once"):
            bounds[objective] = [bound(site, window, objective) for window in windows]
    if bounds:
        check_baselines(found, bounds["score"], windows)
    rows += [bound_row(f"bound of {name}", own, windows) for name, own in bounds.items()]
    hours = sum(window.hours for window in windows)
    for table in tables(f"{site.title}, {split}: {hours:,} hours", rows, before):
        console.print(table)
    for line in left(rows, before) if bounds else [f"no bound, so what is left for learning is not known: {reason}"]:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def check_baselines(found: Mapping[str, Sequence[Evaluation]], bounds: Sequence[Bound], windows: Sequence[Window]) -> None:
    """Check that no baseline is above the bound of the score in a year.

    Args:
        found: evaluations of each baseline, one a year; what has no score is passed over.
        bounds: of the score, one a window.
        windows: hours, of one or several years.

    Raises:
        ValidityError: at the first that is.
    """
    import math

    from envs.objective.validity import check_score

    limits = {}
    for year in {window.year for window in windows}:
        own = [number for number, window in enumerate(windows) if window.year == year]
        limits[year] = bound_score([bounds[number] for number in own], [windows[number] for number in own])
    for name, evaluations in found.items():
        for evaluation in evaluations:
            if not math.isnan(evaluation.score):
                check_score(name, evaluation.year, evaluation.score, limits[evaluation.year])


def row_of(name: str, evaluations: Sequence[Evaluation]) -> Row:
    """Evaluations of several years as one row."""
    import math

    from envs.objective.evaluate import score

    own = [evaluation.kpis for evaluation in evaluations]
    total, required = score(list(evaluations)), sum(kpis["ev_required_kwh"] for kpis in own)
    return Row(
        name,
        None if math.isnan(total) else total,
        sum(kpis["co2_kg"] for kpis in own),
        sum(kpis["bill"] for kpis in own),
        max(kpis["peak_kw"] for kpis in own),
        1.0 - sum(kpis["ev_missing_kwh"] for kpis in own) / required if required > 0.0 else None,
    )


def bound_row(name: str, bounds: Sequence[Bound], windows: Sequence[Window]) -> Row:
    """Bounds of several windows as one row."""
    score = bound_score(bounds, windows)
    return Row(name, score, sum(own.co2_kg for own in bounds), sum(own.cost for own in bounds), None, None)


def bound_score(bounds: Sequence[Bound], windows: Sequence[Window]) -> float:
    """Mean reward an hour over several windows, one bound each."""
    total = sum(own.score * window.hours for own, window in zip(bounds, windows, strict=True))
    return total / sum(window.hours for window in windows)


def left(rows: Sequence[Row], before: Row) -> list[str]:
    """What is between the best that does not learn and the bound, a line for each objective.

    That is the uncontrolled site, a rule or one of CityLearn's controllers, if it serves the vehicles.

    Args:
        rows: of all of these, of what else there is, and of the bounds.
        before: of the uncontrolled site, one of `rows`.
    """
    others = [row for row in rows if row.name not in BOUNDS and row.score is not None and _serves(row, before)]
    lines = []
    for objective, label in (("score", "score"), ("co2_kg", "CO2"), ("cost", "bill")):
        limit = next(row for row in rows if row.name == f"bound of {objective.removesuffix('_kg')}")
        if objective == "score":
            best = max(others, key=lambda row: row.score or 0.0)
            own, most = best.score or 0.0, limit.score or 0.0
            gap, texts = most - own, (f"{own:+.4f}", f"{most:+.4f}")
        else:
            best = min(others, key=lambda row: getattr(row, objective))
            own, most, base = (getattr(row, objective) for row in (best, limit, before))
            if base <= 0.0:
                continue
            gap, texts = (own - most) / base, (f"{own / base - 1.0:+.1%}", f"{most / base - 1.0:+.1%}")
        share = f"the best without learning gives {texts[0]} ({best.name}), no policy more than {texts[1]}"
        amount = f"{gap:+.4f}" if objective == "score" else f"{gap:.1%} of the uncontrolled site's"
        lines.append(f"{label}: {share}; left for learning: {amount if gap > LITTLE else 'nothing worth the while'}")
    return lines


def _serves(row: Row, before: Row) -> bool:
    """Whether vehicles get what they get on the uncontrolled site, but for a little: else what is saved was not delivered."""
    return row.served is None or before.served is None or row.served >= LEAST_SERVED * before.served


def tables(title: str, rows: Sequence[Row], before: Row) -> tuple[Table, Table]:
    """The rows for a terminal of 80 columns: how good, and what the site does, against the uncontrolled one."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    good, does = (
        Table(title=text, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for text in (title, None)
    )
    co2, cost = (1e-3 if max(getattr(row, name) for row in rows) >= MANY else 1.0 for name in ("co2_kg", "cost"))
    units = "CO2, kg" if co2 == 1.0 else "CO2, t", "bill" if cost == 1.0 else "bill, 1000"
    for table, names in ((good, ("score", "served")), (does, (units[0], "change", units[1], "change", "peak, kW"))):
        table.add_column("", overflow="fold")
        for name in names:
            table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        good.add_row(row.name, _cell(row.score, "+.4f"), _cell(row.served, ".1%"))
        does.add_row(
            row.name, f"{row.co2_kg * co2:,.1f}", _change(row.co2_kg, before.co2_kg),
            f"{row.cost * cost:,.1f}", _change(row.cost, before.cost), _cell(row.peak_kw, ",.0f"),
        )  # fmt: skip
    return good, does


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _change(value: float, before: float) -> str:
    return f"{value / before - 1.0:+.1%}" if before else ""


if __name__ == "__main__":
    sys.exit(main())
