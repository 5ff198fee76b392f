"""What the terminal shows when a search has ended: its best, and whether fresh seeds say that it is better than the default."""

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from common.measure import SCORE, SITE, Measure, Scale, by_the_year
from common.texts import counted, option_words, printable, python_command, raised
from envs.objective.aim import SCORE_ALONE, Aim
from results import Results
from results.analysis.judged import caveats
from results.analysis.yardsticks import beside_yardsticks, yardstick_lines
from results.fresh import LEAST_RUNS, FreshRuns, of_length
from results.loader import GAINS, ranked, spread_out
from results.schema import FOLDER, GIVEN
from results.statistics import CONFIDENCE, Interval, mean
from search_spaces.common import REWARD_SHARE
from tuning.cli.console import Fitted, cell, change, plain_table, say
from tuning.experiment.folder import again_words
from tuning.experiment.settings import LEAST_CONFIRMING_RUNS, Settings

SHOWN = 5  # trials in the table
MOST_OF_FRONT = 10  # members of the front, those that are farthest apart
_VALUES = ("objective", "objective_2")  # columns
NONE_BETTER = "No trial is shown to be better than the default."
NOT_COMPARED = "The default misses a requirement, so no trial is compared with it."
NO_DEFAULT = "Trainings of the default did not reach the end, so no trial is compared with it."


