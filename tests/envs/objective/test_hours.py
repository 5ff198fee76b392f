"""Hours of a run are in columns that say what they hold; the week that is shown is that of the highest import."""

from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from common.units import WEEK
from envs.objective.evaluate import Episode
from envs.objective.hours import hardest_week, hours_of
from envs.objective.reference import Reference
from envs.objective.series import Exogenous, Run, Sessions, cut
from envs.scenarios.scenario import Window


def made_up(year: int = 0) -> Episode:
    """Two hours of two buildings, from the second row of their year on; of the rest every value is 9."""

    def within(*hours: tuple[float, float]) -> np.ndarray:
        return np.pad(np.array(hours), ((0, 0), (1, 1)), constant_values=9.0)

    none, whole = np.zeros(0), np.zeros((2, 4))
    (month,), (hour,) = within((1, 2)).astype(int), within((23, 0)).astype(int)
    load, pv = within((2.0, 3.0), (6.0, 7.0)), within((8.0, 0.0), (1.0, 0.0))
    price, carbon = within((0.1, 0.2), (0.3, 0.4)), within((1.0, 2.0), (3.0, 6.0))
    reference = Reference(
        Run(within((1.0, 2.0), (10.0, 20.0)), whole, whole, none, none, whole > 0.0, whole, whole, whole, whole),
        Exogenous(month, hour, load, pv, price, carbon, 0.0, other_devices=True),
        Sessions(**{field.name: none.astype(int) for field in fields(Sessions)}), None, none,
    )  # fmt: skip
    battery, charging = np.array([[1.0, -2.0], [0.5, 0.0]]), np.array([[0.0, 3.0], [2.0, 0.0]])
    # In the first hour one building exports while the other imports.
    net = np.array([[-5.0, 4.0], [8.0, 8.0]])
    run = Run(net, battery, charging, none, none, net > 9.0, *[net] * 4)
    return Episode(Window(year, 1, 2), reference, 0.0, {}, run, cut(reference.run, 1, 2))


def test_each_column_is_what_its_name_says_in_the_windows_own_hours() -> None:
    series = hours_of(made_up())
    expected: dict[str, list[float]] = {
        "step": [1, 2], "month": [1, 2], "hour": [23, 0], "load_kwh": [8.0, 10.0], "pv_kwh": [9.0, 0.0],
        "battery_kwh": [1.5, -2.0], "charging_kwh": [2.0, 3.0], "other_kwh": [0.5, 1.0], "net_kwh": [3.0, 12.0],
        "import_kwh": [8.0, 12.0], "export_kwh": [5.0, 0.0], "price": [0.2, 0.3], "carbon": [2.0, 4.0],
        "uncontrolled_net_kwh": [11.0, 22.0],
    }  # fmt: skip
    assert series.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(series[name], values, err_msg=name)


def test_steps_below_an_hour_add_up_to_hours_and_prices_are_their_means() -> None:
    halves = made_up()
    window, exogenous = replace(halves.window, per_hour=2), replace(halves.reference.exogenous, steps_per_hour=2)
    reference = Reference(halves.reference.run, exogenous, halves.reference.sessions, None, np.zeros(0))
    series = hours_of(replace(halves, window=window, reference=reference))
    expected = {"step": 0, "month": 1, "hour": 23, "load_kwh": 18.0, "net_kwh": 15.0, "price": 0.25, "carbon": 3.0}
    assert {name: series[name].item() for name in expected} == pytest.approx(expected)


def test_the_hardest_week_is_a_whole_one_with_the_highest_import_of_the_site() -> None:
    net = {year: np.zeros((2, 3 * WEEK)) for year in (0, 1)}
    net[0][:, WEEK + 5] = 2.0  # of two buildings
    net[1][0, 2 * WEEK + 5] = 3.0  # of one
    net[1][:, 5] = 9.0  # outside of the windows
    net[1][:, -1] = 9.0  # of no whole week

    def reference(year: int) -> Any:
        return SimpleNamespace(run=SimpleNamespace(net_kwh=net[year]))

    windows = [Window(0, 0, 2 * WEEK), Window(1, WEEK, 2 * WEEK - 1)]
    assert hardest_week(windows, reference) == Window(0, WEEK, WEEK)
