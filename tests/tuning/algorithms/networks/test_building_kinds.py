"""What a policy for single buildings sees and moves, and which sites it fits."""

from dataclasses import replace
from pathlib import Path

import pytest

from envs.district import District
from envs.environments.year_cache import district
from envs.scenarios.scenario import scenario
from tuning.algorithms.networks.building_kinds import BuildingKinds, Parts, common_features, why_unfit


def opened(schema: Path) -> District:
    found = district(scenario(str(schema)))
    assert found
    return found


@pytest.fixture(scope="module")
def four(four_buildings: Path) -> District:
    return opened(four_buildings)


@pytest.fixture(scope="module")
def two(two_buildings: Path) -> District:
    return opened(two_buildings)


def test_buildings_act_that_have_an_action(four: District) -> None:
    assert Parts.of(four, learn_charging=False).acting == [0, 1, 2]
    assert Parts.of(four, learn_charging=True).acting == [0, 1, 2, 3]
    assert BuildingKinds.of(four).actions == ("electrical_storage",)
    assert BuildingKinds.of(four, learn_charging=True).actions == ("electrical_storage", "charger 1", "charger 2")


def test_bounds_hold_for_all_buildings_in_parts_of_their_size(four: District) -> None:
    kinds = BuildingKinds.of(four)
    low, high = kinds.own_bounds[kinds.own.index("non_shiftable_load")]
    for n, power in enumerate(four.buildings.power_kw):
        own = four.bounds(four.observations_of(n)["non_shiftable_load"]) / power
        assert low <= own[0] < own[1] <= high
    assert kinds.own_bounds[kinds.own.index("electrical_storage_soc")] == (0.0, 1.0)
    peaks = kinds.common_bounds[kinds.common.index("month_peak_hours_import")]
    place = four.layout.names.index("month_peak_hours_import")
    assert peaks[1] == pytest.approx(four.layout.high[place] / sum(four.buildings.power_kw))


def test_what_some_buildings_lack_is_flagged(four: District, two: District) -> None:
    assert "has solar_generation" in BuildingKinds.of(four).fixed
    assert "has electrical_storage" not in BuildingKinds.of(four).fixed
    assert "has electrical_storage" in BuildingKinds.of(four, learn_charging=True).fixed
    kinds = BuildingKinds.of(two)
    assert all(len(kinds.own) <= i < len(kinds.own) + len(kinds.fixed) for i in kinds.unscaled)
    assert len(kinds.unscaled) == len(kinds.fixed)


def test_common_features_are_no_buildings(four: District) -> None:
    common = common_features(four)
    assert {"hour_sin", "hour_cos", "month_peak_hours_import", "electricity_pricing"} <= common.keys()
    assert not {"non_shiftable_load", "electrical_storage_soc"} & common.keys()


def test_a_policy_fits_other_buildings_in_any_number(four: District, two: District) -> None:
    assert why_unfit(BuildingKinds.of(four), two) is None
    assert why_unfit(BuildingKinds.of(two), four) is None


def test_a_policy_does_not_fit_where_it_lacks_what_it_sees_or_meets_a_new_device(four: District, two: District) -> None:
    kinds = BuildingKinds.of(four)
    assert why_unfit(replace(kinds, common=(*kinds.common, "carbon_intensity")), two) == (
        "the site does not observe carbon_intensity"
    )
    assert why_unfit(replace(kinds, own=(*kinds.own, "indoor_dry_bulb_temperature")), two) == (
        "building 1 of the site does not observe indoor_dry_bulb_temperature"
    )
    # Building 4 has no battery, which no building of the other site lacks.
    assert why_unfit(BuildingKinds.of(two, learn_charging=True), four) == (
        "building 4 of the site does not observe electrical_storage_soc"
    )
    assert (
        why_unfit(replace(kinds, actions=("dhw_storage",)), two) == "building 1 of the site has the action electrical_storage"
    )
    alone = replace(two.buildings, actions=())
    none = District(replace(two.layout, actions=()), alone)
    assert why_unfit(kinds, none) == "no building of the site has an action"
