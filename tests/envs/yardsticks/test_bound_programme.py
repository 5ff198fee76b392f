"""What the programme minimises, and what its constraints forbid."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from envs.environments.vector_env import WindowsEnv
from envs.objective.reward import coefficients
from envs.objective.weights import Weights
from envs.planning.linear_programme import LinearProgramme
from envs.scenarios.scenario import Window, scenario
from envs.yardsticks.bound_programme import OBJECTIVES, Objective, Variables, constrain, set_objective, solar_loss
from envs.yardsticks.bound_site import BoundSite
from tests.envs.yardsticks.sites import changed, to_grid

WINDOW = Window(0, 30 * 24, 72)  # a month ends within


@pytest.fixture(scope="module")
def site(small_schema: Path) -> BoundSite:
    env = WindowsEnv(scenario(str(small_schema)), [WINDOW])
    return BoundSite(env.simulator, WINDOW)


def solved(site: BoundSite, objective: Objective) -> tuple[LinearProgramme, Variables, np.ndarray]:
    programme = LinearProgramme()
    variables = constrain(programme, site)
    set_objective(programme, site, variables, objective)
    return programme, variables, linprog(**programme.arguments(), method="highs").x


def test_a_unit_of_each_quantity_costs_its_coefficient(site: BoundSite) -> None:
    programme, variables, _ = solved(site, "score")
    worth = coefficients(site.scale)
    assert programme.cost[variables.ramp] == pytest.approx(worth["grid"])
    assert programme.cost[variables.missing] == pytest.approx(worth["ev"])
    assert programme.cost[variables.fed] == pytest.approx(worth["solar"])
    assert programme.cost[variables.drawn] == pytest.approx(worth["co2"] * site.carbon + worth["cost"] * site.price)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_constraints_hold_in_the_optimum(site: BoundSite, objective: Objective) -> None:
    _, variables, found = solved(site, objective)
    net = (found[variables.drawn] - found[variables.fed]).sum(axis=0)
    tolerance = 1e-4 * np.abs(net).max()
    assert (found[variables.ramp][1:] >= np.abs(np.diff(net)) - tolerance).all()
    assert site.tariff
    outside = np.where(np.isin(site.hour, site.tariff.peak_hours), 0, 1)
    assert (found[variables.peak][variables.months, outside] >= net - tolerance).all()
    assert set(variables.months.tolist()) == {0, 1}
    assert (found[variables.missing] >= site.unavoidable - 1e-6).all()


def test_without_weight_on_peaks_the_programme_has_no_variable_for_them(site: BoundSite) -> None:
    assert not len(solved(site, "score")[1].day_peak)


def test_a_days_peak_is_its_highest_import(small_schema: Path) -> None:
    weights = Weights(peak=0.5)
    env = WindowsEnv(scenario(str(small_schema)), [WINDOW], weights=weights)
    site = BoundSite(env.simulator, WINDOW, weights)
    programme, variables, found = solved(site, "score")
    assert programme.cost[variables.day_peak] == pytest.approx(coefficients(site.scale, weights)["peak"])
    net = (found[variables.drawn] - found[variables.fed]).sum(axis=0)
    for number, day in enumerate(np.unique(site.day)):
        highest = max(0.0, net[site.day == day].max())
        assert found[variables.day_peak][number] == pytest.approx(highest, rel=1e-6, abs=1e-6)


def test_where_only_emission_counts_vehicles_are_served_all_the_same(site: BoundSite) -> None:
    _, variables, found = solved(site, "co2")
    assert found[variables.missing].sum() == pytest.approx(site.unavoidable.sum(), abs=1e-3)


def test_export_takes_all_of_its_pv_but_where_batteries_can_be_exported(
    site: BoundSite, small_schema: Path, tmp_path: Path
) -> None:
    assert (solar_loss(site) == 1.0).all()

    def without_mall(schema: dict, folder: Path) -> None:
        to_grid(schema, folder)
        (building,) = schema["buildings"].values()
        path = folder / building["energy_simulation"]
        lines = path.read_text(encoding="utf-8").splitlines()
        column = lines[0].split(",").index("non_shiftable_load")
        rows = [line.split(",") for line in lines[1:]]
        for row in rows:
            row[column] = "1.0"
        path.write_text("\n".join([lines[0], *(",".join(row) for row in rows)]), encoding="utf-8")

    env = WindowsEnv(scenario(str(changed(small_schema, tmp_path, without_mall))), [WINDOW])
    loss = solar_loss(BoundSite(env.simulator, WINDOW))
    assert (loss < 1.0).all()
    assert (loss >= 0.0).all()
