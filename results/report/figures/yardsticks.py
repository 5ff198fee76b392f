"""Where the best policies of a search stand between no control and perfect foresight."""

from common.measure import SCORE
from results.analysis.judged import BOUND, CONTENDER
from results.analysis.yardsticks import PLAN, TRIAL, beside_yardsticks, yardstick_lines
from results.fresh import DEFAULT
from results.report.charts import CONTROLLERS, Figure, Panel, by_kind, channel, chart, hover, layer
from results.report.subjects import Search
from results.report.words import listed, with_unit

PLACES = {"experiment": 5}  # in the sections of these kinds
_COLOURS = {**CONTROLLERS, TRIAL: CONTROLLERS[CONTENDER], PLAN: CONTROLLERS[DEFAULT]}


def figure(search: Search) -> Figure | None:
    question, lines = "How much of what is possible does the best policy reach?", yardstick_lines(search.results)
    measures = search.results.measures
    aims = [measures[name] for name in search.aims if name != SCORE.name and name in measures]
    table = beside_yardsticks(search.results, aims)
    if not lines:
        return None
    if table.empty:
        return Figure("yardsticks", question, " ".join(lines))
    bars = layer(
        table, {"type": "bar", "height": 14}, y=channel("name", "nominal", sort=None, axis={"labelLimit": 260}),
        x=channel("score"), color=by_kind(table, "kind", _COLOURS),
        tooltip=hover(("name", "controller"), ("score", "score"), ("of_bound", "of the bound"), ("served", "served"),
                      ("discomfort", "discomfort")),
    )  # fmt: skip
    foresight = "; the bound knows the future" if (table["kind"] == BOUND).any() else ""
    note = f"All ran through the hours that rated the trials. 0 is the uncontrolled site{foresight}."
    headings = {"name": "controller", "of_bound": "of the bound", **{aim.name: with_unit(aim) for aim in aims}}
    if short := list(table.loc[table["misses"].astype(bool), "name"]):
        note += f" What a winner has to meet is missed by {listed(short)}."
    told = table.drop(columns="misses").dropna(axis="columns", how="all").rename(columns=headings)
    return Figure("yardsticks", question, " ".join(lines), (Panel(chart(bars, height=24 * len(table))),), told, note)
