"""Remaining headroom of a site: what lies between the best controller without learning and the bound."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from rich.console import Console
from rich.table import Table

from common.errors import UsageError
from common.measure import LEAST_SERVED, SCORE, by_the_year
from envs.environments import fit
from envs.environments.year_cache import rooms_astray
from envs.objective.aim import SCORE_ALONE, Aim
from envs.objective.columns import measures
from envs.scenarios.doubts import doubts
from envs.scenarios.scenario import Window
from envs.task import SiteTask
from envs.yardsticks import baselines as yardsticks
from envs.yardsticks import mpc_runs
from envs.yardsticks.rows import Row as Years
from envs.yardsticks.rows import baseline_rows, bound_rows, bounded, mpc_rows
from results.judgement import BOUND, BOUNDS, EXACT_MPC, bound_of
from tuning.cli.console import Fitted, busy, cell, change, plain_table, say, terminal
from tuning.judging.report import check_scores
from tuning.judging.settings import HeadroomSettings, Mpc, methods

_BOUNDED = ("score", "co2_kg", "bill")  # objectives that have a bound
NEGLIGIBLE = 0.005  # part of the uncontrolled site's figure, or score


@dataclass(frozen=True)
class Row:
    """One way to run the site, over all its hours."""

    name: str
    score: float | None  # mean reward an hour; None where it has none, because it is another site
    co2_kg: float  # of a year
    cost: float  # of a year, energy and demand charge
    peak_kw: float | None  # highest import; None for the bound, which does not minimise it
    served: float | None  # part of the vehicles' energy; None without vehicles
    discomfort: float | None = None  # part of people's hours that is too warm or too cold; None where nobody feels it
    unmet: float | None = None  # degree hours of a year by which it is so
    objective: float | None = None  # value of what is aimed at; None where it has none
    misses: bool = False  # something that is required


@dataclass(frozen=True)
class Headroom:
    """Baselines, model predictive control and bounds of a site."""

    title: str  # site, split and hours
    rows: tuple[Row, ...]  # the uncontrolled site first, then baselines, then model predictive control, then bounds
    lines: tuple[str, ...]  # remaining headroom for each objective, in words; without a bound, the reason


def find_headroom(settings: HeadroomSettings, console: Console | None = None) -> Headroom:
    """Run all baselines and model predictive control of a site, compute its bounds, and print the tables.

    Raises:
        UserError: for a scenario that is not valid, or that `improvement` cannot rate.
        BoundError: if the solver finds no bound.
        MpcError: if the solver finds no plan of an hour.
        ValidityError: if a controller is physically impossible or above the bound.
    """
    console = console or terminal()
    settings.check()
    aim = Aim.parse(settings.weights, settings.objective, settings.require)
    task = SiteTask(settings.scenario, settings.trust_scenario, settings.splits, aim=aim)
    if aim.second:
        raise UsageError(f"--objective {settings.objective!r}: headroom takes one; its tables have CO2 and the bill anyway")
    task, site = task.judged, task.site
    task.check()
    windows = site.windows(settings.split)
    fit.check_stays(site, settings.split)
    fit.check_people(site, settings.split)
    slowly = " (by CityLearn, which takes a while)" if task.stepped_by == "citylearn" else ""
    with busy(console, f"{site.title}: uncontrolled, rules{slowly}"):
        years = baseline_rows(task, settings.split, windows)
    reason, unplanned = fit.why_no_bound(site), fit.why_no_mpc(site)
    if not unplanned:
        years += _mpc(task, settings.split, windows, settings.mpc, console)
    bounds = [] if reason else _bounds(task, settings.split, windows, console)
    if bounds:
        check_scores(pd.DataFrame([*years, *bounds]))
    rows = rows_of([*years, *bounds], aim)
    uncontrolled = next(row for row in rows if row.name == yardsticks.UNCONTROLLED)
    without = unplanned and methods(settings.mpc)
    missing, alone = (" and no model predictive control", "; rules are compared alone") if without else ("", "")
    unknown = f"no bound{missing}, so the remaining headroom is not known: {reason}{alone}"
    lines = remaining(rows, uncontrolled) if bounds else [unknown]
    if bounds and without:
        lines.append(f"no model predictive control: {unplanned}")
    if not bounds or aim.objective.name not in _BOUNDED:
        lines.append(best_of(rows, aim))
    if left_out := [row.name for row in rows if row.misses and row.score is not None]:
        lines.append(f"not counted, as they miss {aim.required(years)}: {', '.join(left_out)}")
    if site.schema:
        lines += [*doubts(site.schema), *rooms_astray(site, site.years(settings.split))]
    lines += aim.idle_lines(site)
    if aim.shown:
        lines = [f"aim: {aim.shown}", *lines]
    hours = sum(window.lasts for window in windows)
    title = by_the_year(f"{site.title}, {site.described(settings.split)}: {hours:,} hours")
    headroom = Headroom(title, tuple(rows), tuple(lines))
    for table in tables(headroom.title, rows, uncontrolled, aim.measured(task.columns), site.currency):
        console.print(Fitted(table))
        console.print()
    for line in lines:
        say(console, line)
    return headroom


def _mpc(task: SiteTask, split: str, windows: Sequence[Window], given: Sequence[Mpc], console: Console) -> list[Years]:
    rows, title = list[Years](), task.site.title
    for method in methods(given):
        name, begun = mpc_runs.NAMES[method], time.monotonic()
        with busy(console, f"{title}: {name}") as tell:

            def show(done: float, begun: float = begun, tell: Callable[[str], None] = tell) -> None:
                tell(f"{done:.0%}, {(time.monotonic() - begun) * (1.0 - done) / done:,.0f} s left")

            rows += mpc_rows(task, split, windows, method, show)
    return rows


def _bounds(task: SiteTask, split: str, windows: Sequence[Window], console: Console) -> list[Years]:
    rows = list[Years]()
    for objective in bounded(task.site):
        with busy(console, f"{task.site.title}: bound of {objective}"):
            rows += bound_rows(task, split, windows, (objective,))
    return rows


def rows_of(years: Sequence[Years], aim: Aim = SCORE_ALONE) -> list[Row]:
    """A row for each controller and bound, of its rows of `evaluations`, of which there is one a year."""
    by_contender = dict[str, list[Years]]()
    for row in years:
        by_contender.setdefault(row["contender"], []).append(row)
    return [row_of(name, rows, aim) for name, rows in by_contender.items()]


def row_of(name: str, years: Sequence[Years], aim: Aim = SCORE_ALONE) -> Row:
    """Rows of several years as one."""
    known = measures()
    co2, cost = (known[measure].value(years) for measure in ("co2_kg", "bill"))
    of_some = (SCORE, *(known[measure] for measure in ("peak_kw", "ev_served", "discomfort", "unmet_degree_hours")))
    values = (measure.value(years) for measure in of_some)
    score, peak, served, discomfort, unmet = (None if math.isnan(value) else value for value in values)
    is_aimed = name not in (yardsticks.WITHOUT, *BOUNDS)
    objective = aim.objective.value(years) if is_aimed else None
    misses = is_aimed and bool(aim.outcome(years).shortfall)
    return Row(name, score, co2, cost, peak, served, discomfort, unmet, objective, misses)


def best_of(rows: Sequence[Row], aim: Aim) -> str:
    """What the best controller without learning reaches of an objective that has no bound, in one line."""
    rivals = [row for row in _others(rows) if row.objective is not None and not math.isnan(row.objective)]
    if not rivals:
        return f"{aim.objective.name}: no controller without learning meets what is required, and there is no bound of it"
    sign = -1.0 if aim.objective.better == "less" else 1.0
    best = max(rivals, key=lambda row: sign * (row.objective or 0.0))
    reached = aim.objective.shown(best.objective or 0.0)
    return (
        f"{aim.objective.name}: the best controller without learning reaches {reached} ({best.name}); there is no bound of it"
    )


def _others(rows: Sequence[Row]) -> list[Row]:
    """Controllers without learning that serve the vehicles and meet what is required."""
    return [row for row in rows if row.name not in (*BOUNDS, EXACT_MPC) and row.score is not None and not row.misses]


def remaining(rows: Sequence[Row], uncontrolled: Row) -> list[str]:
    """Remaining headroom, a line for each objective: from the best controller without learning to the bound.

    That controller is the uncontrolled site, a rule, one of CityLearn's, or model predictive control with forecasts, if it
    serves the vehicles and misses no requirement. With the exact future it is a mark on the way to the bound.
    """
    others = _others(rows)
    if not others:
        return ["no controller without learning meets what is required, so the remaining headroom is not known"]
    lines = []
    for objective, label in (("score", "score"), ("co2_kg", "CO2"), ("cost", "bill")):
        name = bound_of(row.name for row in rows) if objective == "score" else f"bound of {objective.removesuffix('_kg')}"
        limit = next((row for row in rows if row.name == name), None)
        if limit is None:
            continue
        if objective == "score":
            best = max(others, key=lambda row: row.score or 0.0)
            reached, most = best.score or 0.0, limit.score or 0.0
            gap, texts = most - reached, (f"{reached:+z.4f}", f"{most:+z.4f}")
        else:
            best = min(others, key=lambda row: getattr(row, objective))
            reached, most, base = (getattr(row, objective) for row in (best, limit, uncontrolled))
            if base <= 0.0:
                continue
            gap, texts = (reached - most) / base, (f"{reached / base - 1.0:+z.1%}", f"{most / base - 1.0:+z.1%}")
        # The bounds of amounts leave no vehicle without what it can be given.
        served = f"{LEAST_SERVED:.0%} of the vehicle energy" if objective == "score" else "every vehicle"
        serving = "" if name == BOUND or not uncontrolled.served else f" that serves {served}"
        share = (
            f"the best controller without learning reaches {texts[0]} ({best.name}), no policy{serving} more than {texts[1]}"
        )
        if limit.served is not None and uncontrolled.served and limit.served < LEAST_SERVED * uncontrolled.served:
            share += f", which serves {limit.served:.1%} of the vehicle energy"
        amount = f"{gap:+z.4f}" if objective == "score" else f"{gap:.1%} of the uncontrolled site's"
        lines.append(f"{label}: {share}; remaining headroom: {amount if gap > NEGLIGIBLE else 'negligible'}")
    return lines


def tables(
    title: str, rows: Sequence[Row], uncontrolled: Row, aim: Aim = SCORE_ALONE, currency: str = ""
) -> tuple[Table, Table]:
    """Two tables for a terminal of 80 columns: ratings, and changes from the uncontrolled site; without what no row has."""
    ratings = [("score", [cell(row.score, "+z.4f") for row in rows])]
    if not aim.is_score:
        ratings.append(aim.objective.column([row.objective for row in rows]))
    if aim.requirements:
        ratings.append(("required", [_required(row) for row in rows]))
    ratings += [(name, [cell(getattr(row, name), ".1%") for row in rows]) for name in ("served", "discomfort")]
    amounts, known = list[tuple[str, list[str]]](), measures()
    for name, kpi in (("co2_kg", "co2_kg"), ("cost", "bill"), ("peak_kw", "peak_kw"), ("unmet", "unmet_degree_hours")):
        values = [getattr(row, name) for row in rows]
        if not any(values):
            continue
        amounts.append(known[kpi].paid_in(currency).column(values))
        if kpi in _BOUNDED:
            amounts.append(("change", [change(value, getattr(uncontrolled, name)) for value in values]))
    return _table(title, rows, ratings), _table(None, rows, amounts)


def _required(row: Row) -> str:
    if row.score is None or row.name in BOUNDS:
        return ""
    return "missed" if row.misses else "met"


def _table(title: str | None, rows: Sequence[Row], columns: Sequence[tuple[str, list[str]]]) -> Table:
    shown = [(heading, cells) for heading, cells in columns if any(cells)]
    table = plain_table(title, ("", *(heading for heading, _ in shown)))
    for place, row in enumerate(rows):
        table.add_row(row.name, *(cells[place] for _, cells in shown))
    return table
