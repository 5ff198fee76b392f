"""What the last part of a search says: whether the best is better than the default, with fresh seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from envs.objective.aim import Aim
from results import Results
from results.fresh import LEAST_RUNS, FreshRuns, of_length
from results.loader import GAINS
from results.statistics import CONFIDENCE, Interval, mean, paired_mean
from tuning.experiment.settings import LEAST_CONFIRMING_RUNS, Settings

NONE_BETTER = "No trial is shown to be better than the default."
NOT_COMPARED = "The default misses a requirement, so no trial is compared with it."
NO_DEFAULT = "Trainings of the default did not reach the end, so no trial is compared with it."


@dataclass(frozen=True)
class _Compared:
    """What trainings are compared by: the rating, or with two objectives each gain on the uncontrolled site."""

    column: str
    label: str  # before a value
    of_mean: Callable[[float], str]
    of_difference: Callable[[float], str]

    def mean(self, runs: pd.DataFrame) -> str:
        """The mean over runs, with its interval. Where less is better, the ends of a rating's change places."""
        return self._told(mean(runs[self.column].to_numpy(float)), self.of_mean)

    def difference(self, interval: Interval) -> str:
        """A difference from the default."""
        return self._told(interval, self.of_difference)

    def _told(self, interval: Interval, shown: Callable[[float], str]) -> str:
        return f"{self.label}{shown(interval.value)} ({shown(interval.low)} to {shown(interval.high)})"


def confirmation_lines(results: Results, aim: Aim) -> list[str]:
    """The mean of each assignment that was trained again, with its interval, and which are better than the default in what.

    With several contenders or objectives each interval is wider, so that all of them hold together (Bonferroni). Empty where
    nothing was trained again at least twice.
    """
    fresh = results.fresh.at_least(LEAST_RUNS)
    if not fresh.complete and not results.fresh.broken:
        return []
    compared_by = _compared_by(aim)
    gains = "gains on the uncontrolled site, " if aim.second else ""
    lines = [f"Trained again with fresh seeds; {gains}in brackets {CONFIDENCE:.0%} intervals over seeds:"]
    tried = of_length(results.candidates, results.steps)["confirms"].nunique()
    if tried:
        lines.insert(0, f"The best {tried} trials were each trained once more; the mean of both ratings chose from them.")
    for number in fresh.ordered:
        means = "; ".join(one.mean(fresh.complete[number]) for one in compared_by)
        lines.append(f"  {named(number, fresh)}: {_missed(number, fresh) or means}, {_runs(number, fresh)}")
    lines += [f"  {named(number, fresh)}: no mean, {_runs(number, results.fresh)}" for number in results.fresh.broken]
    better, compared = list[str](), False
    for number in fresh.contenders:
        if pairs := fresh.pairs(number):
            compared = True
            told, better_in = _differences(pairs, compared_by, fresh.confidence(len(compared_by)))
            what = ", difference of gains" if aim.second else ""
            lines.append(f"  trial {number} against the default{what}: {told}")
            names = f" in {' and '.join(better_in)}" if aim.second else ""
            better += [f"trial {number}{names}"] if better_in else []
    if compared and not aim.second and (taken := fresh.recommended) is not None:
        lines.append(f"Best mean: {named(taken, fresh)}.")
    return [*lines, *_verdict(results.fresh, ("; " if aim.second else " and ").join(better), compared)]


def _compared_by(aim: Aim) -> list[_Compared]:
    if not aim.second:
        return [_Compared("rating", "", aim.told_rating, "{:+.4g}".format)]
    pairs = zip(aim.objectives, GAINS, strict=True)
    return [_Compared(gain, f"{objective.name} ", "{:+.2%}".format, "{:+.2%}".format) for objective, gain in pairs]


def _differences(
    pairs: tuple[pd.DataFrame, pd.DataFrame], compared_by: list[_Compared], confidence: float
) -> tuple[str, list[str]]:
    """Differences of a contender from the default, in words, and the labels of those that are above zero."""
    told, better_in = [], []
    for one in compared_by:
        contender, default = (side[one.column].to_numpy(float) for side in pairs)
        interval = paired_mean(contender, default, confidence)
        told.append(one.difference(interval))
        better_in += [one.label.strip()] if interval.low > 0.0 else []
    return "; ".join(told), better_in


def unpaid_lines(settings: Settings, results: Results) -> list[str]:
    """That the best was trained once, where the budget does not pay for more; of time, that shows when it is spent."""
    limit = settings.limit
    if limit is None or settings.preset or not settings.confirm or results.scored.empty:
        return []
    fresh = results.fresh
    confirmed = bool(fresh.at_least(LEAST_RUNS).contenders or set(fresh.broken) - {fresh.default})
    if settings.confirming_parts and (confirmed or not limit.is_time or len(results.scored) < 2):
        return []
    least = f"less than {LEAST_CONFIRMING_RUNS} trainings of it and of the default"
    return [f"The best was trained once: {settings.most_confirm:.0%} of the budget pays for {least} (--budget, --confirm)"]


def named(number: int, fresh: FreshRuns) -> str:
    """What an assignment that was trained again is called."""
    if number != fresh.default:
        return f"trial {number}"
    return "the default" if number < 0 else f"the default (trial {number})"


def _missed(number: int, fresh: FreshRuns) -> str:
    """How many trainings of an assignment miss a requirement; empty for none."""
    return f"{count} miss a requirement" if (count := fresh.missed(number)) else ""


def _runs(number: int, fresh: FreshRuns) -> str:
    """How many trainings an assignment had, and how many of them did not reach the end."""
    early, whole = fresh.ended_early[number], len(fresh.complete.get(number, ()))
    return f"{whole} seed{'s' if whole != 1 else ''}" + (f", and {early} that did not reach the end" if early else "")


def _verdict(fresh: FreshRuns, better: str, compared: bool) -> list[str]:
    """The last line; none where nothing was compared with the default."""
    if better:
        return [f"Better than the default: {better}."]
    told = fresh.at_least(LEAST_RUNS)
    contenders = [*told.contenders, *(number for number in fresh.broken if number != fresh.default)]
    if contenders and fresh.default in fresh.broken:
        return [NO_DEFAULT]
    if compared or (told.control is not None and contenders and not told.sound):
        return [NONE_BETTER]
    return [NOT_COMPARED] if told.control is not None and contenders and told.missed(told.control) else []
