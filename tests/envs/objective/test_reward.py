"""Terms of the improvement reward, by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import ScenarioError
from envs.objective.reward import TERMS, Scale, StepFigures, check_reward, coefficients, improvement_terms, reference_lines
from envs.objective.weights import Weights
from envs.scenarios.scenario import Scenario, scenario
from tests.envs.schema_changes import edited, put

SCALE = Scale(emission_kg=10.0, cost=20.0, pv_kwh=5.0, ramp_kwh=4.0, required_kwh=2.0, peak_rise_kw=8.0, occupied=2.0)
UNCONTROLLED = StepFigures(
    emission_kg=8.0, cost=15.0, solar_use_kwh=3.0, ramp_kwh=2.0, missing_kwh=1.0, peak_rise_kw=4.0, unmet_c=1.0
)
WEIGHTS = Weights(peak=0.3)


@pytest.mark.parametrize(
    ("figure", "value", "term", "expected"),
    [
        ("emission_kg", 6.0, "co2", 0.50 * 2.0 / 10.0),
        ("cost", 25.0, "cost", -0.15 * 10.0 / 20.0),
        ("solar_use_kwh", 4.0, "solar", 0.20 * 1.0 / 5.0),
        ("ramp_kwh", 6.0, "grid", -0.05 * 4.0 / 4.0),
        ("missing_kwh", 3.0, "ev", -0.10 * 2.0 / 2.0),
        ("missing_kwh", 0.0, "ev", 0.10 * 1.0 / 2.0),
        ("peak_rise_kw", 0.0, "peak", 0.3 * 4.0 / 8.0),
        ("unmet_c", 4.0, "comfort", -1.0 * 3.0 / 2.0),
    ],
)
def test_each_figure_moves_its_own_term_only(figure: str, value: float, term: str, expected: float) -> None:
    terms = improvement_terms(replace(UNCONTROLLED, **{figure: value}), UNCONTROLLED, SCALE, WEIGHTS)
    assert terms.pop(term) == pytest.approx(expected)
    assert set(terms.values()) == {0.0}


def test_a_site_without_vehicles_has_no_vehicle_term() -> None:
    now = replace(UNCONTROLLED, missing_kwh=3.0)
    assert improvement_terms(now, UNCONTROLLED, replace(SCALE, required_kwh=0.0))["ev"] == 0.0


def test_terms_and_their_means_come_in_one_order() -> None:
    assert list(SCALE.by_term()) == list(improvement_terms(UNCONTROLLED, UNCONTROLLED, SCALE)) == list(TERMS)


def test_a_coefficient_is_what_a_unit_of_gain_is_worth() -> None:
    now = StepFigures(
        emission_kg=7.0, cost=14.0, solar_use_kwh=4.0, ramp_kwh=1.0, missing_kwh=0.0, peak_rise_kw=3.0, unmet_c=0.0
    )
    assert improvement_terms(now, UNCONTROLLED, SCALE, WEIGHTS) == pytest.approx(coefficients(SCALE, WEIGHTS))
    assert coefficients(replace(SCALE, required_kwh=0.0))["ev"] == 0.0


@pytest.mark.parametrize("action", ["cooling_device", "deferrable_appliance"])
def test_it_is_refused_where_it_does_not_know_what_actions_do_for_people(
    site: Scenario, small_schema: Path, tmp_path: Path, action: str
) -> None:
    check_reward(site, "improvement")
    serving = scenario(str(edited(small_schema, tmp_path, put("actions", action, value={"active": True}))))
    check_reward(serving, "schema")
    assert reference_lines(site) == []
    # Cooling the uncontrolled site has, as the building's own controller would.
    assert [f"leaves {action} off" in line for line in reference_lines(serving)] == [True] * (action != "cooling_device")
    with pytest.raises(ScenarioError, match=action):
        check_reward(serving, "improvement")
