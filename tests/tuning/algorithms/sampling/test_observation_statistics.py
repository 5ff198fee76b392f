"""Running statistics against those of all data together."""

import numpy as np
import pytest

from tuning.algorithms.sampling.observation_statistics import ObservationNormalizer


def test_normalised_observations_are_clipped() -> None:
    normalizer = ObservationNormalizer(2, clip=1.5)
    normalizer.update(np.array([[0.0, 0.0], [2.0, 4.0]], np.float32))
    result = normalizer.normalize(np.array([[1e9, 3.0], [-1e9, 2.0]], np.float32))
    np.testing.assert_allclose(result, [[1.5, 0.5], [-1.5, 0.0]])


@pytest.mark.parametrize("batches", [1, 3, 250])
def test_statistics_do_not_depend_on_how_data_were_cut(batches: int) -> None:
    rng = np.random.default_rng(1)
    data = (rng.standard_normal((500, 3)) * [1.0, 1e-3, 1e4] + [1e4, 1.0, -1e6]).astype(np.float32)
    normalizer = ObservationNormalizer(3)
    for batch in np.array_split(data, batches):
        normalizer.update(batch)
    np.testing.assert_allclose(normalizer.mean, data.astype(float).mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(normalizer.variance, data.astype(float).var(axis=0), rtol=1e-5)
