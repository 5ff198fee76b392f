"""The front is told by its two ends."""

from typing import Any

import numpy as np
import pandas as pd

from results.report.figures.front import front

HEADINGS = {"co2": "co2, kg", "bill": "bill, EUR"}


def trial(number: int, gain: float, gain_2: float, on_front: bool) -> dict[str, Any]:
    facts = {"trial": number, "state": "complete", "steps": 4000, "score": 0.1, "objective": 5.0, "objective_2": 7.0}
    return {**facts, "gain": gain, "gain_2": gain_2, "on_front": on_front}


FOUND = pd.DataFrame([trial(2, 0.2, 0.1, True), trial(1, 0.15, 0.05, False), trial(0, 0.1, 0.3, True)])


def test_the_ends_of_the_front_are_named_and_its_members_have_a_colour() -> None:
    made = front(FOUND, HEADINGS, 0)
    assert made.answer == "2 trials of 3, from trial 2 (co2 +20.0 %, bill +10.0 %) to trial 0 (co2 +10.0 %, bill +30.0 %)."
    points = made.panels[0].spec["layer"][1]["data"]["values"]
    assert {point["trial"]: point["kind"] for point in points} == {2: "on the front", 1: "other trial", 0: "on the front"}
    assert "The ring is trial 0" in made.note
    assert made.table is not None
    assert made.table["trial"].tolist() == [2, 0]
    assert {"co2, kg", "bill, EUR"} < set(made.table)


def test_a_front_of_one_trial_is_told_and_none_has_no_figure() -> None:
    alone = front(FOUND.assign(on_front=np.array([True, False, False])), HEADINGS, None)
    assert alone.answer == "Trial 2 alone, co2 +20.0 %, bill +10.0 %: no other that may win is better in either."
    assert front(FOUND.assign(on_front=False), HEADINGS, None) is None
