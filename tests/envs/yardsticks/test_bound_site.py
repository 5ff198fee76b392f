"""Numbers of a window that the bound's programme is made of."""

from pathlib import Path

import numpy as np
import pytest

from envs.environments.vector_env import WindowsEnv
from envs.scenarios.scenario import Window, scenario
from envs.yardsticks.bound_site import BoundSite
from tests.envs.tanks import with_tank
from tests.envs.yardsticks.sites import changed, idle_chargers, to_grid


def site_of(path: Path, window: Window) -> tuple[BoundSite, WindowsEnv]:
    env = WindowsEnv(scenario(str(path)), [window])
    return BoundSite(env.simulator, window), env


def test_only_what_could_be_exported_in_an_hour_counts_as_such(small_schema: Path, tmp_path: Path) -> None:
    """Four sockets of 2 kW and the battery are less than the mall takes, however many vehicles come in a fortnight."""
    window = Window(0, 0, 336)
    site, _ = site_of(changed(small_schema, tmp_path, to_grid), window)
    assert float(site.power.sum()) + 4 * 2.0 < float((site.base_kwh + site.pv).min())
    assert not site.beyond_pv.any()


def test_the_base_is_what_is_neither_battery_nor_vehicle(small_schema: Path) -> None:
    window = Window(0, 24, 48)
    site, env = site_of(small_schema, window)
    series = env.reference_of(0).exogenous
    load = (series.load_kwh - series.pv_kwh)[:, 24:72]
    np.testing.assert_allclose(site.base_kwh, load, atol=1e-3)


def test_groups_hold_all_that_the_sessions_require(small_schema: Path) -> None:
    window = Window(0, 24, 200)
    site, env = site_of(small_schema, window)
    sessions = env.reference_of(0).sessions
    counted = sessions.within(window.start, window.hours)
    assert 0.9 * sessions.required_kwh[counted].sum() < site.required.sum() <= sessions.required_kwh[counted].sum()
    assert (site.unavoidable <= site.required + 1e-9).all()
    assert site.lost_kwh == 0.0
    group, hour = site.there
    assert set(group.tolist()) == set(range(len(site.first)))
    assert ((hour >= site.first[group]) & (hour <= site.last[group])).all()


def test_sessions_at_chargers_without_an_action_lack_what_they_lack_uncontrolled(small_schema: Path, tmp_path: Path) -> None:
    window = Window(0, 24, 200)
    site, env = site_of(changed(small_schema, tmp_path, idle_chargers), window)
    reference = env.reference_of(0)
    counted = reference.sessions.within(window.start, window.hours)
    assert len(site.required) == 0
    assert site.lost_kwh == pytest.approx(reference.run.missing_kwh[counted].sum())
    assert site.lost_kwh > 0.0


def test_what_a_tank_gives_in_the_first_hour_counts_twice_as_in_a_run(small_schema: Path, tmp_path: Path) -> None:
    window = Window(0, 50, 3)
    site, env = site_of(with_tank(small_schema, tmp_path), window)
    (action,) = site.tanks.action
    idle, low = env.simulator.uncontrolled_actions(), env.simulator.uncontrolled_actions()
    low[0, action] = -1.0
    net = []
    for first in (idle, low):
        (episode,) = env.episodes(lambda observations, first=first: first)  # type: ignore[misc]
        net.append(episode.run.net_kwh[0])
    given = np.minimum(site.tap[0], site.first_held[0] * site.tanks.root[0])
    assert given[0] > 0.5
    assert net[0][0] - net[1][0] == pytest.approx(given[0] * site.tapped_kwh[0, 0], abs=1e-3)
    assert site.tapped_kwh[0, 0] == pytest.approx(2.0 * site.tapped_kwh[0, 1])
    # It is only the first hour: later ones count once.
    assert net[0][1] - net[1][1] == pytest.approx(given[1] * site.tapped_kwh[0, 1], abs=1e-3)
