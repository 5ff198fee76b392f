"""Control of a site that runs solves the programmes that it solves in simulations, given the same forecasts and states."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import UsageError
from envs.current_hour import SiteState
from envs.environments.vector_env import open_years
from envs.environments.year_cache import year_reference, year_tables
from envs.forecasts import DEMANDS, EFFICIENCIES
from envs.objective.weights import DEFAULT, Weights
from envs.planning.live import FILE, LiveController, Plugged
from envs.planning.mpc import HORIZON, ModelPredictiveControl, Outlook, _of_uses, hour_plan
from envs.planning.mpc_programme import HourPlan
from envs.scenarios.scenario import scenario
from envs.seen import Seen
from envs.yardsticks.mpc_runs import mpc_plant
from tests.envs.tanks import with_tank

START, STEPS = 24 * 28, 24 * 5  # a month ends within
PEAKS = Weights(co2=0.4, cost=0.4, peak=0.2)


class Twin:
    """A simulated site, and live control of it that is told what model predictive control with its forecasts knows."""

    def __init__(self, schema: Path, folder: Path, weights: Weights = DEFAULT) -> None:
        self.site = scenario(str(schema))
        self.tables, self.reference = year_tables(self.site, 0), year_reference(self.site, 0)
        self.plant = mpc_plant(self.site, 0, "seven-days", weights=weights)
        LiveController.of(self.tables, self.plant.site).save(folder / FILE)
        self.live = LiveController.load(folder / FILE)
        self.solved: list[HourPlan] = []
        solve = self.live._programme.solve

        def kept(hour: HourPlan) -> Any:
            self.solved.append(hour)
            return solve(hour)

        self.live._programme.solve = kept  # type: ignore[method-assign]
        self.simulator = open_years(self.site, [0], 1, weights=weights)
        self.controller = ModelPredictiveControl(self.simulator, {0: self.plant})
        self.simulator.begin(0, 0, START, STEPS, 0)

    @property
    def state(self) -> SiteState:
        state = self.simulator.site_state(0)
        assert state is not None
        return state

    def outlook(self, row: int) -> Outlook:
        site, forecast = self.plant.site, self.plant.forecast
        known = forecast.calendar_rows(row, HORIZON)
        carbon, load, pv = (forecast.ahead(kind, row, HORIZON) for kind in ("carbon", "load", "pv"))
        tanks = site.tanks
        return Outlook(
            site.month[known], site.hour[known], site.price[:, known], carbon, load, pv, forecast.arriving(row, HORIZON),
            *(_of_uses(self.plant, kinds, tanks.use, tanks.building, row) for kinds in (DEMANDS, EFFICIENCIES)),
            forecast.error,
        )  # fmt: skip

    def plugged(self, state: SiteState) -> list[Plugged]:
        sessions, charger = self.reference.sessions, self.tables.site["charger"]
        there = sessions.there(state.row)
        missing = np.maximum(sessions.required_soc[there] - state.vehicle_soc[sessions.vehicle[there]], 0.0)
        actions = charger["action"][sessions.charger[there]].tolist()
        kwh, left = missing * sessions.capacity_kwh[there], sessions.end[there] - state.row + 1
        return [Plugged(*own) for own in zip(actions, kwh.tolist(), left.tolist(), strict=True)]


@pytest.mark.parametrize(("weights", "tank"), [(DEFAULT, False), (PEAKS, True)])
def test_it_solves_the_programmes_of_a_simulation(small_schema: Path, tmp_path: Path, weights: Weights, tank: bool) -> None:
    twin = Twin(with_tank(small_schema, tmp_path / "site", cooling=True) if tank else small_schema, tmp_path, weights)
    # A site that runs has whole months, and a simulation parts of them.
    share = np.ones(STEPS)
    charged = 0
    for _ in range(STEPS):
        state = twin.state
        vehicles = twin.plugged(state)
        found = twin.live.plan(twin.outlook(state.row), state.battery_soc, vehicles, state.previous_net_kwh, state.tank_soc)
        expected, _ = hour_plan(twin.plant, state, share)
        for field in fields(HourPlan):
            if field.name in ("row", "rooms"):
                continue
            own, given = getattr(twin.solved[-1], field.name), getattr(expected, field.name)
            # Losses of a vehicle's own battery are left to the caller.
            loose = field.name in ("charge_kw", "must_kwh", "can_kwh")
            np.testing.assert_allclose(
                own, given, rtol=0.01 if loose else 1e-9, atol=0.05 if loose else 1e-3, err_msg=field.name
            )
        charged += sum(found.actions[own.action] > 0.0 for own in vehicles)
        assert 0.0 <= found.actions[twin.live._chargers["action"]].min() <= 1.0
        twin.simulator.step(twin.controller(twin.simulator.observation))
    assert charged > 10
    assert twin.solved[-1].peaks_kw.any()


def test_what_a_policy_sees_of_a_plan_is_in_the_order_of_its_names(small_schema: Path, tmp_path: Path) -> None:
    twin = Twin(with_tank(small_schema, tmp_path / "site", cooling=True), tmp_path)
    state, live = twin.state, twin.live
    found = live.plan(twin.outlook(state.row), state.battery_soc, twin.plugged(state), None, state.tank_soc)
    seen = dict(zip(Seen(plan="learned").names(1, live.planned), found.seen.tolist(), strict=True))
    assert seen["planned_battery"] == pytest.approx(found.plan.battery_kwh[0, 0])
    assert seen["planned_soc"] == pytest.approx(state.battery_soc[0])
    assert seen["planned_soc_8"] == pytest.approx(found.plan.stored_kwh[0, 8] / live.site.capacity[0])
    assert seen["planned_cooling_storage"] == pytest.approx(found.actions[live.site.tanks.action[0]], abs=1e-6)
    assert seen["planned_net"] == pytest.approx(found.plan.net_kwh[0])


def test_wrong_values_are_one_line(small_schema: Path, tmp_path: Path) -> None:
    twin = Twin(small_schema, tmp_path)
    outlook, soc, vehicles = twin.outlook(START), np.zeros(1), (Plugged(1, 1.0, 0), Plugged(1, np.nan, 3), Plugged(1, -1.0, 3))
    wrong: list[tuple[str, tuple[Any, ...]]] = [
        (r"battery_soc has the shape \(2,\); this site needs \(1,\)", (outlook, np.zeros(2))),
        ("pv_kwh has a value that is no number", (replace(outlook, pv_kwh=outlook.pv_kwh * np.nan), soc)),
        ("the outlook has 8 steps; a plan takes at least 9", (replace(outlook, hour=outlook.hour[:8]), soc)),
        ("action 0 is no charger's", (outlook, soc, [Plugged(0, 1.0, 3)])),
        ("vehicles has two of one action", (outlook, soc, [Plugged(1, 1.0, 3), Plugged(1, 2.0, 3)])),
        *(("no vehicle that is plugged in", (outlook, soc, [vehicle])) for vehicle in vehicles),
        ("battery_soc has a value outside 0 to 1", (outlook, np.full(1, 40.0))),
        ("imported_kwh is no number", (outlook, soc, (), np.nan)),
    ]
    for message, given in wrong:
        with pytest.raises(UsageError, match=message):
            twin.live.plan(*given)
    (tmp_path / "other.npz").write_bytes(b"nothing")
    (tmp_path / "empty.npz").touch()
    (tmp_path / "cut.npz").write_bytes((tmp_path / FILE).read_bytes()[:400])
    for name in ("other.npz", "empty.npz", "cut.npz", "missing.npz"):
        with pytest.raises(UsageError, match="no file of model predictive control"):
            LiveController.load(tmp_path / name)
