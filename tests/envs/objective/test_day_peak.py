"""The day's highest import: its rises add up to it, and each depends on nothing later."""

import numpy as np

from envs.objective.day_peak import day_peak_rises, days

RNG = np.random.default_rng(0)


def test_a_day_begins_where_the_hour_starts_again() -> None:
    assert days(np.array([22, 23, 0, 1, 23, 0])).tolist() == [0, 0, 1, 1, 1, 2]


def test_rises_add_up_to_each_days_highest_import() -> None:
    net = RNG.normal(0.0, 100.0, 100)
    day = days((np.arange(100) + 5) % 24)
    rises = day_peak_rises(day, net)
    assert (rises >= 0.0).all()
    for number in range(day[-1] + 1):
        own = day == number
        np.testing.assert_allclose(rises[own].sum(), max(0.0, net[own].max()))


def test_a_day_of_exports_has_no_peak() -> None:
    assert not day_peak_rises(np.zeros(5, dtype=int), -np.arange(5.0)).any()


def test_a_rise_does_not_depend_on_later_hours() -> None:
    net, day = RNG.normal(0.0, 100.0, 48), days(np.arange(48) % 24)
    whole = day_peak_rises(day, net)
    changed = np.concatenate([net[:30], net[30:] + 1000.0])
    np.testing.assert_array_equal(day_peak_rises(day, changed)[:30], whole[:30])
