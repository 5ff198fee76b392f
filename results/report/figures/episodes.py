"""What comes of the episodes by which a policy of an environment is rated, beside policies that learned nothing."""

import pandas as pd

from common.measure import SCORE
from common.texts import counted
from results.report.charts import Figure, Panel, channel, chart, colour, hover, layer
from results.report.subjects import Search
from results.report.words import number, score
from results.statistics import CONFIDENCE, mean

PLACES = {"experiment": 1}  # in the sections of these kinds


def figure(search: Search) -> Figure | None:
    results = search.results
    if not results.of_environment or search.best is None:
        return None
    rated = results.rated_evaluations
    episodes = rated[rated["trial"] == search.best].assign(name=f"trial {search.best}")
    if len(episodes) < 2:
        return None  # its evaluations cannot be read
    others = results.yardsticks.assign(name=results.yardsticks["contender"])
    (aim,) = search.aims
    what, shown = ("return", score) if aim == SCORE.name else (results.measures[aim].label, number)
    # A name that a user gave would be a path within a row to Vega, where it has a dot.
    drawn = pd.concat([episodes, others])[["name", "year", aim, "length"]].rename(columns={aim: "value"})
    whole = mean(episodes[aim].to_numpy(float))
    answer = (
        f"Trial {search.best} has a mean {what} of {shown(whole.value)} in {counted(len(episodes), 'episode')}; its "
        f"{CONFIDENCE:.0%} interval is {shown(whole.low)} to {shown(whole.high)}."
    )
    ticks = layer(
        drawn, {"type": "tick", "thickness": 2, "color": colour("c1")}, x=channel("value", title=f"{what} of an episode"),
        y=channel("name", "nominal", sort=None, axis={"labelLimit": 260}),
        tooltip=hover(("name", "policy"), ("year", "episode"), ("value", what), ("length", "steps")),
    )  # fmt: skip
    heading = aim if what in ("policy", "episode", "steps") else what
    table = drawn.rename(columns={"name": "policy", "year": "episode", "value": heading, "length": "steps"})
    note = "Each mark is an episode, whose seed no training had. Others ran through the first ones of these."
    panels = (Panel(chart(ticks, height=36 * drawn["name"].nunique())),)
    return Figure("episodes", "How do its episodes come out?", answer, panels, table, note)
