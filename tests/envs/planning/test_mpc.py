"""What model predictive control knows, and that both backends carry out the same plans."""

from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from envs.current_hour import SiteState
from envs.environments.backend import Backend
from envs.forecasts import METHODS, Method, SiteForecast
from envs.objective.aim import Aim
from envs.objective.evaluate import Episode
from envs.objective.weights import Weights
from envs.planning.mpc import ModelPredictiveControl, Plant, hour_plan, planned_hour
from envs.planning.mpc_programme import Plan, RecedingProgramme
from envs.planning.mpc_site import Tanks
from envs.scenarios.scenario import Window, scenario
from envs.task import SiteTask
from envs.yardsticks.bound import bound
from envs.yardsticks.mpc_runs import mpc_plant, run_mpc
from tests.envs.models import with_rooms
from tests.envs.schema_changes import STEPS, edit, in_steps, put
from tests.envs.tanks import with_tank

HOURS, NOW = 8, 400
BACKENDS: tuple[Backend, ...] = ("batch", "citylearn")


@pytest.mark.parametrize("method", METHODS)
def test_only_the_exact_future_changes_a_plan(small_schema: Path, tmp_path: Path, method: Method) -> None:
    """All series and all arrivals after the present hour are shifted."""
    site = scenario(str(with_tank(small_schema, tmp_path, cooling=True)))
    plant = mpc_plant(site, 0, method, HOURS)
    series = plant.forecast._series
    later = np.arange(series.rows) > NOW
    values = {kind: np.where(later, 2.0 * series.values[kind] + 1.0, series.values[kind]) for kind in series.kinds}
    learned = {}
    if method == "learned":
        from envs.environments.year_forecasts import learned_model
        from envs.forecasts import forecast_table

        shifted = replace(series, values=values, observed=np.where(later[:, np.newaxis], 0.0, series.observed))
        for kind in series.kinds:
            model = learned_model(site, kind, HOURS)
            if model:
                learned[kind] = forecast_table(shifted, kind, model, HOURS)
    forecast = SiteForecast(replace(series, values=values), method, plant.forecast._statistics, learned)
    vehicles = plant.vehicles
    soc = np.full(10, 0.3)
    state = SiteState(Window(0, 0, 900), NOW, np.array([0.5]), np.zeros((1, 3)), soc, 100.0, (50.0, 60.0), 0.0)
    share = np.ones(900)
    before, _ = hour_plan(plant, state, share)
    coming = vehicles._start > NOW
    vehicles._arrival = np.where(coming, 0.0, vehicles._arrival)
    after, _ = hour_plan(replace(plant, vehicles=vehicles, forecast=forecast), state, share)
    for names in (("base_kwh", "import_worth", "can_kwh"), ("fill_kwh", "tap_kwh"), ("efficiency",)):
        same = all(np.array_equal(getattr(before, name), getattr(after, name)) for name in names)
        assert same == (method != "exact"), names
    np.testing.assert_array_equal(before.base_kwh[:, 0], after.base_kwh[:, 0])


def on_both(
    task: SiteTask, window: Window, steps: int | None = HOURS, kwh: float = 1e-3, reward: float = 1e-6
) -> tuple[Episode, Episode]:
    """A run on each backend, which are the same within tolerances."""
    batch, citylearn = (run_mpc(task.by(own), window, "seven-days", steps) for own in BACKENDS)
    np.testing.assert_allclose(batch.run.net_kwh, citylearn.run.net_kwh, atol=kwh)
    assert batch.reward == pytest.approx(citylearn.reward, abs=reward)
    return batch, citylearn


def planned_hours(task: SiteTask, window: Window, plant: Plant) -> tuple[Episode, list[tuple[SiteState, Plan]]]:
    """A run, with the state of each of its hours and the plan that was made there."""
    env, found = task.evaluation_env([window]), list[tuple[SiteState, Plan]]()
    control = ModelPredictiveControl(env.present, {0: plant}, on_plan=lambda state, plan: found.append((state, plan)))
    (episode,) = env.episodes(control)
    return episode, found


