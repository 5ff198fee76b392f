"""The most that a device gives is CityLearn's own."""

from typing import Any

import numpy as np
import pytest

from envs.scenarios.thermal_demand import is_beyond, most_output

TEMPERATURE = np.array([-20.0, 7.9, 8.0, 8.1, 20.0, 35.0, 44.9, 45.0, 50.0])
PUMP: dict[str, Any] = {
    "nominal_power": 3.0,
    "efficiency": 0.25,
    "target_cooling_temperature": 8,
    "target_heating_temperature": 45,
}


def device(kind: str, **attributes: Any) -> dict[str, Any]:
    return {"type": f"citylearn.energy_model.{kind}", "attributes": attributes}


@pytest.mark.parametrize("use", ["cooling", "heating"])
def test_a_heat_pump_gives_what_citylearn_computes(use: str) -> None:
    from citylearn.energy_model import HeatPump

    cop = HeatPump(**PUMP).get_cop(TEMPERATURE, heating=use == "heating")
    found = most_output({f"{use}_device": device("HeatPump", **PUMP)}, use, TEMPERATURE)
    np.testing.assert_allclose(found, 3.0 * cop)


def test_a_heater_gives_its_power_times_its_efficiency() -> None:
    heater = device("ElectricHeater", nominal_power=3.0, efficiency=0.9)
    assert most_output({"dhw_device": heater}, "dhw", TEMPERATURE) == pytest.approx(2.7)
    drawn = device("ElectricHeater", nominal_power=3.0)
    assert most_output({"dhw_device": drawn}, "dhw", TEMPERATURE) == pytest.approx(2.97)


def test_a_building_without_a_device_gives_nothing() -> None:
    assert most_output({}, "heating", TEMPERATURE) == pytest.approx(0.0)
    assert most_output({"dhw_device": device("HeatPump")}, "dhw", TEMPERATURE) == pytest.approx(0.0)


@pytest.mark.parametrize(
    "building",
    [
        {"dhw_device": {**device("HeatPump"), "autosize": True}},
        {"dhw_device": {"type": "mine.Boiler"}},
        {"dhw_device": device("HeatPump", nominal_power=1.0)},
        {"type": "citylearn.building.LSTMDynamicsBuilding"},
        {"dynamics": {"type": "citylearn.dynamics.LSTMDynamics"}},
    ],
)
def test_what_the_schema_does_not_say_is_not_judged(building: dict[str, Any]) -> None:
    assert most_output(building, "dhw", TEMPERATURE) is None


def test_a_rounding_is_no_excess() -> None:
    assert is_beyond(np.array([1.0, 1.0005, 1.1, np.nan]), np.ones(4)).tolist() == [False, False, True, False]
