"""What the last part of a search says: whether the best is better than the default, with fresh seeds."""

from __future__ import annotations

from collections.abc import Callable

from results import Results
from results.fresh import LEAST_RUNS, FreshRuns, of_length
from results.statistics import CONFIDENCE, Interval, mean, paired_mean
from tuning.experiment.settings import LEAST_CONFIRMING_RUNS, Settings

NONE_BETTER = "No trial is shown to be better than the default."
NOT_COMPARED = "The default misses a requirement, so no trial is compared with it."
NO_DEFAULT = "Trainings of the default did not reach the end, so no trial is compared with it."


def confirmation_lines(results: Results, shown: Callable[[float], str]) -> list[str]:
    """The mean of each assignment that was trained again, with its interval, and whether it is better than the default.

    With several contenders each interval is wider, so that all of them hold together (Bonferroni). Empty where nothing was
    trained again at least twice.
    """
    fresh = results.fresh.at_least(LEAST_RUNS)
    if not fresh.complete and not results.fresh.broken:
        return []
    lines = [f"Trained again with fresh seeds; in brackets {CONFIDENCE:.0%} intervals over seeds:"]
    if tried := of_length(results.candidates, results.steps)["confirms"].nunique():
        lines.insert(0, f"The best {tried} trials were each trained once more; the mean of both ratings chose from them.")
    for number in fresh.ordered:
        ratings = fresh.complete[number]["rating"].to_numpy(float)
        lines.append(f"  {named(number, fresh)}: {missed(number, fresh) or _told(mean(ratings), shown)}, {runs(number, fresh)}")
    lines += broken_lines(results.fresh)
    better, compared = [], False
    for number in fresh.contenders:
        if pairs := fresh.pairs(number):
            compared = True
            own, default = (side["rating"].to_numpy(float) for side in pairs)
            gain = paired_mean(own, default, fresh.confidence())
            lines.append(f"  trial {number} against the default: {gain.value:+.4g} ({gain.low:+.4g} to {gain.high:+.4g})")
            better += [f"trial {number}"] if gain.low > 0.0 else []
    if compared and (taken := fresh.recommended) is not None:
        lines.append(f"Best mean: {named(taken, fresh)}.")
    return [*lines, *verdict(results.fresh, " and ".join(better), compared)]


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


def missed(number: int, fresh: FreshRuns) -> str:
    """How many trainings of an assignment miss a requirement; empty for none."""
    return f"{count} miss a requirement" if (count := fresh.missed(number)) else ""


def runs(number: int, fresh: FreshRuns) -> str:
    """How many trainings an assignment had, and how many of them did not reach the end."""
    early, whole = fresh.ended_early[number], len(fresh.complete.get(number, ()))
    return f"{whole} seed{'s' if whole != 1 else ''}" + (f", and {early} that did not reach the end" if early else "")


def broken_lines(fresh: FreshRuns) -> list[str]:
    """A line for each assignment of which too many trainings did not reach the end."""
    return [f"  {named(number, fresh)}: no mean, {runs(number, fresh)}" for number in fresh.broken]


def verdict(fresh: FreshRuns, better: str, compared: bool) -> list[str]:
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


def _told(interval: Interval, shown: Callable[[float], str]) -> str:
    # Where less is better, the ends of a rating's interval change places.
    return f"{shown(interval.value)} ({shown(interval.low)} to {shown(interval.high)})"
