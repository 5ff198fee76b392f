"""A judgement beside the search that it judges: was the winner good, or lucky?"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from common.measure import SCORE, SITE, Measure
from results.analysis.curves import confirmed
from results.analysis.searched import default_trial, frame, ranks_by_score, rated
from results.fresh import DEFAULT
from results.judgement import BOUNDS, preferred, written_table
from results.judgement import judgement as judged_table
from results.loader import Results
from results.places import JUDGED
from results.statistics import known_mean

UNNOTICED = 0.01  # part of the vehicles' energy, and of people's hours, that a policy may serve less than without control
CONTENDER, RULE, MPC, BOUND, UNCONTROLLED = "contender", "rule", "MPC", "bound", "uncontrolled"
NO_CONTROL = (UNCONTROLLED, "no PV, no battery")
NOT_LEARNED = ("random actions", "no action")  # their counterparts in an environment


@dataclass(frozen=True)
class Verdict:
    """The table of a judgement, and by what it ranks."""

    table: pd.DataFrame  # of `results.judgement.judgement`, the best contender first
    # `weights`, `objective` and `requirements` in words, as far as they are not the default.
    aim: Mapping[str, str] = field(default_factory=dict)


def verdict(judgement: Results) -> Verdict:
    """The table that a judgement wrote with its verdict; as long as there is none, one by score.

    Raises ResultsError if the file cannot be read.
    """
    try:
        table, known = written_table(judgement.folder / JUDGED)
    except FileNotFoundError:
        aim = {"verdict": "none yet, as the judgement has not ended; until then by score"}
        return Verdict(judged_table(judgement.evaluations, judgement.measures), aim)
    return Verdict(table, {name: known[name] for name in ("weights", "objective", "requirements") if name in known})


def caveats(rows: pd.DataFrame, measures: Mapping[str, Measure], reward: str) -> list[str]:
    """What has to stand beside the savings of a policy: that it is worse than none, and that vehicles or people pay for it.

    Args:
        rows: of `evaluations`, a row a year of one policy.
        measures: of the results.
        reward: of the trial. By the schema's own the site without control does not score 0.
    """
    said = []
    score = SCORE.shown(SCORE.value(rows))
    if reward == "improvement" and score.startswith("-"):
        said.append(f"It is worse than no control, which scores 0: its score is {score}.")
    served = measures.get("ev_served")
    if served and served.value(rows) < served.value(rows, SITE) - UNNOTICED:
        now, before = served.value(rows), served.value(rows, SITE)
        met, left = int(rows["departures_met"].sum()), int(rows["departures"].sum())
        said.append(
            f"Vehicles pay for it: {met:,} of {left:,} left with what they asked for, and {now:.1%} of that was served, "
            f"{before:.1%} without control; --require 'ev_served>={math.floor(100 * before) / 100:g}' takes no such policy."
        )
    discomfort = measures.get("discomfort")
    if discomfort and discomfort.value(rows) > discomfort.value(rows, SITE) + UNNOTICED:
        now, before = discomfort.value(rows), discomfort.value(rows, SITE)
        said.append(
            f"People pay for it: it is too warm or too cold in {now:.1%} of their hours, in {before:.1%} without control; "
            f"--require 'discomfort<={math.ceil(100 * before) / 100:g}' takes no such policy."
        )
    return said


def kind_of(contender: str, algorithm: str | None) -> str:
    """What a row of a judgement is: `contender`, `uncontrolled`, `rule`, `MPC` or `bound`."""
    if isinstance(algorithm, str) and algorithm:
        return CONTENDER
    if contender in BOUNDS:
        return BOUND
    if contender in NO_CONTROL + NOT_LEARNED:
        return UNCONTROLLED
    return MPC if contender.startswith(MPC) else RULE


def judged_runs(judgement: Results) -> pd.DataFrame:
    """Scores of a judgement, a row a run.

    Returns:
        `contender`, `kind` (see `kind_of`), `algorithm`, `seed` (-1 for what did not learn), `split`, `backend` (CityLearn
        where it judged), `score`, and `low` and `high` of the contender's mean: Student's 95 % interval over seeds, empty with
        one run.
    """
    rows = []
    for contender, group in preferred(judgement.evaluations).groupby("contender", sort=False):
        runs = []
        for seed, years in group.groupby(group["seed"].fillna(-1), sort=False):
            algorithm = years["algorithm"].iloc[0]
            algorithm = algorithm if isinstance(algorithm, str) else ""
            facts = {"algorithm": algorithm, "split": years["split"].iloc[0], "backend": years["backend"].iloc[0]}
            runs.append({"contender": contender, "kind": kind_of(str(contender), algorithm), "seed": int(seed), **facts})
            runs[-1]["score"] = SCORE.value(years)
        whole = known_mean(np.array([run["score"] for run in runs]))
        rows += [{**run, "low": whole.low, "high": whole.high} for run in runs]
    return frame(rows, "contender kind algorithm seed split backend score low high")


def luck(results: Results, judgement: Results | None = None) -> pd.DataFrame:
    """The score in the search beside that of trainings with fresh seeds, on the same split and on the test split.

    The best of many was chosen by its score, so it is lucky in part. What falls with fresh seeds on the same split was luck;
    what falls beyond that on the test split are other hours.

    Returns:
        A row for each assignment and split, confirmations first: `name`, `trial` (-1 for a default that was not tried),
        `is_default`, `split`, `measure` (`score` or `rating`), `runs`, `search`, `fresh` (mean of the runs), `low`, `high`
        (Student's 95 % interval over seeds), `change` (`fresh` less `search`). A default of a judgement counts if it has the
        experiment's algorithm and steps.
    """
    trials = results.trials.set_index("trial")
    facts, default = results.facts, default_trial(results)
    rows: list[dict[str, object]] = []
    rating, scores = rated(trials), trials["score"]
    measure = SCORE.name if ranks_by_score(facts) else "rating"
    for fresh in confirmed(results).itertuples():
        if fresh.ended_early:
            continue  # the mean of those that are left is lucky
        trial, is_default = fresh.confirms, fresh.role == DEFAULT
        name, searched = "default" if is_default else f"trial {trial}", float(rating.get(trial, math.nan))
        row = {"name": name, "trial": trial, "is_default": is_default, "split": "validation", "runs": fresh.runs}
        rows.append(row | {"measure": measure, "search": searched, "fresh": fresh.mean, "low": fresh.low, "high": fresh.high})
    if judgement is not None:
        folder = results.folder.resolve().name
        named = str(facts.settings.get("name") or folder)
        algorithm = str(trials["algorithm"].iloc[0]) if len(trials) else str(facts.settings.get("algo", ""))
        budget = trials["budget_steps"].get(default) if default is not None else facts.settings.get("steps")
        # A search with values or a space of its own began with another one.
        alike = None if facts.settings.get("set") or facts.settings.get("space") else default
        runs = judged_runs(judgement)
        for contender, group in runs[runs["kind"] == CONTENDER].groupby("contender", sort=False):
            name = str(contender)
            experiment, _, number = name.rpartition(" ")
            # Its name ends with its steps, as in "ppo default, 100,000 steps".
            steps = f", {int(budget):,} steps" if pd.notna(budget) else " steps"
            is_default = name.startswith(f"{algorithm} {DEFAULT}") and name.endswith(steps)
            trial = int(number) if experiment in (named, folder) and number.isdigit() else -1
            trial = alike if is_default and alike is not None else trial
            if trial not in trials.index and not is_default:
                continue  # of another experiment
            searched = float(scores.get(trial, math.nan))
            row = {"name": name, "trial": trial, "is_default": is_default, "split": group["split"].iloc[0], "runs": len(group)}
            low, high = group["low"].iloc[0], group["high"].iloc[0]
            rows.append(
                row | {"measure": SCORE.name, "search": searched, "fresh": group["score"].mean(), "low": low, "high": high}
            )
    table = frame(rows, "name trial is_default split measure runs search fresh low high")
    table["change"] = table["fresh"] - table["search"]
    return table
