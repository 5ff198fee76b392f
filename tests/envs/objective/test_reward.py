"""Terms of the improvement reward, by hand."""

from pathlib import Path

import pytest

from common.errors import ScenarioError
from envs.objective.reward import TERMS, check_reward, coefficients, improvement_terms, reference_lines
from envs.objective.weights import Weights
from envs.scenarios.scenario import Scenario, scenario
from tests.envs.schema_changes import edited, put

SCALE = {"co2": 10.0, "cost": 20.0, "solar": 5.0, "grid": 4.0, "ev": 2.0, "peak": 8.0, "comfort": 2.0}
UNCONTROLLED = {"co2": 8.0, "cost": 15.0, "solar": 3.0, "grid": 2.0, "ev": 1.0, "peak": 4.0, "comfort": 1.0}
WEIGHTS = Weights(peak=0.3)


@pytest.mark.parametrize(
    ("value", "term", "expected"),
    [
        (6.0, "co2", 0.50 * 2.0 / 10.0),
        (25.0, "cost", -0.15 * 10.0 / 20.0),
        (4.0, "solar", 0.20 * 1.0 / 5.0),
        (6.0, "grid", -0.05 * 4.0 / 4.0),
        (3.0, "ev", -0.10 * 2.0 / 2.0),
        (0.0, "ev", 0.10 * 1.0 / 2.0),
        (0.0, "peak", 0.3 * 4.0 / 8.0),
        (4.0, "comfort", -1.0 * 3.0 / 2.0),
    ],
)
def test_each_figure_moves_its_own_term_only(value: float, term: str, expected: float) -> None:
    terms = improvement_terms({**UNCONTROLLED, term: value}, UNCONTROLLED, SCALE, WEIGHTS)
    assert terms.pop(term) == pytest.approx(expected)
    assert set(terms.values()) == {0.0}


def test_a_site_without_vehicles_has_no_vehicle_term() -> None:
    assert improvement_terms({**UNCONTROLLED, "ev": 3.0}, UNCONTROLLED, {**SCALE, "ev": 0.0})["ev"] == 0.0


def test_terms_come_in_one_order() -> None:
    assert list(improvement_terms(UNCONTROLLED, UNCONTROLLED, SCALE)) == list(TERMS)


def test_a_coefficient_is_what_a_unit_of_gain_is_worth() -> None:
    now = {"co2": 7.0, "cost": 14.0, "solar": 4.0, "grid": 1.0, "ev": 0.0, "peak": 3.0, "comfort": 0.0}
    assert improvement_terms(now, UNCONTROLLED, SCALE, WEIGHTS) == pytest.approx(coefficients(SCALE, WEIGHTS))
    assert coefficients({**SCALE, "ev": 0.0})["ev"] == 0.0


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
