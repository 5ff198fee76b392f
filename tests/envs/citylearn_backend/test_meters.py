"""Series of meters are those of the year."""

import numpy as np

from envs.batch_backend.tables import USES, Tables


def test_meters_are_the_years_series_with_pv_as_negative_consumption(small_tables: Tables) -> None:
    meter, series = small_tables.rows["meter"], small_tables.exogenous
    for name, expected in (("load", series.load_kwh), ("price", series.price), ("carbon", series.carbon)):
        assert np.array_equal(meter[name].T, expected.astype(np.float32)), name
    np.testing.assert_allclose(-meter["solar"].T, series.pv_kwh, rtol=1e-6)
    assert (meter["solar"] <= 0.0).all()


def test_every_end_use_has_a_demand_and_an_efficiency_in_every_row(small_tables: Tables) -> None:
    meter = small_tables.rows["meter"]
    assert meter["demand"].shape == meter["cop"].shape == (len(small_tables.exogenous.hour), 1, len(USES))
    assert not meter["demand"].any()
    assert (meter["cop"] > 0.0).all()


def test_temperatures_are_read_for_rewards_of_comfort(small_tables: Tables) -> None:
    assert (small_tables.rows["comfort"]["indoor"] == 24.0).all()
