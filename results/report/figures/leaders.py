"""The best trials."""

import numpy as np
import pandas as pd

from common.texts import counted
from results import analysis
from results.report.charts import Figure, Panel, channel, chart, coloured, hover, layer
from results.report.subjects import Search
from results.report.words import capital, listed, score
from results.schema import GIVEN

PLACES = {"experiment": 2}  # in the sections of these kinds
_MOST_LEADERS = 15


def figure(search: Search) -> Figure:
    return leaders(search.table(analysis.leaderboard))


def leaders(board: pd.DataFrame) -> Figure:
    question = "Which trials are best?"
    rated = board[board["rating"].notna()]
    missed = int((board["shortfall"] > 0.0).sum())
    if rated.empty:
        states = board["state"].value_counts()
        told = listed([f"{count:,} {state}" for state, count in states.items()])
        why = f"{missed:,} of {counted(len(board), 'trial')} missed a requirement, and no other was rated"
        why = f"all {counted(missed, 'trial')} missed a requirement" if missed == len(board) else why
        why = why if missed else f"of {counted(len(board), 'trial')} none was rated"
        return Figure("leaders", question, f"None: {why} ({told}).")
    winner = rated[rated["is_best"]]
    default = rated[rated["is_default"]]
    if winner.empty:
        answer = f"None has won yet; trial {rated['trial'].iloc[0]} has the highest rating, {score(rated['rating'].iloc[0])}."
    else:
        best = winner.iloc[0]
        beside = ""
        if len(default) and not bool(best["is_default"]):
            gap = float(best["rating"] - default["rating"].iloc[0])
            fewer = default["further_episodes"].iloc[0] < best["further_episodes"]
            trained = f"trial {default['trial'].iloc[0]}, after {default['kept_steps'].iloc[0]:,} steps"
            trained += ", over fewer episodes or weeks" if fewer else ""
            beside = f", {score(abs(gap)).removeprefix('+')} {'above' if gap >= 0 else 'below'} the default ({trained})"
        named = ", the default" if bool(best["is_default"]) else ""
        answer = (
            f"Trial {best['trial']}{named}, with {score(float(best['rating']))} after {best['kept_steps']:,} steps{beside}."
        )
    drawn = rated[(rated["rank"] <= _MOST_LEADERS) | rated["is_default"]]
    kinds = np.select([drawn["is_best"], drawn["is_default"]], ["best", "default"], "other")
    # A rating that is shown as 0 has no bar.
    drawn = drawn.assign(name=drawn["trial"].astype(str), kind=kinds, rating=drawn["rating"].round(6))
    bars = layer(
        drawn, {"type": "bar", "height": 14}, y=channel("name", "nominal", "trial", sort=None),
        x=channel("rating", title="rating", axis={"tickCount": 8}),
        color=coloured("kind", ["best", "default", "other"], ("c1", "c2", "grey")),
        tooltip=hover(("name", "trial"), ("rating", "rating"), ("state", "state"), ("kept_steps", "after steps")),
    )  # fmt: skip
    given = [name for name in board.columns if str(name).startswith(GIVEN) and board[name].map(str).nunique() > 1]
    table = rated[["rank", "trial", "state", "rating", "kept_steps", "steps", "seconds", *given]].rename(
        columns={"kept_steps": "after steps", "steps": "steps in all"} | {name: str(name).removeprefix(GIVEN) for name in given}
    )
    shown = f"Shown are the best {_MOST_LEADERS} of {len(rated):,} rated trials, and the default."
    notes = [shown] if len(drawn) < len(rated) else []
    if missed:
        notes.append(
            f"{capital(counted(missed, 'trial'))} missed a requirement, and {'has' if missed == 1 else 'have'} no rating."
        )
    return Figure("leaders", question, answer, (Panel(chart(bars, height=20 * len(drawn))),), table, " ".join(notes))