def test_both_backends_carry_out_the_same_plans(small_schema: Path) -> None:
    batch, citylearn = on_both(SiteTask(str(small_schema)), Window(0, 300, 36))
    np.testing.assert_allclose(batch.run.charging_kwh, citylearn.run.charging_kwh, atol=1e-4)
    assert np.abs(batch.run.battery_kwh).max() > 50.0


def test_at_quarters_of_an_hour_a_day_is_planned_in_quarters(quarters: Path) -> None:
    task, window = SiteTask(str(quarters)), Window(0, 960, 96, 4)
    assert mpc_plant(task.site, 0, "exact").steps == 96
    on_both(task, window, None)
    exact = run_mpc(task, window, "exact")
    greatest = bound(task, window, "score").score * window.hours
    assert 0.9 * greatest < exact.reward <= greatest
    # The battery follows the quarters.
    assert np.ptp(exact.run.battery_kwh.sum(axis=0).reshape(-1, 4), axis=1).max() > 10.0


def test_a_plan_that_is_seen_tells_the_ends_of_hours(quarters: Path) -> None:
    task = SiteTask(str(quarters))
    plant = mpc_plant(task.site, 0, "exact")
    _, planned = planned_hours(task, Window(0, 960, 3, 4), plant)
    assert len(planned) == 3
    for state, plan in planned:
        soc = planned_hour(plant.site, (), state, plan).soc
        np.testing.assert_allclose(soc[0, 1:], plan.stored_kwh[0, [3, 7, 11, 19, 35]] / plant.site.capacity[0])


def test_what_an_hour_of_doubt_takes_from_energy_four_quarters_take_too(small_schema: Path, quarters: Path) -> None:
    certainty = []
    for schema in (small_schema, quarters):
        site = scenario(str(schema))
        plant = mpc_plant(site, 0, "seven-days")
        plant.forecast.error = 0.5
        state = SiteState(Window(0, 0, 900), NOW, np.array([0.5]), np.zeros((1, 3)), np.full(10, 0.3), 100.0, (0.0, 0.0), 0.0)
        certainty.append(hour_plan(plant, state, np.ones(900))[0].certainty)
    np.testing.assert_allclose(certainty[1][::4], certainty[0])


@STEPS
def test_tanks_do_as_planned_on_both_backends_and_are_worth_it(small_schema: Path, tmp_path: Path, per_hour: int) -> None:
    path = in_steps(with_tank(small_schema, tmp_path / "hours", cooling=True), tmp_path / "steps", per_hour)
    task, window = SiteTask(str(path)), Window(0, 300 * per_hour, 72 * per_hour, per_hour)
    on_both(task, window, HOURS * per_hour)
    # What it plans for a step comes out.
    plant = mpc_plant(task.site, 0, "exact", HOURS * per_hour)
    episode, planned = planned_hours(task, window, plant)
    tanks = plant.site.tanks
    for step, ((_, plan), (later, _)) in enumerate(pairwise(planned[1:]), 1):
        soc = later.tank_soc[tanks.building, tanks.use] * tanks.capacity / tanks.kept
        now = planned[step][0].tank_soc[tanks.building, tanks.use] * tanks.capacity
        change = plan.tank_kwh[:, 0]
        expected = np.minimum(now + np.where(change > 0.0, change * tanks.root, change / tanks.root), tanks.capacity)
        np.testing.assert_allclose(soc, expected, atol=1e-3)
    most = max(float(plan.tank_kwh[0].max()) for _, plan in planned)
    assert most > (10.0 if per_hour == 1 else 9.0)
    # Tanks that stand idle leave something on the table.
    idle = replace(plant.site, tanks=Tanks(*(getattr(tanks, field.name)[:0] for field in fields(Tanks))))
    without, _ = planned_hours(task, window, replace(plant, site=idle))
    assert episode.reward > without.reward + 1e-3


