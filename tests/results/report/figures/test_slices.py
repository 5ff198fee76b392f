"""Whether the best is at an edge."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from results import analysis
from results.experiment_file import Range
from results.report.figures.slices import figure, slices


def effects(count: int = 50, edge: str = "") -> pd.DataFrame:
    """The best trials have `shared`=True and `gamma` near 0.9; the first is the best."""
    rows = []
    for trial in range(count):
        good = trial < 5
        place = 0.9 + 0.01 * trial if good else (trial % 10) / 10
        common = {"trial": trial, "state": "complete", "rating": 1.0 - trial / count, "acts": True, "is_best": trial == 0}
        rows.append({**common, "hyperparameter": "gamma", "value": place, "label": str(place), "position": place, "choices": 0})
        shared = good or trial % 4 == 0
        of_choice = {"hyperparameter": "shared", "value": np.nan, "label": str(shared), "position": float(shared), "choices": 2}
        rows.append({**common, **of_choice})
    ends = {"low": 0.0, "high": 1.0, "log": False, "at_edge": ""}
    frame = pd.DataFrame(rows).assign(**ends)
    frame.loc[(frame["hyperparameter"] == "gamma") & frame["is_best"], "at_edge"] = edge
    return frame


class Shown:
    """A search of which the effects are known."""

    def __init__(self, effects: pd.DataFrame) -> None:
        self._effects = effects

    def table(self, made: Any) -> pd.DataFrame:
        return self._effects if made is analysis.effects else pd.DataFrame({"hyperparameter": ["gamma"]})


def test_values_that_do_not_act_are_not_drawn() -> None:
    all_act = figure(Shown(effects()))  # type: ignore[arg-type]
    found = effects()
    found.loc[found["hyperparameter"] == "gamma", "acts"] = found["trial"] >= 10
    some = figure(Shown(found))  # type: ignore[arg-type]
    found.loc[found["hyperparameter"] == "gamma", "acts"] = False
    none = figure(Shown(found))  # type: ignore[arg-type]
    assert all_act
    assert some
    assert none
    assert [[panel.title for panel in each.panels] for each in (all_act, some, none)] == [
        ["gamma", "shared"], ["gamma", "shared"], ["shared"]
    ]  # fmt: skip
    assert len(some.panels[0].spec["layer"][1]["data"]["values"]) == 40
    assert some.table is not None
    assert list(some.table["hyperparameter"]) == ["shared"], "what does nothing in the best has no value there"


def shown(low: float, high: float, values: list[float], **more: bool) -> tuple[list[float], list[str]]:
    """Places and texts of the ticks of a range."""
    scale = Range("x", low, high, **more)
    places = scale.positions(pd.Series(values))
    common = {"hyperparameter": "x", "state": "complete", "rating": 1.0, "choices": 0, "acts": True, "at_edge": ""}
    frame = pd.DataFrame({"trial": range(len(values)), "value": values, "label": "v", "position": places, **common})
    frame = frame.assign(is_best=frame["trial"] == 0, low=low, high=high, log=scale.log, from_one=scale.from_one)
    axis = slices(frame, []).panels[0].spec["layer"][-1]["encoding"]["x"]["axis"]
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
    points = slices(frame, ["gamma"]).panels[0].spec["layer"][1]["data"]["values"]
    assert min(point["position"] for point in points) == -0.25


def test_a_best_at_an_edge_is_told_with_the_value() -> None:
    assert slices(effects(), ["gamma"]).answer == "No: trial 0, the best, is at no end of what was searched."
    answer = slices(effects(edge="upper"), []).answer
    assert answer.startswith("Yes: trial 0, the best, has gamma=0.9 (upper end)")
    assert answer.endswith("(--space), where it is valid, may hold a better one.")  # a share has no wider range than 0 to 1
    long = effects(edge="upper").replace({"label": {"0.9": "0.31161753619137217"}})
    assert "gamma=0.312 (upper end)" in slices(long, []).answer


def test_important_hyperparameters_come_first() -> None:
    assert [panel.title for panel in slices(effects(), ["shared"]).panels] == ["shared", "gamma"]


def test_sizes_stand_in_the_order_of_their_numbers() -> None:
    labels = ["64,64", "256,256", "128,128"]
    common = {"state": "complete", "rating": 1.0, "choices": 3, "acts": True, "at_edge": "", "value": np.nan, "position": 0.0}
    ends = {"low": np.nan, "high": np.nan, "log": False, "from_one": False}
    frame = pd.DataFrame({"hyperparameter": "hidden_sizes", "trial": range(3), "label": labels, **common, **ends})
    (panel,) = slices(frame.assign(is_best=frame["trial"] == 0), []).panels
    assert panel.spec["layer"][-1]["encoding"]["x"]["sort"] == ["64,64", "128,128", "256,256"]
