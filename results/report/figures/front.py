"""Trials by both gains."""

from collections.abc import Mapping

import pandas as pd

from common.texts import counted
from results.analysis.progress import gains
from results.loader import GAINS
from results.report.charts import Figure, Panel, channel, chart, colour, coloured, hover, layer, sampled
from results.report.subjects import Search
from results.report.words import percent, with_unit

PLACES = {"experiment": 3}  # in the sections of these kinds
_MOST_POINTS = 400  # of trials beside the front
_ON, _OFF = "on the front", "other trial"


def figure(search: Search) -> Figure | None:
    if len(search.aims) < 2:
        return None
    measures = search.results.measures
    headings = {name: with_unit(measures[name]) if name in measures else name for name in search.aims}
    return front(gains(search.results), headings, search.best)


def front(trials: pd.DataFrame, headings: Mapping[str, str], best: int | None) -> Figure | None:
    question = "Which trials are best in one aim without losing in the other?"
    members = trials[trials["on_front"]]
    if members.empty:
        return None
    first, second = headings
    at_first, at_second = members.iloc[0], members.sort_values(["gain_2", "trial"], ascending=[False, True]).iloc[0]
    if len(members) == 1:
        answer = f"Trial {at_first.trial} alone, {_both(at_first, first, second)}: no other that may win is better in either."
    else:
        answer = (
            f"{counted(len(members), 'trial')} of {len(trials):,}, from trial {at_first.trial} "
            f"({_both(at_first, first, second)}) to trial {at_second.trial} ({_both(at_second, first, second)})."
        )
    others = sampled(trials[~trials["on_front"]], _MOST_POINTS)
    drawn = pd.concat([others, members]).assign(kind=lambda rows: [_ON if on else _OFF for on in rows["on_front"]])
    x = channel("gain", title=f"gain in {first}", axis={"format": "+.1%"}, scale={"zero": False})
    y = channel("gain_2", title=f"gain in {second}", axis={"format": "+.1%"}, scale={"zero": False})
    edge = layer(members, {"type": "line", "strokeDash": [4, 3], "strokeWidth": 1.5, "color": colour("grey")}, x=x, y=y)
    points = layer(
        drawn, {"type": "point", "filled": True, "size": 45, "opacity": 0.85}, x=x, y=y,
        color=coloured("kind", [_ON, _OFF], ("c1", "grey")),
        tooltip=hover(
            ("trial", "trial"), ("state", "state"), ("objective", headings[first]), ("objective_2", headings[second]),
            ("gain", f"gain in {first}", "+.1%"), ("gain_2", f"gain in {second}", "+.1%"),
        ),
    )  # fmt: skip
    winner = members[members["trial"] == best]
    ring = layer(winner, {"type": "point", "size": 170, "color": colour("ink"), "strokeWidth": 2}, x=x, y=y)
    table = members[["trial", "state", "steps", "objective", "objective_2", *GAINS]]
    table = table.assign(**{name: [percent(value, sign=True) for value in table[name]] for name in GAINS})
    gained = {"gain": f"gain in {first}", "gain_2": f"gain in {second}"}
    table = table.rename(columns={"objective": headings[first], "objective_2": headings[second], **gained})
    notes = ["A gain is the part by which a trial is better than the uncontrolled site; more is better."]
    if len(winner):
        notes.append(f"The ring is trial {best}, with the greatest mean of both gains.")
    if len(drawn) < len(trials):
        notes.append(f"Shown are {len(drawn):,} of {len(trials):,} trials, among them all of the front.")
    return Figure("front", question, answer, (Panel(chart(edge, points, ring)),), table, " ".join(notes))


def _both(row: pd.Series, first: str, second: str) -> str:
    return f"{first} {percent(row['gain'], sign=True)}, {second} {percent(row['gain_2'], sign=True)}"
