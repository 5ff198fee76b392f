"""Figures of what a policy is worth: savings, terms of the reward, and luck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from common.measure import A_YEAR, BASIS, SITE, Measure
from results.judgement import CHANGE, metrics_of
from results.report.charts import CHANGE_AXIS, channel, chart, coloured, compared, hover, layer
from results.report.colours import colour
from results.report.figure import Figure, Panel
from results.report.figures.ranking import CONTROLLERS, MOST_CONTROLLERS
from results.report.rows import each, greatest
from results.report.words import UNCONTROLLED, counted, interval, listed, number, percent, score, unit_for

if TYPE_CHECKING:
    import pandas as pd

_TERMS = {"co2": "CO2", "cost": "cost", "solar": "own solar", "grid": "steady load", "ev": "vehicles", "peak": "daily peak"}
# A page may be read from its first lines alone, so these sentences stand with the savings.
_CHOSEN = "Expect less: these hours also chose the trial."
_CHECKED = "What fresh seeds or new hours give is under the question of luck."
_UNCHECKED = "No new hours or seeds have checked it."
_RULES = "What simple rules save is measured by a judgement: python -m tuning.judge EXPERIMENT."
_BROKEN = "It cannot be said: trainings with fresh seeds did not reach the end, and those that did are the lucky ones."
_MOST_LEADERS = 15


def saved(
    last: pd.DataFrame,
    measures: Mapping[str, Measure],
    best: int | None,
    split: str = "validation",
    checked: bool = False,
) -> Figure:
    """What the best policy of a search saves against the uncontrolled site.

    Args:
        last: rows of its last evaluation, a row a year; see `results.analysis.policies.last_evaluation`.
        measures: of the evaluations.
        best: number of the winner; None without one.
        split: that it was evaluated on.
        checked: whether the page has trainings with fresh seeds, or a judgement.
    """
    import pandas as pd

    question = f"What does the best policy save in {BASIS}?"
    if best is None or last.empty:
        return Figure("saved", question, "It cannot be said: no trial has won.")
    rows = []
    for measure in measures.values():
        own, before = measure.value(last), measure.value(last, SITE)
        if measure.label and not measure.is_share and own == own and before:
            rows.append({"name": measure.label, "unit": measure.shown_unit, "own": own, "before": before})
            rows[-1] |= {"change": own / before - 1.0, "scales": measure.over == A_YEAR}
    if not rows:
        return Figure("saved", question, "It cannot be said: its evaluation has no amounts.")
    found = pd.DataFrame(rows)
    lower = [f"{row.name} by {_amount(row)}" for row in each(found) if row.change < -0.0005]
    higher = [f"{row.name} by {_amount(row)}" for row in each(found) if row.change > 0.0005]
    if not lower and not higher:
        answer = f"Nothing: trial {best} is like {UNCONTROLLED} on the {split} hours."
    elif not lower:
        answer = f"Nothing: against {UNCONTROLLED}, trial {best} raises {listed(higher)} on the {split} hours."
    else:
        raised = f" and raises {listed(higher)}" if higher else ""
        answer = f"Against {UNCONTROLLED}, trial {best} lowers {listed(lower)}{raised} on the {split} hours."
        answer += f" {_CHOSEN} {_CHECKED if checked else _UNCHECKED}"
    table = pd.DataFrame(
        {
            "": [name[:1].upper() + name[1:] for name in found["name"]],
            "best policy": [unit_for(row.unit, max(row.own, row.before))(row.own) for row in each(found)],
            "uncontrolled": [unit_for(row.unit, max(row.own, row.before))(row.before) for row in each(found)],
            "change": [percent(value, sign=True) for value in found["change"]],
        }
    )
    note = (
        f"Scaled from {last['hours'].sum():,.0f} {split} hours; the peak is the highest of all. "
        "The dashed line is the uncontrolled site. "
        f"The bill is in the tariff's currency. {_RULES}"
    )
    return Figure("saved", question, answer, (Panel(compared(found)),), table, note)


def _amount(row: Any) -> str:
    """A change in per cent and, with its unit, of a year."""
    size = abs(row.own - row.before)
    shown = unit_for(row.unit, size)(size)
    of_year = "" if not row.scales else " a year" if row.unit else " a year in the tariff's currency"
    return f"{percent(abs(row.change))} ({shown}{of_year})"


def terms(found: pd.DataFrame, ranked: Sequence[str] = ()) -> Figure:
    """The terms of the reward, by policy.

    Args:
        found: of `results.analysis.reward_terms`.
        ranked: contenders of a judgement, the best first; the others, and without any all, rank by their scores.
    """
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
        answer = f"{told}. {_RULES}"
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
    import pandas as pd

    return pd.concat([found[found["policy"] == name] for name in names]) if names else found.head(0)


def checked(found: pd.DataFrame, confirmed: pd.DataFrame) -> bool:
    """Whether `luck` says something of the winner: its training again, or its judgement.

    Args:
        found: of `results.analysis.luck`.
        confirmed: of `results.analysis.confirmed`.
    """
    return bool((~found["is_default"].astype(bool) & found["change"].notna()).any() or confirmed["gain"].notna().any())


def luck(found: pd.DataFrame, confirmed: pd.DataFrame) -> Figure:
    """Score in the search beside that of trainings with fresh seeds.

    Args:
        found: of `results.analysis.luck`.
        confirmed: of `results.analysis.confirmed`.
    """
    question = "Is the winner good, or was it lucky?"
    broken = bool((confirmed["ended_early"] > 0).any())
    if found.empty and broken:
        return Figure("luck", question, _BROKEN)
    if found.empty:
        return Figure(
            "luck",
            question,
            "It cannot be said: each trial was trained once, with one random seed. Training the best again would tell: "
            "--confirm keeps a part of the search's time for it, and python -m tuning.judge EXPERIMENT does it afterwards.",
        )
    import pandas as pd

    own = found[~found["is_default"] & found["change"].notna()]
    gains = confirmed[confirmed["gain"].notna()]
    told = []
    if len(gains):
        top = greatest(gains, "gain")
        verdict = "better than" if top.gain_low > 0 else "worse than" if top.gain_high < 0 else "not surely other than"
        told.append(
            f"with fresh seeds trial {int(top.confirms)} is {verdict} the default: "
            f"{score(top.gain)} {interval(top.gain_low, top.gain_high)}"
        )
    if len(own):
        same = own.sort_values("fresh", ascending=False).iloc[0]
        fell = "fell" if same.change < 0 else "rose"
        told.append(
            f"the {same.measure} of {same['name']} {fell} from {score(same.search)} in the search "
            f"to {score(same.fresh)} on the {same.split} split"
        )
    none = _BROKEN if broken else "It cannot be said: no winner was trained again."
    answer = f"{_capital('; '.join(told))}." if told else none
    drawn = found.assign(label=[f"{row.name} ({row.split})" for row in each(found[["name", "split"]])])
    long = pd.concat(
        [drawn.assign(value=drawn["search"], what="in the search"), drawn.assign(value=drawn["fresh"], what="fresh seeds")]
    )
    long = long[long["value"].notna()]
    y = channel("label", "nominal", sort=None, axis={"labelLimit": 230})
    panels = []
    # Scores and ratings of another objective have different units.
    for measure in dict.fromkeys(long["measure"]):
        points_of, ends_of = long[long["measure"] == measure], drawn[(drawn["measure"] == measure) & drawn["low"].notna()]
        x = channel("value", title=measure, scale={"zero": False})
        ends = layer(
            ends_of, {"type": "rule", "strokeWidth": 2, "color": colour("c1")}, y=y, x=channel("low", title=measure),
            x2={"field": "high"},
        )  # fmt: skip
        points = layer(
            points_of, {"type": "point", "filled": True, "size": 80}, y=y, x=x, shape=channel("what", "nominal"),
            color=coloured("what", ["in the search", "fresh seeds"], ("c2", "c1")),
            tooltip=hover(("label", "what"), ("value", measure), ("what", "from"), ("runs", "runs")),
        )  # fmt: skip
        height = 34 * points_of["label"].nunique()
        panels.append(Panel(chart(ends, points, height=height), _capital(measure) if found["measure"].nunique() > 1 else ""))
    of = ["measure"] if found["measure"].nunique() > 1 else []
    table = found[["name", "split", *of, "runs", "search", "fresh", "low", "high", "change"]].rename(
        columns={"search": "in the search", "fresh": "fresh seeds", "low": "from", "high": "to"}
    )
    note = "Lines are Student's 95 % intervals over seeds. The best of many is chosen for its score, so it is lucky in part."
    return Figure("luck", question, answer, tuple(panels), table, note)


def amounts(table: pd.DataFrame) -> Figure:
    """Changes of emission and bill by contender.

    Args:
        table: of `results.judgement.judgement`.
    """
    question = f"What does each controller save in {BASIS}?"
    known = table[table["co2_change"].notna() & table["bill_change"].notna()]
    if known.empty:
        return Figure("amounts", question, "It cannot be said: nothing was judged.")
    import pandas as pd

    trained = known[known["algorithm"].astype(bool) & known["comparable"]]
    top = (trained if len(trained) else known).iloc[0]
    verb = {"co2_change": "CO2", "bill_change": "the bill"}
    told, before = [], ""
    for name, what in verb.items():
        does = "lowers" if top[name] <= 0 else "raises"
        named = what if does == before else f"{does} {what}"
        told.append(f"{named} by {percent(abs(float(top[name])))}{_absolute(top, name)}")
        before = does
    answer = f"{top['contender']} {' and '.join(told)} against {UNCONTROLLED}."
    drawn = known[~known["contender"].isin(["uncontrolled", "no PV, no battery"])].head(MOST_CONTROLLERS)
    long = drawn.melt("contender", ["co2_change", "bill_change"], "what", "change")
    long["what"] = long["what"].map({"co2_change": "CO2", "bill_change": "bill"})
    bars = layer(
        long, {"type": "bar"}, y=channel("contender", "nominal", sort=list(drawn["contender"]), axis={"labelLimit": 230}),
        yOffset=channel("what", "nominal", sort=["CO2", "bill"]),
        x=channel("change", title="change against the uncontrolled site", axis=dict(CHANGE_AXIS)),
        color=coloured("what", ["CO2", "bill"], ("c3", "c1")),
        tooltip=[*hover(("contender", "contender"), ("what", "of")), {"field": "change", "title": "change", "format": "+.1%"}],
    )  # fmt: skip
    shown = pd.DataFrame({"controller": known["contender"]})
    for name, measure in metrics_of(table).items():
        if name in ("score", "bound_share"):
            continue
        if measure.is_share:
            title = f"{measure.label}, change" if measure.over == CHANGE else measure.label
            shown[title] = [percent(value) if value == value else "" for value in known[name]]
        else:
            size = unit_for(measure.shown_unit, float(known[name].abs().max()))
            shown[f"{measure.label}, {size.unit}".removesuffix(", ")] = known[name] * size.factor
    note = "The bill is in the tariff's currency."
    return Figure("amounts", question, answer, (Panel(chart(bars, height=max(40, 30 * len(drawn)))),), shown, note)


def _absolute(row: Any, name: str) -> str:
    """A change as an amount a year: the table has what is left, and its part."""
    column, unit = {"co2_change": ("co2_kg", "kg"), "bill_change": ("bill", "")}[name]
    left, change = float(row[column]), float(row[name])
    if not (left == left and change > -1.0):
        return ""
    size = abs(left / (1.0 + change) - left)
    money = "" if unit else " in the tariff's currency"
    return f" ({unit_for(unit, size)(size)} a year{money})"


def leaders(board: pd.DataFrame) -> Figure:
    """The best trials.

    Args:
        board: of `results.analysis.leaderboard`.
    """
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
            trained = f"trial {default['trial'].iloc[0]}, after {default['steps'].iloc[0]:,} steps"
            beside = f", {number(abs(gap))} {'above' if gap >= 0 else 'below'} the default ({trained})"
        named = ", the default" if bool(best["is_default"]) else ""
        answer = f"Trial {best['trial']}{named}, with {score(float(best['rating']))} after {best['steps']:,} steps{beside}."
    drawn = rated[(rated["rank"] <= _MOST_LEADERS) | rated["is_default"]]
    drawn = drawn.assign(name=[str(trial) for trial in drawn["trial"]])
    drawn["kind"] = [
        "best" if best else "default" if default else "other"
        for best, default in zip(drawn["is_best"], drawn["is_default"], strict=True)
    ]
    bars = layer(
        drawn, {"type": "bar", "height": 14}, y=channel("name", "nominal", "trial", sort=None),
        x=channel("rating", title="rating", axis={"tickCount": 8}),
        color=coloured("kind", ["best", "default", "other"], ("c1", "c2", "grey")),
        tooltip=hover(("name", "trial"), ("rating", "rating"), ("state", "state"), ("steps", "steps")),
    )  # fmt: skip
    given = [name for name in board.columns if str(name).startswith("hp_") and board[name].map(str).nunique() > 1]
    table = rated[["rank", "trial", "state", "rating", "steps", "seconds", *given]].rename(
        columns={name: str(name).removeprefix("hp_") for name in given}
    )
    shown = f"Shown are the best {_MOST_LEADERS} of {len(rated):,} rated trials, and the default."
    notes = [shown] if len(drawn) < len(rated) else []
    if missed:
        notes.append(
            f"{_capital(counted(missed, 'trial'))} missed a requirement, and {'has' if missed == 1 else 'have'} no rating."
        )
    omitted = " ".join(notes)
    return Figure("leaders", question, answer, (Panel(chart(bars, height=20 * len(drawn))),), table, omitted)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