@STEPS
def test_rooms_do_as_planned_on_both_backends_and_people_gain(small_schema: Path, tmp_path: Path, per_hour: int) -> None:
    path = in_steps(with_rooms(small_schema, tmp_path / "hours"), tmp_path / "steps", per_hour)
    task, window = SiteTask(str(path)), Window(0, 300 * per_hour, 72 * per_hour, per_hour)
    batch, citylearn = on_both(task, window, HOURS * per_hour, kwh=0.1, reward=1e-3)
    np.testing.assert_allclose(batch.run.indoor_c, citylearn.run.indoor_c, atol=1e-3)
    series = batch.reference.exogenous
    before, now = (series.unmet_c(run.indoor_c, window.rows).sum() for run in (batch.uncontrolled, batch.run))
    assert now < 0.2 * before
    # What it plans for a step comes out.
    plant = mpc_plant(task.site, 0, "exact", HOURS * per_hour)
    _, planned = planned_hours(task, window, plant)
    usual = plant.forecast._series.values["indoor"][0]
    wrong = [
        plan.deviation_c[0, 0] - (later.indoor_c[0] - usual[state.row]) for (state, plan), (later, _) in pairwise(planned[10:])
    ]
    assert np.sqrt(np.mean(np.square(wrong))) < 2.0 * plant.site.rooms.error_c[0]


def test_a_heater_that_a_building_lacks_is_not_run(small_schema: Path, tmp_path: Path) -> None:
    """One action cools and heats, and CityLearn puts a heater of no power where there is none."""
    path = with_rooms(small_schema, tmp_path)
    edit(path, put("actions", "cooling_device", value={"active": False}))
    task = SiteTask(str(edit(path, put("actions", "cooling_or_heating_device", value={"active": True}))))
    batch, _ = on_both(task, Window(0, 300, 48), HOURS, kwh=0.1, reward=1e-3)
    assert batch.run.indoor_c.std() > 0.0
    _, planned = planned_hours(task, Window(0, 300, 48), mpc_plant(task.site, 0, "exact", HOURS))
    assert all(np.isfinite(plan.device_use).all() for _, plan in planned)


def test_what_finds_no_use_is_not_held_for_later(small_schema: Path, tmp_path: Path) -> None:
    """A cheap hour is no reason to cool water for months without demand."""
    plant = mpc_plant(scenario(str(with_tank(small_schema, tmp_path, cooling=True))), 0, "exact", HOURS)
    values = dict(plant.forecast._series.values)
    values["cooling_demand"] = np.zeros_like(values["cooling_demand"])
    values["cooling_efficiency"] = values["cooling_efficiency"].copy()
    values["cooling_efficiency"][:, NOW] *= 3.0
    idle = replace(
        plant, forecast=SiteForecast(replace(plant.forecast._series, values=values), "exact", plant.forecast._statistics)
    )
    for held in (0.0, 0.5):
        tank_soc = np.array([[held, 0.0, 0.5]])
        state = SiteState(Window(0, 0, 900), NOW, np.array([0.5]), tank_soc, np.full(10, 0.3), 100.0, (50.0, 60.0), 0.0)
        hour, _ = hour_plan(idle, state, np.ones(900))
        plan = RecedingProgramme(plant.site, HOURS).solve(hour)
        np.testing.assert_allclose(plan.tank_kwh[0], 0.0, atol=1e-6)
        hour, _ = hour_plan(plant, state, np.ones(900))
        assert RecedingProgramme(plant.site, HOURS).solve(hour).tank_kwh[0].max() > 1.0


def test_it_plans_for_the_weights_of_the_reward(small_schema: Path) -> None:
    weights = Weights(co2=0.0, cost=0.05, solar=0.0, grid=0.0, ev=0.1, peak=0.9)
    task, given = SiteTask(str(small_schema), aim=Aim(weights)), (weights, replace(weights, cost=0.0, co2=0.95, peak=0.0))
    runs = [run_mpc(task.rewarding(own), Window(0, 240, 240), "exact") for own in given]
    low, high = (own.run.net_kwh.sum(axis=0).reshape(-1, 24).max(axis=1).mean() for own in runs)
    assert low < 0.95 * high
    on_both(task, Window(0, 240, 30))


def test_vehicles_get_what_full_power_could_give(small_schema: Path) -> None:
    task, window = SiteTask(str(small_schema)), Window(0, 120, 240)
    for method in ("seven-days", "exact"):
        episode = run_mpc(task, window, method)  # type: ignore[arg-type]
        at_full_power = episode.reference.run.missing_kwh
        inside = episode.reference.sessions.within(window.start, window.hours)
        assert inside.sum() > 20
        np.testing.assert_allclose(episode.run.missing_kwh[inside], at_full_power[inside], atol=0.02)
