"""Score in the search beside that of trainings with fresh seeds."""

import pandas as pd

from results.report.charts import Figure, Panel, channel, chart, coloured, ends, hover, layer
from results.report.subjects import Judged, Search
from results.report.words import capital, score

PLACES = {"experiment": 8, "judgement": 3}  # in the sections of these kinds


def figure(subject: Search | Judged) -> Figure | None:
    return None if subject.lucky is None else luck(subject.lucky, subject.confirmed)


def luck(rows: pd.DataFrame, confirmed: pd.DataFrame) -> Figure | None:
    question = "Is the winner good, or was it lucky?"
    others = rows[~rows["is_default"] & rows["change"].notna()]
    gains = confirmed[confirmed["gain"].notna()]
    told = []
    if len(gains):
        top = gains.iloc[int(gains["gain"].argmax())]
        verdict = "better than" if top.gain_low > 0 else "worse than" if top.gain_high < 0 else "not surely other than"
        told.append(
            f"with fresh seeds trial {int(top.confirms)} is {verdict} the default: "
            f"{score(top.gain)} ({score(top.gain_low)} to {score(top.gain_high)})"
        )
    if len(others):
        same = others.sort_values("fresh", ascending=False).iloc[0]
        fell = "fell" if same.change < 0 else "rose"
        told.append(
            f"the {same.measure} of {same['name']} {fell} from {score(same.search)} in the search "
            f"to {score(same.fresh)} on the {same.split} split"
        )
    if not told:
        return None
    answer = f"{capital('; '.join(told))}."
    drawn = rows.assign(label=rows["name"] + " (" + rows["split"] + ")")
    long = pd.concat(
        [drawn.assign(value=drawn["search"], what="in the search"), drawn.assign(value=drawn["fresh"], what="fresh seeds")]
    )
    long = long[long["value"].notna()]
    y = channel("label", "nominal", sort=None, axis={"labelLimit": 230})
    panels, several = [], rows["measure"].nunique() > 1
    # Scores and ratings of another objective have different units.
    for measure in dict.fromkeys(long["measure"]):
        points_of = long[long["measure"] == measure]
        x = channel("value", title=measure, scale={"zero": False})
        lines = ends(drawn[drawn["measure"] == measure], y, measure, "c1")
        points = layer(
            points_of, {"type": "point", "filled": True, "size": 80}, y=y, x=x, shape=channel("what", "nominal"),
            color=coloured("what", ["in the search", "fresh seeds"], ("c2", "c1")),
            tooltip=hover(("label", "what"), ("value", measure), ("what", "from"), ("runs", "runs")),
        )  # fmt: skip
        height = 34 * points_of["label"].nunique()
        panels.append(Panel(chart(lines, points, height=height), capital(measure) if several else ""))
    shown = ["name", "split", *(["measure"] if several else []), "runs", "search", "fresh", "low", "high", "change"]
    table = rows[shown].rename(columns={"search": "in the search", "fresh": "fresh seeds", "low": "from", "high": "to"})
    note = "Lines are Student's 95 % intervals over seeds. The best of many is chosen for its score, so it is lucky in part."
    return Figure("luck", question, answer, tuple(panels), table, note)
