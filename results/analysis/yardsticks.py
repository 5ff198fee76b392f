"""Where the best policies of a search stand between no control and perfect foresight, on the hours that rated them."""

from collections.abc import Mapping, Sequence

import pandas as pd

from common.measure import LEAST_SERVED, SCORE, SERVED_BOUND, Measure, Sign, exceeds, services, shortfall
from results.analysis.judged import BOUND, MPC, NO_CONTROL, RULE, UNCONTROLLED, UNNOTICED, kind_of
from results.analysis.searched import aims, frame
from results.judgement import BOUND as OF_SCORE
from results.judgement import EXACT_MPC, bound_of
from results.loader import Results, ranked
from results.schema import GIVEN

TRIAL, PLAN = "trial", "plan"
ADDS = 5e-5  # least gain of the score that shows in its four digits


def has_plan(trial: pd.Series) -> bool:
    """Whether a trial's policy acts beside a plan of model predictive control."""
    plan = trial.get(f"{GIVEN}plan")
    return isinstance(plan, str) and plan != "none"


def best_alone(results: Results) -> pd.Series | None:
    """Row of the best trial whose policy needs nothing but its network; None where none has ended."""
    scored = results.scored
    alone = scored[[not has_plan(row) for _, row in scored.iterrows()]] if len(scored) else scored
    return None if alone.empty else ranked(alone).iloc[0]


def beside_yardsticks(results: Results, objectives: Sequence[Measure] = ()) -> pd.DataFrame:
    """The site without control, the best rule, model predictive control, the best trials and the bound, by score.

    Returns:
        `name`, `kind` (as of `kind_of`, `trial`, or `plan` for a plan alone), `score`, `misses` (of controllers, whether they
        miss what a winner has to meet), a column for each objective by its name,
        `served` (part of the vehicle energy), `discomfort` (part of people's hours), and `of_bound`, the score over the
        bound's; empty for what serves less than the bound does. What is not in the results is left out; without yardsticks
        nothing is in it.
    """
    rows, measures = list[dict[str, object]](), results.measures
    services_of = {"served": "ev_served", "discomfort": "discomfort"}
    shown = {column: measures.get(name, Measure(name)) for column, name in services_of.items()}
    shown |= {objective.name: objective for objective in objectives}
    limit_name = bound_of(results.yardsticks["contender"])
    stated = [str(each) for each in results.facts.settings.get("require") or ()]
    for contender, years in results.yardsticks.groupby("contender", sort=False):
        kind = kind_of(str(contender), None)
        short = kind in (RULE, MPC) and _misses(years, measures, stated)
        if (short and kind == RULE) or contender in NO_CONTROL[1:] or (kind == BOUND and contender != limit_name):
            continue
        rows.append({"name": contender, "kind": kind, "score": SCORE.value(years), "misses": short, **_each(shown, years)})
    columns = " ".join(["name kind score misses", *shown, "of_bound"])
    if not rows or results.scored.empty:
        return frame([], columns)
    without = _without(frame(rows, columns))
    best_rule = max((row for row in rows if row["kind"] == RULE), key=lambda row: row["score"], default=None)  # type: ignore[arg-type, return-value]
    rows = [row for row in rows if row["kind"] != RULE or row is best_rule]
    best, alone = results.best, best_alone(results)
    for trial, words in ((best, ""), (alone, ", the best that acts alone")):
        if trial is None or (words and trial["trial"] == best["trial"]):
            continue
        years, name = _on_same(results, trial["trial"]), f"trial {trial['trial']}{words}"
        rows.append({"name": name, "kind": TRIAL, "score": SCORE.value(years), "misses": False, **_each(shown, years)})
    if has_plan(best) and best["plan_score"] == best["plan_score"]:
        rows.append(
            {"name": f"plan of trial {best['trial']} alone", "kind": PLAN, "score": best["plan_score"], "misses": False}
        )
    limit = next((row["score"] for row in rows if row["kind"] == BOUND), float("nan"))
    table = frame(rows, columns)
    table["of_bound"] = table["score"] / limit if limit > 0.0 else float("nan")  # type: ignore[operator]
    if limit_name == SERVED_BOUND:
        # This bound is that of controllers which serve vehicles so much; it does not hold for others.
        table.loc[table["served"] < LEAST_SERVED * without - UNNOTICED, "of_bound"] = float("nan")
    return table.sort_values("score", kind="stable", ignore_index=True)


def _on_same(results: Results, trial: int) -> pd.DataFrame:
    """What rates a trial, without the further episodes or weeks that no other controller has run through."""
    rated = results.rated_evaluations
    return rated[(rated["trial"] == trial) & rated["further"].isna()]


