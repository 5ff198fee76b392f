"""Scaling of observations, by hand."""

import numpy as np

from envs.observation import ObservationLayout

LAYOUT = ObservationLayout(names=("hour", "load", "constant"), low=(1.0, 10.0, 5.0), high=(24.0, 30.0, 5.0))


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
