"""Sentences about hyperparameters, on tables with a known answer."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from results.experiment_file import Range
from results.report.figures import choices


def important(low: float, beyond: bool) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "hyperparameter": ["gamma", "n_steps"], "importance": [0.8, 0.2], "low": [low, 0.0], "high": [0.9, 0.3],
            "divergence": [1.0, 0.1], "chance": [0.2, 0.2], "beyond_chance": [beyond, False], "trials": 30, "best_trials": 3,
        }
    )  # fmt: skip


def test_importance_is_said_as_surely_as_it_is_known() -> None:
    assert choices.importance(important(0.5, True), 30).answer == (
        "gamma matters most: 80.0 % of what sets the best apart (50.0 % to 90.0 %)."
    )
    assert (
        choices.importance(important(0.0, True), 30).answer
        == "None surely. Most likely gamma (80.0 % of what sets the best apart); but 30 trials are too few: "
        "the part of each may be 0, and that of gamma up to 90.0 %."
    )
    assert choices.importance(important(0.0, False), 30).answer.startswith("None surely: with 30 trials no importance")
    few = choices.importance(important(0.0, False).head(0), 2)
    assert few.answer == "It cannot be said from 2 trials: it takes at least 8."
    few = choices.importance(important(0.0, False).head(0), 7, None, True)
    assert few.answer == (
        "It cannot be said from 7 trials: it takes at least 8. "
        "What led from the default to the best is below, change by change."
    )


@pytest.mark.parametrize(
    ("low", "beyond", "kinds"), [(0.5, True, "surely"), (0.0, True, "perhaps"), (0.0, False, "as by chance")]
)
def test_bars_of_importance_are_as_sure_as_the_sentence(low: float, beyond: bool, kinds: str) -> None:
    (panel,) = choices.importance(important(low, beyond), 30).panels
    assert panel.spec["layer"][0]["data"]["values"][0]["kind"] == kinds


def shown(low: float, high: float, values: list[float], **more: bool) -> tuple[list[float], list[str]]:
    """Places and texts of the ticks of a range."""
    scale = Range("x", low, high, **more)
    places = scale.positions(pd.Series(values))
    common = {"hyperparameter": "x", "state": "complete", "rating": 1.0, "choices": 0, "acts": True, "at_edge": ""}
    frame = pd.DataFrame({"trial": range(len(values)), "value": values, "label": "v", "position": places, **common})
    frame = frame.assign(is_best=frame["trial"] == 0, low=low, high=high, log=scale.log, from_one=scale.from_one)
    axis = choices.slices(frame, []).panels[0].spec["layer"][-1]["encoding"]["x"]["axis"]
    return axis["values"], re.findall("'([^']*)'", axis["labelExpr"])


@pytest.mark.parametrize(
    ("low", "high", "values", "more", "texts"),
    [
        (3e-5, 3e-3, [1e-4], {"log": True}, ["3e-5", "0.0002", "0.003"]),
        (0.9, 0.999, [0.95], {"log": True, "from_one": True}, ["0.9", "0.99", "0.999"]),
        (512.0, 8192.0, [1024.0], {"log": True}, ["512", "2,048", "8,192"]),
        (-3.0, 0.0, [-1.5], {}, ["-3", "-2", "-1", "0"]),
        (0.1, 0.4, [0.2], {}, ["0.1", "0.2", "0.3", "0.4"]),
        (2.0, 2.0, [2.0], {}, ["2"]),
    ],
)
def test_ticks_stand_on_the_scale_of_the_search_with_values_that_a_person_reads(
    low: float, high: float, values: list[float], more: dict[str, bool], texts: list[str]
) -> None:
    places, told = shown(low, high, values, **more)
    assert told[0] == texts[0]
    assert told == texts
    assert all(later - earlier >= 0.28 for earlier, later in pairwise(places))


def test_a_start_beyond_the_range_is_drawn_near_its_end() -> None:
    frame = effects()
    frame.loc[frame["trial"] == 7, "position"] = -np.inf
    points = choices.slices(frame, ["gamma"]).panels[0].spec["layer"][1]["data"]["values"]
    assert min(point["position"] for point in points) == -0.25


def effects(count: int = 50, edge: str = "") -> pd.DataFrame:
    """The best trials have `shared`=True and `gamma` near 0.9; the first is the best."""
    rows = []
    for trial in range(count):
        good = trial < 5
        place = 0.9 + 0.01 * trial if good else (trial % 10) / 10
        common = {"trial": trial, "state": "complete", "rating": 1.0 - trial / count, "acts": True, "is_best": trial == 0}
        rows.append({**common, "hyperparameter": "gamma", "value": place, "label": str(place), "position": place, "choices": 0})
        shared = good or trial % 4 == 0
        rows.append(
            {
                **common,
                "hyperparameter": "shared",
                "value": np.nan,
                "label": str(shared),
                "position": float(shared),
                "choices": 2,
            }
        )
    ends = {"low": 0.0, "high": 1.0, "log": False, "at_edge": ""}
    frame = pd.DataFrame(rows).assign(**ends)
    frame.loc[(frame["hyperparameter"] == "gamma") & frame["is_best"], "at_edge"] = edge
    return frame


def test_a_best_at_an_edge_is_told_with_the_value() -> None:
    assert choices.slices(effects(), ["gamma"]).answer == "No: trial 0, the best, lies within all 2 ranges."
    assert choices.slices(effects(edge="upper"), []).answer.startswith("Yes: trial 0, the best, has gamma=0.9 (upper end)")
    long = effects(edge="upper").replace({"label": {"0.9": "0.31161753619137217"}})
    assert "gamma=0.312 (upper end)" in choices.slices(long, []).answer
    assert choices.slices(effects().head(0), []).answer == "It cannot be said: no trial was rated."


def test_important_hyperparameters_come_first() -> None:
    assert [panel.title for panel in choices.slices(effects(), ["shared"]).panels] == ["shared", "gamma"]


def test_what_good_trials_share_is_said_if_others_lack_it() -> None:
    assert (
        choices.parallel(effects(), []).answer == "The best 5 of 50 trials all have shared=True and gamma from 0.900 to 0.940."
    )
    assert choices.parallel(effects(8), []).answer == "It cannot be said from 8 trials; it takes at least 10."
    apart = effects()
    apart.loc[(apart["trial"] < 5) & (apart["hyperparameter"] == "gamma"), "position"] = [0.0, 1.0, 0.5, 0.2, 0.8]
    apart.loc[(apart["trial"] == 2), "label"] = "False"
    assert choices.parallel(apart, []).answer.startswith("Nothing that the others lack:")


def test_gaps_wider_than_a_fifth_and_untried_choices_are_named() -> None:
    found = pd.DataFrame(
        {
            "hyperparameter": ["gamma", "sizes"], "low": [0.9, np.nan], "high": [1.0, np.nan], "trials": 9, "values": [9, 1],
            "parts": [10, 2], "tried": [0.5, 0.5], "expected": 0.6, "gap_low": [0.92, np.nan], "gap_high": [0.96, np.nan],
            "gap": [0.4, np.nan], "untried": ["", "64,64"],
        }
    )  # fmt: skip
    assert choices.coverage(found).answer == (
        "On average 50.0 % of a range was tried; the widest gap is gamma between 0.920 and 0.960, 40.0 % of its range "
        "and sizes=64,64."
    )
    assert choices.coverage(found.assign(gap=0.1, untried="")).answer.endswith("no gap is wider than a fifth of a range.")


def test_the_note_names_what_the_search_hardly_varied() -> None:
    fixed = pd.DataFrame({"hyperparameter": ["shared_policy"], "value": ["True"], "trials": [20], "of": [24]})
    told = "Hardly varied: shared_policy (20 of 24 trials True); what a search settles early looks unimportant here."
    assert told in choices.importance(important(0.5, True), 30, fixed).note
    assert "Hardly varied" not in choices.importance(important(0.5, True), 30, fixed.head(0)).note