def _misses(rows: pd.DataFrame, measures: Mapping[str, Measure], stated: Sequence[str]) -> bool:
    """Whether a controller misses what a site does for people, or what is stated, as settings have it: NAME>=NUMBER."""
    names = list[str]()
    for text in stated:
        sign: Sign = ">=" if ">=" in text else "<="
        name, _, bound = text.partition(sign)
        names.append(name)
        if shortfall(measures.get(name, Measure(name)).value(rows), sign, float(bound)):
            return True
    return any(kept.shortfall(rows) for kept in services(rows, names))


def better_controller(results: Results) -> tuple[str, str] | None:
    """A controller without learning that is better than the best trial in all that is aimed at, and misses nothing, or None.

    Its name, and what it reaches. Where the trial misses something, any other that does not is better.
    """
    known = {name: SCORE if name == SCORE.name else results.measures.get(name) for name in aims(results.facts)}
    measures = {name: measure for name, measure in known.items() if measure}
    table = beside_yardsticks(results, [measure for measure in measures.values() if measure != SCORE])
    winner = table[table["name"] == f"trial {results.best['trial']}"]
    if len(measures) < len(known) or winner.empty:
        return None
    signs = [-1.0 if measure.better == "less" else 1.0 for measure in measures.values()]
    gains = (table[[*measures]].astype(float) - winner[[*measures]].to_numpy(float)) * signs
    is_better = (gains > (ADDS if SCORE.name in measures else 0.0)).all(axis=1) | (results.best["shortfall"] > 0.0)
    may_win = table["kind"].isin((MPC, RULE)) & (table["name"] != EXACT_MPC) & ~table["misses"].astype(bool)
    if not (is_better & may_win).any():
        return None
    rival = table.loc[gains[is_better & may_win].iloc[:, 0].idxmax()]
    reached = ", ".join(f"{name} {measure.shown(rival[name])}" for name, measure in measures.items())
    return str(rival["name"]), reached


def _each(measures: Mapping[str, Measure], rows: pd.DataFrame) -> dict[str, float]:
    return {column: measure.value(rows) for column, measure in measures.items()}


def _without(table: pd.DataFrame) -> float:
    """Part of the vehicle energy that the uncontrolled site serves; NaN where that is not known."""
    served = table.loc[table["kind"] == UNCONTROLLED, "served"]
    return float(served.iloc[0]) if len(served) else float("nan")


def yardstick_lines(results: Results) -> list[str]:
    """What the table says, in sentences: what learning added to a plan, and how much of what is possible was reached."""
    if results.scored.empty:
        return []
    best, table, lines = results.best, beside_yardsticks(results), list[str]()
    number = best["trial"]
    value = SCORE.value(_on_same(results, number))
    # A row that was written again after a loss does not say what its plan scores.
    if has_plan(best) and best["plan_score"] == best["plan_score"]:
        added = value - float(best["plan_score"])
        adds = f"adds {SCORE.shown(added)}" if added > ADDS else "adds nothing" if added > -ADDS else f"loses {-added:.4f}"
        lines.append(
            f"Trial {number} acts beside a plan of model predictive control, which alone scores "
            f"{SCORE.shown(best['plan_score'])}; what its policy learned {adds}."
        )
    if has_plan(best):
        alone = best_alone(results)
        told = "none has ended"
        if alone is not None:
            told = f"trial {alone['trial']}, score {SCORE.shown(SCORE.value(_on_same(results, alone['trial'])))}"
        lines.append(f"Best that acts alone, and needs nothing but its network: {told}.")
    limit = table[table["kind"] == BOUND]
    if len(limit) and limit["score"].iloc[0] > 0.0:
        most, served = float(limit["score"].iloc[0]), float(limit["served"].iloc[0])
        robs = f", which serves {served:.1%} of the vehicle energy" if served < LEAST_SERVED * _without(table) else ""
        of_all = SCORE.value(results.yardsticks[results.yardsticks["contender"] == OF_SCORE])
        if exceeds(value, of_all):
            lines.append(
                f"Internal consistency failed: trial {number} scores {value:+.6f}, above the bound of {of_all:+.6f}; trust "
                "neither, and report it."
            )
        elif value > 0.0 and table.loc[table["name"] == f"trial {number}", "of_bound"].notna().all():
            lines.append(
                f"Trial {number} reaches {value / most:.0%} of what perfect foresight allows, {SCORE.shown(most)}{robs}."
            )
    if rival := better_controller(results):
        lines.append(f"Better without any learning: {rival[0]}, {rival[1]}.")
    return lines
