"""Scaling of observations, by hand."""

import numpy as np
import pytest

from envs.observation import ChargerGroups, ObservationLayout

LAYOUT = ObservationLayout(
    names=("hour", "load", "constant"), low=(1.0, 10.0, 5.0), high=(24.0, 30.0, 5.0), actions=(), idle=(), hourly_soc=()
)


def test_values_are_mapped_from_their_bounds_to_minus_one_and_one() -> None:
    scaled = LAYOUT.scale(np.array([[24.0, 10.0, 5.0], [6.0, 30.0, 5.0], [12.0, 20.0, 5.0]]))
    np.testing.assert_allclose(scaled[:, 1], [-1.0, 1.0, 0.0])
    assert scaled.dtype == np.float32


def test_beyond_the_bounds_values_are_clipped_and_constants_read_zero() -> None:
    scaled = LAYOUT.scale(np.array([24.0, 99.0, 7.0]))
    assert scaled[1:3].tolist() == [1.0, 0.0]


def test_midnight_and_eleven_at_night_are_neighbours() -> None:
    before, at, noon = LAYOUT.scale(np.array([[23.0, 10.0, 5.0], [24.0, 10.0, 5.0], [12.0, 10.0, 5.0]]))
    assert LAYOUT.scaled_names == ["hour_sin", "load", "constant", "hour_cos"]
    cyclic = [0, 3]
    assert np.linalg.norm(before[cyclic] - at[cyclic]) < 0.3
    np.testing.assert_allclose(at[cyclic], [0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(noon[cyclic], [0.0, -1.0], atol=1e-6)


def named(*observations: str, actions: tuple[str, ...]) -> ObservationLayout:
    low, high = (0.0,) * len(observations), (1.0,) * len(observations)
    return ObservationLayout(observations, low, high, actions, idle=(-1.0,) * len(actions), hourly_soc=(0.5,) * len(actions))


def test_chargers_are_found_by_their_names_with_the_features_that_all_have() -> None:
    layout = named(
        "hour", "electric_vehicle_charger_a_connected_state", "connected_electric_vehicle_at_charger_a_soc",
        "connected_electric_vehicle_at_charger_a_battery_capacity", "electric_vehicle_charger_a_b_connected_state",
        "connected_electric_vehicle_at_charger_a_b_soc", "load",
        actions=("electrical_storage", "electric_vehicle_storage_a", "electric_vehicle_storage_a_b"),
    )  # fmt: skip
    assert layout.chargers == ChargerGroups(((1, 2), (4, 5)), (1, 2))


def test_two_buildings_may_name_their_chargers_alike() -> None:
    state = "electric_vehicle_charger_a_connected_state"
    layout = named(state, "load", state, actions=("electric_vehicle_storage_a", "electric_vehicle_storage_a"))
    assert layout.chargers == ChargerGroups(((0,), (2,)), (0, 1))


def test_one_charger_is_no_group() -> None:
    state = "electric_vehicle_charger_a_connected_state"
    assert named(state, actions=("electric_vehicle_storage_a",)).chargers is None
    assert named("hour", actions=()).chargers is None


def test_the_uncontrolled_site_charges_what_is_lacking_within_an_hour_if_power_allows() -> None:
    ends = ("soc", "required_soc_departure")
    names = [f"connected_electric_vehicle_at_charger_{charger}_{end}" for charger in "ab" for end in ends]
    layout = named("load", *names, actions=("electric_vehicle_storage_a", "electric_vehicle_storage_b"))
    assert layout.chargers is not None
    assert layout.chargers.uncontrolled is not None
    # An hour at full power adds half of a battery.
    for charging, features in zip(layout.chargers.uncontrolled, layout.chargers.observations, strict=True):
        assert charging.idle == -1.0
        for soc, required, part in ((0.2, 0.7, 1.0), (0.2, 0.3, 0.2), (0.5, 0.5, 0.0), (0.9, 0.5, -0.8)):
            scaled = layout.scale(np.array([0.0, soc, required, soc, required]))[list(features)]
            assert charging.bias + float(scaled @ charging.weights) == pytest.approx(part, abs=1e-6)
