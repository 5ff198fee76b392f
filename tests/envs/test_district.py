"""What of a site belongs to which building."""

from pathlib import Path

from envs.district import COMMON, Buildings, District, is_energy
from envs.environments.year_cache import district
from envs.observation import ObservationLayout
from envs.scenarios.scenario import scenario


def small() -> District:
    """Two buildings, the second with a charger."""
    names = ("hour", "non_shiftable_load", "non_shiftable_load", "connected_electric_vehicle_at_charger_a_soc")
    layout = ObservationLayout(
        names, (0.0, 1.0, 2.0, 0.0), (24.0, 3.0, 5.0, 1.0), ("x", "electric_vehicle_storage_a"), (0.0,) * 2, (0.0,) * 2
    )
    return District(layout, Buildings((COMMON, 0, 1, 1), (0, 1), (3,), (2.0, 4.0), (1.0, 0.0), ((0.0,) * 3,) * 2))


def test_features_and_actions_are_their_buildings_own_and_chargers_are_apart() -> None:
    site = small()
    assert site.size == 2
    assert [site.observations_of(n) for n in range(2)] == [{"non_shiftable_load": 1}, {"non_shiftable_load": 2}]
    assert [site.actions_of(n) for n in range(2)] == [{"x": 0}, {}]
    assert site.chargers_of(0) == []
    assert site.chargers_of(1) == [(1, {"connected_electric_vehicle_at_charger_soc": 3})]
    assert site.bounds(2).tolist() == [2.0, 5.0]


def test_energies_grow_with_the_building_and_other_values_do_not() -> None:
    assert all(is_energy(kind) for kind in ("solar_generation", "cooling_demand", "dhw_electricity_consumption"))
    assert not any(is_energy(kind) for kind in ("electrical_storage_soc", "indoor_dry_bulb_temperature", "hour"))


def test_a_site_of_one_building_is_no_district(small_schema: Path, two_buildings: Path) -> None:
    assert district(scenario(str(small_schema))) is None
    found = district(scenario(str(two_buildings)))
    assert found is not None
    assert found.size == 2
