"""Windows are joined hour by hour, and each keeps its own demand charge and sessions."""

import numpy as np

from envs.objective.joined_run import JoinedRun, Part
from tests.envs.objective.by_hand import RUN, SERIES, SESSIONS, TARIFF, part


def test_series_are_those_of_the_windows_hours() -> None:
    joined = JoinedRun([part(2, 4), part(0, 1)], SERIES, SESSIONS, None)
    hours = [2, 3, 0]
    assert np.array_equal(joined.net_kwh, RUN.net_kwh[:, hours])
    assert np.array_equal(joined.battery_kwh, RUN.battery_kwh[:, hours])
    for name in ("pv_kwh", "price", "carbon"):
        assert np.array_equal(getattr(joined, name), getattr(SERIES, name)[:, hours]), name
    assert np.array_equal(joined.import_kwh, np.maximum(joined.net_kwh, 0.0))


def test_the_sites_net_stays_apart_by_window() -> None:
    joined = JoinedRun([part(0, 2), part(2, 4)], SERIES, SESSIONS, None)
    assert [net.tolist() for net in joined.site_net_kwh] == [[2.0, 3.0], [6.0, 6.0]]


def test_each_window_pays_its_part_of_the_month() -> None:
    whole = JoinedRun([Part(0, RUN)], SERIES, SESSIONS, TARIFF).demand_charge
    halves = [JoinedRun([each], SERIES, SESSIONS, TARIFF).demand_charge for each in (part(0, 2), part(2, 4))]
    assert JoinedRun([part(0, 2), part(2, 4)], SERIES, SESSIONS, TARIFF).demand_charge == sum(halves)
    assert whole == 60.0
    # The first half has its peak of 3 kW at 18 h and pays half a month of it.
    assert halves[0] == 10.0 * 3.0 / 2.0


def test_only_sessions_within_a_window_count() -> None:
    assert JoinedRun([Part(0, RUN)], SERIES, SESSIONS, None).missing_kwh.tolist() == [0.0, 1.5]
    assert len(JoinedRun([part(0, 3)], SERIES, SESSIONS, None).missing_kwh) == 0
