"""Evaluations of policies: the last one of each trial, the terms of the reward, and changes against the uncontrolled site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.measure import BY_HOURS, SCORE, Measure
from results.analysis.judged import kind_of
from results.analysis.searched import best_trial, default_trial, frame
from results.fresh import DEFAULT
from results.judgement import PREFERRED
from results.loader import Results

if TYPE_CHECKING:
    import pandas as pd

TERM = "term_"  # prefix of the columns with the terms of the reward


def last_evaluation(results: Results) -> pd.DataFrame:
    """Rows of `evaluations` that are of each trial's last evaluation, a row a year; those of a judgement are left out."""
    own = results.single.evaluations[results.evaluations["contender"].isna()]
    return own[own["steps"] == own.groupby("trial")["steps"].transform("max")]


def reward_terms(results: Results, judgement: Results | None = None) -> pd.DataFrame:
    """The weighted terms of the reward: what the score of a policy consists of.

    Returns:
        A row for each policy and term: `policy`, `kind` (`best`, `default`, or see `kind_of`), `split`, `runs`, `term`, `value`
        (mean reward an hour; 0 is the uncontrolled site) and `score`. Terms that are 0 for all policies, and policies without
        terms, are left out.
    """
    import pandas as pd

    last = last_evaluation(results)
    parts = []
    for kind, number in (("best", best_trial(results)), (DEFAULT, default_trial(results))):
        own = last[last["trial"] == (-1 if number is None else number)]
        parts.append(own.assign(policy=f"{kind} (trial {number})", kind=kind, run=0))
    if judgement is not None:
        judged = judgement.evaluations[judgement.evaluations["contender"].notna()]
        kinds = [kind_of(*pair) for pair in zip(judged["contender"], judged["algorithm"], strict=True)]
        judged = judged.assign(policy=judged["contender"], kind=kinds, run=judged["seed"].fillna(-1))
        order = judged["backend"].map({name: place for place, name in enumerate(PREFERRED)}).fillna(len(PREFERRED))
        parts.append(judged[order == order.groupby([judged["policy"], judged["run"]]).transform("min")])
    rows = pd.concat(parts, ignore_index=True)
    terms = [str(name) for name in rows.columns if str(name).startswith(TERM) and rows[name].abs().sum() > 0.0]
    found = []
    for policy, own in rows.dropna(subset=terms, how="all").groupby("policy", sort=False):
        facts = {"policy": policy, "kind": own["kind"].iloc[0], "split": own["split"].iloc[0], "runs": own["run"].nunique()}
        score = SCORE.value(own)
        values = {name.removeprefix(TERM): Measure(name, over=BY_HOURS).value(own) for name in terms}
        found += [{**facts, "term": term, "value": number, "score": score} for term, number in values.items()]
    types = {"policy": "object", "kind": "object", "split": "object", "runs": "int64", "term": "object"}
    return frame(found, {**types, "value": "float64", "score": "float64"})