def print_summary(
    results: Results,
    console: Console,
    aim: Aim = SCORE_ALONE,
    validation: str = "",
    teacher: str = "none",
    reference: Sequence[str] = (),
    again: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Print the best trials, the best hyperparameters, its KPIs against the uncontrolled site, and where the files are.

    `validation` says in words what it was rated on, `reference` what the uncontrolled site does; `again` has settings that a
    command which continues needs again.
    """
    trials, aim = results.trials, aim.measured(results.measures)
    for _, row in trials[trials["state"].isin(["failed", "oom"])].iterrows():
        error = "" if pd.isna(row["error"]) else raised(row["error"])
        say(console, f"trial {row['trial']} {row['state']}: {error or 'its row has no error'}")
    if (trials["confirms"].isna() & (trials["state"] == "failed")).any():
        command = python_command("tuning.run", "--resume", results.folder, "--retry-failed", *again_words(again))
        say(console, f"once the cause is mended, this tries what failed once more: {command}")
    complete = results.scored
    if complete.empty:
        say(console, "no trial is complete, so there is nothing to compare")
    else:
        best = results.best
        if aim.second:
            console.print(Fitted(front_table(results, aim)))
        else:
            console.print(Fitted(_ranking(ranked(complete).head(SHOWN), trials, aim)))
        last = results.rated_evaluations[results.rated_evaluations["trial"] == best["trial"]]
        name = "Best of both by mean gain" if aim.second else "Best"
        say(console, f"{name}: trial {best['trial']}, {_told(best, last, aim)}")
        if aim.shown:
            say(console, f"Aim:  {aim.shown}")
        if teacher != "none":
            say(console, f"Teacher: {teacher}; {_copied(results, best)}")
        if not last.empty and (missed := aim.missed(last)):
            say(console, f"no trial meets the requirements; trial {best['trial']} is nearest and misses {'; '.join(missed)}")
        _print_hyperparameters(best, console)
        if last.empty:
            say(console, f"KPIs of trial {best['trial']} cannot be shown: its evaluations cannot be read")
        else:
            of_env, known = results.of_environment, results.measures
            console.print(Fitted(_of_episodes(last, known) if of_env else _against_uncontrolled(last, known, validation)))
            for line in reference:
                say(console, line)
            for line in caveats(last, results.measures, best["reward"]):
                say(console, f"Trial {best['trial']}: {line}")
        objectives = [objective for objective in aim.objectives if objective != SCORE]
        if len(beside := beside_yardsticks(results, objectives)):
            console.print(Fitted(_yardsticks(beside, objectives, _same(results, last))))
        for line in yardstick_lines(results):
            say(console, line)
        for line in confirmation_lines(results, aim):
            say(console, line)
        taken = results.recommended
        # A front offers several to choose from.
        if not aim.second and not pd.isna(taken["confirms"]) and taken["confirms"] != best["trial"]:
            say(console, f"Hyperparameters with the best mean, of {named(int(taken['confirms']), results.fresh)}:")
            _print_hyperparameters(taken, console)
    say(console, f"Parquet: {results.folder / FOLDER}")
    say(console, f'Load:    from results import load; r = load(r"{results.folder}")')
    if not complete.empty:
        trust = option_words("trust_scenario", True) if again.get("trust_scenario") else []
        # A judgement names one winner, and refuses two objectives.
        by = ["--objective", aim.objective.name] if aim.second else []
        say(console, f"Judge:   {python_command('tuning.judge', results.folder, *by, *trust)}")


def print_comparison(experiments: Sequence[Results], console: Console, aim: Aim = SCORE_ALONE) -> None:
    """Print the best trial of each of several experiments beside one another, with the vehicle energy that it served."""
    if aim.shown:
        say(console, f"Aim: {aim.shown}")
    aim = aim.measured({name: measure for results in experiments for name, measure in results.measures.items()})
    bests = [results.best for results in experiments if not results.scored.empty]
    of_aim = _of_aim(pd.DataFrame(bests).reindex(columns=[*_VALUES, "shortfall"]), aim)
    cells = zip(*(cells for _, cells in of_aim), strict=True) if of_aim else iter([()] * len(bests))
    of_sites = [] if any(results.of_environment for results in experiments) else ["CO2", "bill", "served"]
    headings = ["algorithm", "score", *(heading for heading, _ in of_aim), *of_sites, "trial", "min", "experiment"]
    table = plain_table("Best trial of each algorithm, on the validation split", headings, left=("algorithm", "experiment"))
    for results in experiments:
        trials = results.trials
        name, folder = (str(trials["algorithm"].iloc[0]) if len(trials) else "none"), results.folder.name
        if results.scored.empty:
            table.add_row(name, "none", *[""] * (2 + len(of_sites) + len(of_aim)), folder)
            continue
        best = results.best
        rows = results.rated_evaluations[results.rated_evaluations["trial"] == best["trial"]]
        amounts = [results.measures.get(column, Measure(column)) for column in ("co2_kg", "bill")]
        changes = [change(amount.value(rows), amount.value(rows, SITE)) for amount in amounts]
        served = results.measures.get("ev_served", Measure("ev_served")).value(rows)
        table.add_row(
            name, SCORE.shown(best["score"]), *next(cells), *([*changes, cell(served, ".1%")] if of_sites else ()),
            str(best["trial"]), f"{best['seconds'] / 60:.1f}", folder,
        )  # fmt: skip
    console.print(Fitted(table))


def _print_hyperparameters(trial: pd.Series, console: Console) -> None:
    given = {str(name).removeprefix(GIVEN): value for name, value in trial.items() if str(name).startswith(GIVEN)}
    values = printable("  ".join(f"{name}={_value(value)}" for name, value in given.items()))
    lines = textwrap.indent(textwrap.fill(values, max(20, console.width - 2), break_on_hyphens=False), "  ")
    console.print(lines, highlight=False, markup=False)


def _copied(results: Results, best: pd.Series) -> str:
    """How the best trial's policy began: its score as a copy, before it learned on."""
    rows = results.evaluations[(results.evaluations["trial"] == best["trial"]) & (results.evaluations["steps"] == 0)]
    if rows.empty:
        return "the score of the copy is not in the results"
    return f"the copy scored {SCORE.shown(SCORE.value(rows))} before it learned on"


def _told(best: pd.Series, last: pd.DataFrame, aim: Aim) -> str:
    """The best trial's score and, where it is another, its objective, each beside the uncontrolled site's."""
    score = f"score {SCORE.shown(best['score'])}" + (
        "; the uncontrolled site scores 0" if best["reward"] == "improvement" else ""
    )
    if aim.is_score:
        return score
    values = zip(aim.objectives, best[list(_VALUES)], strict=False)
    return "; ".join([*(_beside(objective, value, last) for objective, value in values), score])


def _beside(objective: Measure, value: float, last: pd.DataFrame) -> str:
    before = objective.value(last, SITE)
    site = "" if pd.isna(before) else f"; the uncontrolled site has {objective.shown(before)}"
    return f"{objective.name} {objective.shown(value)}{site}"


def _of_aim(rows: pd.DataFrame, aim: Aim) -> list[tuple[str, list[str]]]:
    """Columns beside the score, each a heading and its cells: the objective, and whether requirements are met."""
    objectives = () if aim.is_score else aim.objectives
    columns = [objective.column(rows[name].tolist()) for objective, name in zip(objectives, _VALUES, strict=False)]
    if aim.requirements or (rows["shortfall"] > 0.0).any():
        columns.append(("required", ["missed" if shortfall > 0.0 else "met" for shortfall in rows["shortfall"]]))
    return columns


def front_table(results: Results, aim: Aim) -> Table:
    """The members of the front, the best in the first objective at the top."""
    front, searched = results.front, results.trials[results.trials["confirms"].isna()]
    shown = front.iloc[sorted(spread_out(front[list(GAINS)].to_numpy(dtype=float))[:MOST_OF_FRONT])]
    number = f"{len(front)} of {len(searched)} trials" + (f", {len(shown)} of them shown" if len(shown) < len(front) else "")
    shares = ["share"] if GIVEN + REWARD_SHARE in front else []
    columns = [objective.column(shown[name].tolist()) for objective, name in zip(aim.objectives, _VALUES, strict=True)]
    headings = ("trial", *(name for heading, _ in columns for name in (heading, "gain")), "score", *shares, "step")
    table = plain_table(by_the_year(f"Front: {number}", aim.objectives), headings)
    for place, (_, row) in enumerate(shown.iterrows()):
        values = zip((texts[place] for _, texts in columns), (row[name] for name in GAINS), strict=True)
        cells = (text for value, gain in values for text in (value, f"{gain:+z.1%}"))
        share = [f"{row[GIVEN + REWARD_SHARE]:.2f}"] if shares else []
        table.add_row(str(row["trial"]), *cells, SCORE.shown(row["score"]), *share, cell(row["kept_steps"], ",.0f"))
    return table


def _ranking(best: pd.DataFrame, trials: pd.DataFrame, aim: Aim) -> Table:
    columns = _of_aim(best, aim)
    # A terminal of 80 columns has no room for it beside an objective.
    if not columns and (further := best["further_episodes"]).notna().any():
        columns.append(("further", [cell(count, ",.0f") for count in further]))
    parts = ("step", "min", "steps/s", "stepping", "learning", "evaluation")
    title = by_the_year(f"Best of {counted(int(trials['confirms'].isna().sum()), 'trial')}", aim.objectives)
    table = plain_table(title, ("trial", "score", *(heading for heading, _ in columns), *parts))
    for place, (_, row) in enumerate(best.iterrows()):
        training = row["seconds"] - row["evaluation_seconds"]
        of_aim = (cells[place] for _, cells in columns)
        table.add_row(
            str(row["trial"]), SCORE.shown(row["score"]), *of_aim, cell(row["kept_steps"], ",.0f"),
            f"{row['seconds'] / 60:.1f}", f"{row['steps'] / training:,.0f}",
            *(f"{row[f'{part}_seconds'] / row['seconds']:.0%}" for part in ("environment", "learner", "evaluation")),
        )  # fmt: skip
    return table


def _against_uncontrolled(rows: pd.DataFrame, measures: Mapping[str, Measure], validation: str) -> Table:
    """KPIs of the rows (one a year) beside the uncontrolled site's, which ran through the same hours."""
    stated = f" ({validation})" if validation else ""
    title = by_the_year(printable(f"Validation{stated}, {rows['hours'].sum():,} hours"))
    table = plain_table(title, ("", "controlled", "uncontrolled", "change"))
    for measure in measures.values():
        now, before = measure.value(rows), measure.value(rows, SITE)
        if not measure.label or pd.isna(now) or measure.is_lacking((now, before)):
            continue
        if measure.is_share:
            table.add_row(measure.label, cell(now, ".1%"), cell(before, ".1%"), f"{100 * (now - before):+z.1f} points")
        else:
            scale = measure.scale((now, before))
            table.add_row(scale.heading(measure.label), scale.text(now), scale.text(before), change(now, before))
    return table


def _of_episodes(rows: pd.DataFrame, measures: Mapping[str, Measure]) -> Table:
    """What came of the episodes (one a row): means with their intervals, and the ends of the range."""
    table = plain_table(f"Validation, {len(rows)} episodes", ("", "mean", f"{CONFIDENCE:.0%} interval", "least", "greatest"))
    # The score's own way to be shown is that of sites.
    labels = {SCORE.name: "return"} | {measure.name: measure.label for measure in measures.values() if measure.label}
    for column, label in labels.items():
        values = rows[column].to_numpy(float)
        interval, scale = mean(values), Scale.of(values, "")
        ends = f"{scale.text(interval.low)} to {scale.text(interval.high)}"
        table.add_row(
            scale.heading(label), scale.text(interval.value), ends, scale.text(values.min()), scale.text(values.max())
        )
    return table


_SAME_HOURS = "The same hours under other controllers"


def _same(results: Results, last: pd.DataFrame) -> str:
    """Title of other controllers, which may have run through less than what rates the best."""
    if not results.of_environment:
        hours = int(last.loc[last["further"].isna(), "hours"].sum())
        return _SAME_HOURS if hours == last["hours"].sum() else f"Other controllers: {hours:,} of these hours"
    count = int(results.yardsticks.groupby("contender").size().max())
    return (
        "The same episodes under other controllers" if count == len(last) else f"Other controllers: the first {count} episodes"
    )


def _yardsticks(beside: pd.DataFrame, objectives: Sequence[Measure] = (), title: str = _SAME_HOURS) -> Table:
    """Scores, and what is aimed at, between the site without control and perfect foresight."""
    columns = [objective.column(beside[objective.name].tolist()) for objective in objectives]
    # A site without a bound, vehicles or people has no column of them.
    aimed_at = {objective.name.removeprefix("ev_") for objective in objectives}
    forms = {"of_bound": "z.0%", "served": ".1%", "discomfort": ".1%"}
    known = {name: form for name, form in forms.items() if name not in aimed_at and beside[name].notna().any()}
    headings = ("", "score", *(heading for heading, _ in columns), *(column.replace("_", " ") for column in known))
    table = plain_table(by_the_year(title, objectives) if objectives else title, headings)
    for place, (_, row) in enumerate(beside.iterrows()):
        shown = (*(cells[place] for _, cells in columns), *(cell(row[name], form) for name, form in known.items()))
        table.add_row(str(row["name"]), SCORE.shown(row["score"]), *shown)
    return table


def _value(value: Any) -> str:
    if pd.isna(value):
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _told_interval(interval: Interval, shown: Callable[[float], str]) -> str:
    return f"{shown(interval.value)} ({shown(interval.low)} to {shown(interval.high)})"


def confirmation_lines(results: Results, aim: Aim) -> list[str]:
    """The mean of each assignment that was trained again, with its interval, and which are better than the default in what.

    With several contenders or objectives each interval is wider, so that all of them hold together (Bonferroni). Empty where
    nothing was trained again at least twice.
    """
    fresh = results.fresh.at_least(LEAST_RUNS)
    if not fresh.complete and not results.fresh.broken:
        return []
    # By the rating, or with two objectives by each gain on the uncontrolled site: the column of each, and what stands before.
    labels = {gain: f"{kpi.name} " for kpi, gain in zip(aim.objectives, GAINS, strict=True)} if aim.second else {"rating": ""}
    # Where less is better, the ends of a rating's interval change places.
    of_mean = "{:+.2%}".format if aim.second else aim.told_rating
    gains = "gains on the uncontrolled site, " if aim.second else ""
    lines = [f"Trained again with fresh seeds; {gains}in brackets {CONFIDENCE:.0%} intervals over seeds:"]
    tried = of_length(results.candidates, results.steps)["confirms"].nunique()
    if tried:
        lines.insert(0, f"The best {tried} trials were each trained once more; the mean of both ratings chose from them.")
    for number in fresh.ordered:
        values = ((label, mean(fresh.complete[number][name].to_numpy(float))) for name, label in labels.items())
        told = "; ".join(label + _told_interval(interval, of_mean) for label, interval in values)
        missed = fresh.missed(number)
        lines.append(f"  {named(number, fresh)}: {f'{missed} miss a requirement' if missed else told}, {_runs(number, fresh)}")
    lines += [f"  {named(number, fresh)}: no mean, {_runs(number, results.fresh)}" for number in results.fresh.broken]
    better, compared = list[str](), False
    for number in fresh.contenders:
        differences = {label: fresh.difference(number, name, len(labels)) for name, label in labels.items()}
        known = {label: interval for label, interval in differences.items() if interval}
        if known:
            compared = True
            what = ", difference of gains" if aim.second else ""
            told = "; ".join(
                label + (_told_interval(interval, of_mean) if aim.second else str(interval))
                for label, interval in known.items()
            )
            lines.append(f"  trial {number} against the default{what}: {told}")
            better_in = [label.strip() for label, interval in known.items() if interval.low > 0.0]
            names = f" in {' and '.join(better_in)}" if aim.second else ""
            better += [f"trial {number}{names}"] if better_in else []
    if compared and not aim.second and (taken := fresh.recommended) is not None:
        lines.append(f"Best mean: {named(taken, fresh)}.")
    return [*lines, *_verdict(results.fresh, ("; " if aim.second else " and ").join(better), compared)]


def checkpoint_lines(sizes: Sequence[int], keep: str) -> list[str]:
    """How much the checkpoints of the trials take, which have these bytes; empty where there is none."""
    kept = sum(size > 0 for size in sizes)
    amount = f"{sum(sizes) / 2**20:,.1f} MiB of {counted(kept, 'trial')}"
    return [f"Checkpoints: {amount} (--keep-checkpoints {keep})"] if kept else []


def unpaid_lines(settings: Settings, results: Results) -> list[str]:
    """That the best was trained once, where the budget does not pay for more, and which would; of time at the pace so far."""
    limit = settings.limit
    if limit is None or settings.preset or not settings.confirm or len(results.scored) < 2:
        return []
    fresh = results.fresh
    confirmed = bool(fresh.at_least(LEAST_RUNS).contenders or set(fresh.broken) - {fresh.default})
    if settings.confirming_parts and (confirmed or not limit.is_time):
        return []
    needed = 2 * LEAST_CONFIRMING_RUNS * settings.steps / settings.most_confirm
    if limit.is_time:
        minutes = needed / max(float(results.trials["steps"].sum()), 1.0) * limit.amount / 60.0
        amount = f"{math.ceil(minutes - 1e-6)}m"
    else:
        amount = f"{math.ceil(needed / 1e3 - 1e-6)}k" if needed < 1e6 else f"{math.ceil(needed / 1e5 - 1e-6) / 10:g}M"
    return [
        f"The best was trained once, so its lead may be luck: with about --budget {amount} in all the best and the default "
        f"would be trained again for {settings.steps:,} steps, with {LEAST_CONFIRMING_RUNS} fresh seeds or more"
    ]


def named(number: int, fresh: FreshRuns) -> str:
    """What an assignment that was trained again is called."""
    if number != fresh.default:
        return f"trial {number}"
    return "the default" if number < 0 else f"the default (trial {number})"


def _runs(number: int, fresh: FreshRuns) -> str:
    """How many trainings an assignment had, and how many of them did not reach the end."""
    early, whole = fresh.ended_early[number], len(fresh.complete.get(number, ()))
    return counted(whole, "seed") + (f", and {early} that did not reach the end" if early else "")


def _verdict(fresh: FreshRuns, better: str, compared: bool) -> list[str]:
    if better:
        return [f"Better than the default: {better}."]
    told = fresh.at_least(LEAST_RUNS)
    contenders = [*told.contenders, *(number for number in fresh.broken if number != fresh.default)]
    if contenders and fresh.default in fresh.broken:
        return [NO_DEFAULT]
    if compared or (told.control is not None and contenders and not told.sound):
        return [NONE_BETTER]
    return [NOT_COMPARED] if told.control is not None and contenders and told.missed(told.control) else []
