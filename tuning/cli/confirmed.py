"""What the last part of a search says: whether the best is better than the default, with fresh seeds."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from envs.objective.aim import Aim
from results import Results
from results.loader import ratings
from results.statistics import CONFIDENCE, Interval, mean, paired_mean


def confirmation_lines(results: Results, shown: Callable[[float], str]) -> list[str]:
    """The mean of each assignment that was trained again, with its interval, and whether it is better than the default.

    With several contenders each interval is wider, so that all of them hold together (Bonferroni).

    Args:
        results: of the experiment.
        shown: a rating as a person reads it.

    Returns:
        Empty where nothing was trained again at least twice to its end.
    """
    complete = results.confirmations[results.confirmations["state"] == "complete"]
    runs = {
        number: own.assign(rating=ratings(own)).set_index("confirm_run")["rating"]
        for number, own in complete.groupby(complete["confirms"].astype(int))
        if len(own) > 1
    }
    if not runs:
        return []
    roles = complete.groupby(complete["confirms"].astype(int))["confirm_role"].first()
    control = next((number for number in runs if roles[number] == "default"), None)
    contenders = [number for number in runs if number != control]
    confidence = 1.0 - (1.0 - CONFIDENCE) / max(1, len(contenders))
    lines = [f"Trained again with fresh seeds; in brackets {CONFIDENCE:.0%} intervals over seeds:"]
    if tried := results.candidates["confirms"].nunique():
        lines.insert(0, f"The best {tried} trials were each trained once more; the mean of both ratings chose from them.")
    for number in ([] if control is None else [control]) + contenders:
        name = f"trial {number}"
        if number == control:
            name = "the default" if number < 0 else f"the default (trial {number})"
        missed = sum(map(Aim.is_missed, runs[number]))
        found = f"{missed} miss a requirement" if missed else _told(mean(runs[number].to_numpy()), shown)
        lines.append(f"  {name}: {found}, {len(runs[number])} seeds")
    if control is None:
        return lines
    better, compared = [], 0
    for number in contenders:
        pairs = pd.concat([runs[number], runs[control]], axis=1, join="inner").to_numpy()
        if len(pairs) > 1:
            compared += 1
            if any(map(Aim.is_missed, pairs.ravel())):
                continue
            gain = paired_mean(pairs[:, 0], pairs[:, 1], confidence)
            lines.append(f"  trial {number} against the default: {gain.value:+.4g} ({gain.low:+.4g} to {gain.high:+.4g})")
            if gain.low > 0.0:
                better.append(number)
    if not compared:
        return lines
    found = " and ".join(f"trial {number}" for number in better)
    return [*lines, f"Better than the default: {found}." if better else "No trial is shown to be better than the default."]


def _told(interval: Interval, shown: Callable[[float], str]) -> str:
    # Where less is better, the ends of a rating's interval change places.
    return f"{shown(interval.value)} ({shown(interval.low)} to {shown(interval.high)})"
