"""Terms of the improvement reward, by hand."""

from dataclasses import replace

import pytest

from envs.objective.reward import WEIGHTS, Scale, StepFigures, improvement_terms

SCALE = Scale(emission_kg=10.0, cost=20.0, pv_kwh=5.0, ramp_kwh=4.0, required_kwh=2.0)
UNCONTROLLED = StepFigures(emission_kg=8.0, cost=15.0, solar_use_kwh=3.0, ramp_kwh=2.0, missing_kwh=1.0)


def test_weights_add_up_to_one() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1.0)


def test_the_uncontrolled_step_gets_nothing() -> None:
    assert set(improvement_terms(UNCONTROLLED, UNCONTROLLED, SCALE).values()) == {0.0}


@pytest.mark.parametrize(
    ("figure", "value", "term", "expected"),
    [
        ("emission_kg", 6.0, "co2", 0.50 * 2.0 / 10.0),
        ("cost", 25.0, "cost", -0.15 * 10.0 / 20.0),
        ("solar_use_kwh", 4.0, "solar", 0.20 * 1.0 / 5.0),
        ("ramp_kwh", 6.0, "grid", -0.05 * 4.0 / 4.0),
        ("missing_kwh", 3.0, "ev", -0.10 * 2.0 / 2.0),
        ("missing_kwh", 0.0, "ev", 0.10 * 1.0 / 2.0),
    ],
)
def test_each_figure_moves_its_own_term_only(figure: str, value: float, term: str, expected: float) -> None:
    terms = improvement_terms(replace(UNCONTROLLED, **{figure: value}), UNCONTROLLED, SCALE)
    assert terms.pop(term) == pytest.approx(expected)
    assert set(terms.values()) == {0.0}


def test_a_site_without_vehicles_has_no_vehicle_term() -> None:
    now = replace(UNCONTROLLED, missing_kwh=3.0)
    assert improvement_terms(now, UNCONTROLLED, replace(SCALE, required_kwh=0.0))["ev"] == 0.0
