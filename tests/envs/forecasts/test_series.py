"""Which known hour stands for an hour ahead."""

import numpy as np

from envs.forecasts.series import same_hour_before


def test_the_latest_known_row_with_the_same_hour_of_the_day() -> None:
    ahead = np.arange(60)
    found = same_hour_before(100, ahead)
    assert (found <= 100).all()
    assert (found > 100 - 24).all()
    np.testing.assert_array_equal(found % 24, (100 + ahead) % 24)


def test_before_the_first_day_there_is_none() -> None:
    assert same_hour_before(3, np.array([0, 1, 21])).tolist() == [3, -20, 0]
