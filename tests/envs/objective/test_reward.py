"""Terms of the improvement reward, by hand."""

from pathlib import Path

import numpy as np
import pytest

from common.errors import ScenarioError
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.environments.backend import beyond_batch
from envs.objective.reward import TERMS, check_reward, coefficients, improvement_terms, reference_lines, serves_people
from envs.objective.weights import Weights
from envs.scenarios.scenario import Scenario, scenario
from tests.envs.appliances import with_appliance
from tests.envs.schema_changes import MALL, edit, edited, put

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


def test_it_is_refused_where_it_does_not_know_what_actions_do_for_people(
    site: Scenario, small_schema: Path, tmp_path: Path
) -> None:
    check_reward(site, "improvement")
    assert reference_lines(site) == []
    washing = scenario(str(with_appliance(small_schema, tmp_path / "washing")))
    own = {"actions": {"cooling_device": {"active": True}}}
    path = edited(small_schema, tmp_path / "own", lambda schema: schema.update(own))
    cooling = scenario(str(edit(path, put(*MALL, "type", value="unittest.TestCase"))), trusted=True)
    # Cooling the uncontrolled site has, as the building's own controller would.
    for serving, action, is_off in ((washing, "deferrable_appliance", True), (cooling, "cooling_device", False)):
        check_reward(serving, "schema")
        assert [f"leaves {action} off" in line for line in reference_lines(serving)] == [True] * is_off
        assert serves_people(serving)
        with pytest.raises(ScenarioError, match=action):
            check_reward(serving, "improvement")


def test_actions_that_no_device_obeys_are_no_reason_to_refuse(small_schema: Path, tmp_path: Path) -> None:
    names = ("cooling_device", "deferrable_appliance", "deferrable_appliance_washer", "escalator")
    idle = edited(
        small_schema, tmp_path / "idle", lambda schema: schema["actions"].update({name: {"active": True} for name in names})
    )
    inactive = with_appliance(small_schema, tmp_path / "inactive", inactive_actions=["deferrable_appliance"])
    for path in (idle, inactive):
        site = scenario(str(path))
        check_reward(site, "improvement")
        assert not serves_people(site)
        assert beyond_batch(site) == []
    simulator, plain = (CityLearnSimulator(path, with_reward=False) for path in (idle, small_schema))
    place = simulator.action_names.index("cooling_device")
    assert simulator.action_names == [*plain.action_names[:place], "cooling_device", *plain.action_names[place:]]
    for run in (simulator, plain):
        run.begin(0, 24, seed=0)
    for _ in range(24):
        simulator.step(np.insert(plain.action_high, place, 1.0))
        plain.step(plain.action_high)
    np.testing.assert_array_equal(*([run.net_kwh(step) for step in range(24)] for run in (simulator, plain)))
