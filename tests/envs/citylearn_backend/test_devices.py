"""Parameters of devices are read as CityLearn uses them."""

from types import SimpleNamespace

import numpy as np
import pytest

from envs.batch_backend import records
from envs.batch_backend.tables import Tables
from envs.citylearn_backend.devices import battery_parameters
from envs.errors import ScenarioError


def battery(power: list[list[float]], efficiency: list[list[float]]) -> SimpleNamespace:
    return SimpleNamespace(
        capacity=10.0, nominal_power=4.0, depth_of_discharge=0.8, loss_coefficient=0.1, capacity_loss_coefficient=0.01,
        capacity_power_curve=np.array(power), power_efficiency_curve=np.array(efficiency), _minimum_soc=lambda: 0.2,
    )  # fmt: skip


FLAT = [[0.0, 1.0], [0.9, 0.9]]


def test_a_flat_curve_is_its_value() -> None:
    (found,) = battery_parameters([battery(FLAT, FLAT)])["battery"]
    assert (found["power_points"], found["efficiency_points"]) == (0, 0)
    assert found["flat_power"] == pytest.approx(4.0 * 0.9)
    assert found["flat_root"] == pytest.approx(np.sqrt(0.9))
    assert found["minimum_energy"] == pytest.approx(2.0)
    assert found["kept"] == pytest.approx(0.9)
    assert found["wear"] == pytest.approx(0.1)


def test_curves_of_different_lengths_repeat_their_last_point() -> None:
    bent = [[0.0, 0.5, 1.0], [1.0, 0.8, 0.7]]
    found = battery_parameters([battery(FLAT, FLAT), battery(bent, FLAT)])
    assert found["battery"]["power_points"].tolist() == [0, 3]
    assert found["battery_curve"].shape == (2, 2, 2, 3)
    assert found["battery_curve"][0, records.POWER_CURVE, 0].tolist() == [0.0, 1.0, 1.0]
    assert found["battery_curve"][1, records.POWER_CURVE].tolist() == bent


def test_a_curve_of_one_point_is_refused() -> None:
    with pytest.raises(ScenarioError, match="single point"):
        battery_parameters([battery([[0.0], [1.0]], FLAT)])


def test_each_charger_knows_its_building_and_its_action(small_tables: Tables) -> None:
    charger = small_tables.site["charger"]
    assert charger["building"].tolist() == [0] * 4
    assert charger["action"].tolist() == [1, 2, 3, 4]
    assert charger["charge_max"].tolist() == [2.0, 2.0, 2.0, 3.0]


def test_a_building_without_thermal_demand_has_none(small_tables: Tables) -> None:
    assert small_tables.site["building"]["thermal"].tolist() == [0]
    assert small_tables.site["building"]["battery_action"].tolist() == [0]
    assert (small_tables.site["thermal"]["action"] == -1).all()
