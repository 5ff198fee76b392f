"""Measures are those of the evaluations, with the same directions and the same value over several years."""

import math

import numpy as np
import pandas as pd
import pytest

from envs.objective.measures import MEASURES as OF_EVALUATIONS
from results.measures import MEASURES, measure, values


def test_directions_and_years_are_those_of_the_evaluations() -> None:
    known = {name: own for name, own in OF_EVALUATIONS.items() if own.better != "neither"}
    assert set(MEASURES) == {name for name in known if not name.startswith("citylearn_")}
    for name, own in known.items():
        read = measure(name)
        assert read is not None
        assert (read.better, read.over) == (own.better, own.over), name
    assert all(measure(name) is None for name, own in OF_EVALUATIONS.items() if own.better == "neither")


@pytest.mark.parametrize("name", [name for name, own in OF_EVALUATIONS.items() if own.better != "neither"])
def test_the_value_over_years_is_that_of_the_evaluations(name: str) -> None:
    random = np.random.default_rng(3)
    columns = {*OF_EVALUATIONS, "hours", *(own.over for own in OF_EVALUATIONS.values())}
    rows = pd.DataFrame({column: random.uniform(1, 9, 3) for column in sorted(columns)}).assign(trial=4)
    own = measure(name)
    assert own is not None
    expected = OF_EVALUATIONS[name].value([{str(key): each for key, each in row.items()} for row in rows.to_dict("records")])
    assert values(rows, name, own.over).to_dict() == {4: pytest.approx(expected)}
    assert values(rows.iloc[:0], name, own.over).empty
    rows.loc[1, name] = None
    assert math.isnan(values(rows, name, own.over)[4])


def test_what_is_not_there_has_no_value() -> None:
    rows = pd.DataFrame({"trial": 0, "hours": [1.0], "ev_served": [1.0], "self_consumption": [0.5], "pv_kwh": [0.0]})
    assert math.isnan(values(rows, "bill", "a year")[0])
    assert math.isnan(values(rows, "ev_served", "ev_required_kwh")[0])
    assert math.isnan(values(rows, "self_consumption", "pv_kwh")[0])
