"""Batteries as a linear programme can know them."""

from pathlib import Path

import numpy as np
import pytest

from envs.batch_backend import records
from envs.environments.year_cache import year_reference, year_tables
from envs.planning.mpc_site import MpcSite, curve_roots
from envs.scenarios.scenario import scenario


@pytest.fixture
def site(small_schema: Path) -> MpcSite:
    own = scenario(str(small_schema))
    return MpcSite.of(year_tables(own, 0), year_reference(own, 0))


def test_losses_lie_within_the_curve(small_schema: Path, site: MpcSite) -> None:
    tables = year_tables(scenario(str(small_schema)), 0)
    curve = tables.site["battery_curve"][0, records.EFFICIENCY_CURVE, 1]
    low, high = np.sqrt(curve.min()), np.sqrt(curve.max())
    for root in (site.root_in[0], site.root_out[0]):
        assert low < root < high


def test_roots_follow_the_curve(small_schema: Path) -> None:
    tables = year_tables(scenario(str(small_schema)), 0)
    battery, curve = tables.site["battery"][0], tables.site["battery_curve"][0]
    x, y = curve[records.EFFICIENCY_CURVE, :, : int(battery["efficiency_points"])]
    np.testing.assert_allclose(curve_roots(battery, curve, x), np.sqrt(y), atol=1e-6)
    between = curve_roots(battery, curve, np.array([(x[0] + x[1]) / 2]))
    assert between[0] == pytest.approx(np.sqrt((y[0] + y[1]) / 2))


def test_lines_of_the_greatest_power_lie_above_the_curve_and_touch_it(small_schema: Path, site: MpcSite) -> None:
    tables = year_tables(scenario(str(small_schema)), 0)
    points = int(tables.site["battery"][0]["power_points"])
    level, power = tables.site["battery_curve"][0, records.POWER_CURVE, :, :points]
    above = np.min([part + slope * level for _, part, slope in site.taper], axis=0)
    assert (above >= power - 1e-9).all()
    np.testing.assert_allclose(above[[0, -1]], power[[0, -1]], atol=1e-9)


def test_a_battery_without_an_action_has_no_power(small_schema: Path) -> None:
    own = scenario(str(small_schema))
    tables = year_tables(own, 0)
    tables.site["building"]["battery_action"] = -1
    assert MpcSite.of(tables, year_reference(own, 0)).power.tolist() == [0.0]
