"""Arithmetic of a run's series, by hand."""

import numpy as np

from envs.objective.series import HeldSoc, cut, day_peak_rises, days, export_kwh, import_kwh, solar_use_kwh
from tests.envs.objective.by_hand import RUN, SESSIONS


def test_import_and_export_are_the_two_sides_of_net() -> None:
    net = np.array([-2.0, 0.0, 3.0])
    assert import_kwh(net).tolist() == [0.0, 0.0, 3.0]
    assert export_kwh(net).tolist() == [2.0, 0.0, 0.0]
    assert np.array_equal(import_kwh(net) - export_kwh(net), net)


def test_pv_is_used_where_it_is_not_exported() -> None:
    net, pv = np.array([-2.0, 1.0, -5.0]), np.array([3.0, 4.0, 4.0])
    # In the third hour a battery is exported too.
    assert solar_use_kwh(net, pv).tolist() == [1.0, 4.0, 0.0]


def test_a_session_requires_what_it_lacks_on_arrival() -> None:
    assert np.allclose(SESSIONS.required_kwh, [4.0, 3.0, 3.0, 10.0])


def test_a_vehicle_leaves_within_one_of_windows_that_follow_each_other() -> None:
    # Sessions: rows 0-1, 2-3, 2-3, 3-4.
    assert SESSIONS.within(0, 5).tolist() == [True, True, True, True]
    assert SESSIONS.within(0, 3).tolist() == [True, False, False, False]
    assert SESSIONS.within(3, 1).tolist() == [False, True, True, False]


def test_a_vehicle_is_there_from_the_first_to_the_last_hour_of_its_session() -> None:
    assert [SESSIONS.there(row).tolist() for row in range(5)] == [[0], [0], [1, 2], [1, 2, 3], [3]]


def test_held_charges_are_kept_session_by_session() -> None:
    held = HeldSoc(SESSIONS)
    for row in range(5):
        held.add(row, np.array([row, 10.0 + row]))
    assert held.soc.tolist() == [0.0, 1.0, 12.0, 13.0, 2.0, 3.0, 13.0, 14.0]


def test_a_cut_has_its_hours_of_every_series() -> None:
    found = cut(RUN, 1, 2)
    for name in ("net_kwh", "battery_kwh", "charging_kwh", "off_grid"):
        assert np.array_equal(getattr(found, name), getattr(RUN, name)[:, 1:3]), name
    assert found.missing_kwh is RUN.missing_kwh


RNG = np.random.default_rng(0)


def test_a_day_begins_where_the_hour_starts_again() -> None:
    assert days(np.array([22, 23, 0, 1, 23, 0])).tolist() == [0, 0, 1, 1, 1, 2]


def test_rises_add_up_to_each_days_highest_import() -> None:
    net = RNG.normal(0.0, 100.0, 100)
    day = days((np.arange(100) + 5) % 24)
    net[day == day[-1]] -= 1000.0  # a day of exports has no peak
    rises = day_peak_rises(day, net)
    assert (rises >= 0.0).all()
    for number in range(day[-1] + 1):
        own = day == number
        np.testing.assert_allclose(rises[own].sum(), max(0.0, net[own].max()))


def test_a_rise_does_not_depend_on_later_hours() -> None:
    net, day = RNG.normal(0.0, 100.0, 48), days(np.arange(48) % 24)
    whole = day_peak_rises(day, net)
    changed = np.concatenate([net[:30], net[30:] + 1000.0])
    np.testing.assert_array_equal(day_peak_rises(day, changed)[:30], whole[:30])
