"""The terms of the reward, by policy."""

from collections.abc import Sequence

import pandas as pd

from results.report.charts import CONTROLLERS, Figure, Panel, channel, chart, coloured, each, hover, layer
from results.report.subjects import Judged, Search
from results.report.words import RULES, listed, score

PLACES = {"experiment": 14, "judgement": 3}  # in the sections of these kinds
_TERMS = {"co2": "CO2", "cost": "cost", "solar": "own solar", "grid": "steady load", "ev": "vehicles", "peak": "daily peak"}


def figure(subject: Search | Judged) -> Figure | None:
    return None if subject.terms is None else terms(subject.terms, subject.ranked)


def terms(found: pd.DataFrame, ranked: Sequence[str] = ()) -> Figure:
    question = "Where does the score come from, and where is the best ahead of a rule?"
    if found.empty:
        return Figure("terms", question, "It cannot be said: no policy has terms of the reward.")
    shown = _one_of_each_kind(found, ranked)
    own = shown[shown["kind"].isin(["best", "contender"])]
    rule = shown[shown["kind"] == "rule"]
    # Of the best in the search and of a contender in a judgement, the one that was evaluated like the rule.
    alike = own[own["split"].isin(set(rule["split"]))]
    own = alike if len(alike) else own
    own = own[own["policy"] == own["policy"].iloc[0]] if len(own) else own
    if own.empty:
        answer = "It cannot be said: no trained policy has terms of the reward."
    elif len(rule) and (set(own["split"]) == set(rule["split"])):
        of_rule = {str(row.term): float(row.value) for row in each(rule)}
        gap = {str(row.term): float(row.value) - of_rule[row.term] for row in each(own) if row.term in of_rule}
        most, last = max(gap, key=lambda name: gap[name]), min(gap, key=lambda name: gap[name])
        behind = f", and behind most in {_TERMS.get(last, last)} ({score(gap[last])})" if gap[last] < 0 else ""
        name = rule["policy"].iloc[0]
        answer = (
            f"Against {name} the best is ahead most in {_TERMS.get(most, most)} ({score(gap[most])}){behind}."
            if gap[most] > 0
            else f"The best is ahead of {name} in no term."
        )
    else:
        values = {str(row.term): float(row.value) for row in each(own)}
        most, worst = (end(values, key=lambda name: values[name]) for end in (max, min))
        low = {name: value for name, value in values.items() if value < 0}
        cost = (
            f"; {listed([_TERMS.get(name, name) for name in low])} "
            f"{'costs' if len(low) == 1 else 'cost'} it {score(sum(low.values()))}"
            if len(low)
            else ""
        )
        whole = f" of {score(sum(values.values()))}" if len(values) > 1 else ""
        if values[most] > 0:
            told = f"Most comes from {_TERMS.get(most, most)}: {score(values[most])}{whole}{cost}"
        elif values[worst] < 0:
            told = f"No term is better than on the uncontrolled site; {_TERMS.get(worst, worst)} costs most: "
            told += f"{score(values[worst])}{whole}"
        else:
            told = "No term differs from that of the uncontrolled site"
        answer = f"{told}. {RULES}"
    drawn = shown.assign(name=[_TERMS.get(term, term) for term in shown["term"]])
    policies = list(dict.fromkeys(drawn["policy"]))
    kinds = drawn.drop_duplicates("policy").set_index("policy")["kind"]
    bars = layer(
        drawn, "bar", x=channel("name", "nominal", sort=None, axis={"labelAngle": 0, "labelExpr": "split(datum.label, ' ')"}),
        xOffset=channel("policy", "nominal", sort=policies),
        y=channel("value", title="mean reward an hour"),
        color=coloured("policy", policies, [CONTROLLERS[kinds[name]] for name in policies]),
        tooltip=hover(("policy", "policy"), ("name", "term"), ("value", "reward"), ("split", "split")),
    )  # fmt: skip
    table = found.pivot_table(index=["policy", "split", "runs", "score"], columns="term", values="value").reset_index()
    table = table.sort_values("score", ascending=False)
    table.columns.name = None
    return Figure(
        "terms",
        question,
        answer,
        (Panel(chart(bars, height=240)),),
        table,
        "0 is the uncontrolled site. Of each kind of policy the best is shown. Each term has the weight that it has in the "
        "reward. Cost is the bill's term, and own solar counts PV that the site uses itself.",
    )


def _one_of_each_kind(found: pd.DataFrame, ranked: Sequence[str]) -> pd.DataFrame:
    """Of each kind the best policy; on the test split where the judgement has any."""
    places = {name: place for place, name in enumerate(ranked)}
    one = found.drop_duplicates("policy")
    one = one.assign(place=one["policy"].map(places).fillna(len(places)))
    best = one.sort_values(["place", "score"], ascending=[True, False]).drop_duplicates("kind")
    best = best[~best["kind"].isin(["uncontrolled"])]
    order = [kind for kind in CONTROLLERS if kind in set(best["kind"])]
    names = [best[best["kind"] == kind]["policy"].iloc[0] for kind in order]
    return pd.concat([found[found["policy"] == name] for name in names]) if names else found.head(0)
