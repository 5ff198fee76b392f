"""KPIs of a two-building, four-hour site, by hand."""

import math
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.measure import A_YEAR, BY_HOURS, MOST
from common.units import DAY
from envs.environments.site_env import SiteEnv
from envs.environments.vector_env import WindowsEnv
from envs.objective.evaluate import evaluate
from envs.objective.kpis import ENTRIES, KPIS, RATIOS, JoinedRun, Kpis, Part, district_ratios, scores
from envs.objective.kpis import kpis as kpis_of
from envs.objective.series import Exogenous, Sessions
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.schema_file import count_steps, rooted
from envs.scenarios.tariff import DemandCharge
from tests.envs.models import with_dynamics
from tests.envs.objective.by_hand import RUN, SERIES, SESSIONS, TARIFF, part, reference
from tests.envs.schema_changes import STEPS, in_steps
from tests.envs.tanks import with_tank


def kpis(parts: list[Part], series: Exogenous, sessions: Sessions, tariff: DemandCharge | None) -> Kpis:
    return kpis_of(JoinedRun(parts, series, reference(series=series, sessions=sessions, tariff=tariff)))


def test_kpis_of_a_whole_year() -> None:
    found = kpis([Part.of(0, RUN, SESSIONS)], SERIES, SESSIONS, TARIFF)
    assert (found["import_kwh"], found["export_kwh"]) == (18.0, 1.0)
    assert found["co2_kg"] == 9.0
    assert found["energy_cost"] == 3.0 + 6.0 + 12.0 + 6.0
    # Site import: 2, 3, 6, 6 kW; hours 18 and 19 are peak.
    assert found["peak_kw"] == found["daily_peak_kw"] == 6.0
    assert found["demand_charge"] == 60.0
    assert found["bill"] == found["energy_cost"] + found["demand_charge"]
    assert found["ramping_kwh"] == 1.0 + 3.0 + 0.0
    assert found["pv_kwh"] == 6.0
    assert found["self_consumption"] == pytest.approx(5.0 / 6.0)
    assert found["consumption_kwh"] == 17.0 + 6.0 - (-1.0)
    assert found["self_sufficiency"] == pytest.approx(1.0 - 18.0 / 24.0)
    assert found["battery_cycles"] == pytest.approx(0.3)
    # Three of the sessions end within, one outlasts the year.
    assert (found["ev_required_kwh"], found["ev_missing_kwh"]) == pytest.approx((10.0, 2.5))
    assert found["ev_served"] == pytest.approx(0.75)
    assert (found["departures"], found["departures_met"]) == (3, 1)


def test_peaks_are_powers_and_what_is_told_in_hours_is_where_steps_are_quarters_of_an_hour() -> None:
    hours, quarters = (
        kpis([Part.of(0, RUN, SESSIONS)], replace(SERIES, steps_per_hour=one), SESSIONS, TARIFF) for one in (1, 4)
    )
    assert quarters["peak_kw"] == 4 * hours["peak_kw"]
    assert quarters["daily_peak_kw"] == 4 * hours["daily_peak_kw"]
    assert quarters["import_kwh"] == hours["import_kwh"]


def test_windows_add_up_without_a_jump_between_them() -> None:
    whole = kpis([Part.of(0, RUN, SESSIONS)], SERIES, SESSIONS, None)
    parts = kpis([part(0, 2), part(2, 4)], SERIES, SESSIONS, None)
    assert parts["import_kwh"] == whole["import_kwh"]
    assert parts["energy_cost"] == whole["energy_cost"]
    assert parts["ramping_kwh"] == whole["ramping_kwh"] - 3.0
    assert parts["demand_charge"] == 0.0


def test_a_session_counts_in_the_window_in_which_it_ends_with_what_it_lacked_as_that_began() -> None:
    found = kpis([part(0, 3), part(3, 4)], SERIES, SESSIONS, None)
    # The first whole, of the next two what the uncontrolled run had left to do for their second hour.
    assert (found["departures"], found["ev_required_kwh"]) == (3, pytest.approx(4.0 + 1.5 + 1.5))


def test_what_vehicles_brought_and_leave_without_is_imported_in_the_hour_in_which_they_leave() -> None:
    took = replace(RUN, owed_kwh=np.array([2.0, 0.0, 0.0, 3.0]))
    before, found = (kpis([Part.of(0, run, SESSIONS)], SERIES, SESSIONS, None) for run in (RUN, took))
    # The last session outlasts the run, so it settles in the run's last hour.
    assert found["import_kwh"] == before["import_kwh"] + 5.0
    assert found["co2_kg"] == before["co2_kg"] + 5.0 * 0.5
    assert found["energy_cost"] == before["energy_cost"] + 2.0 * 2.0 + 3.0 * 1.0
    assert found["consumption_kwh"] == before["consumption_kwh"] + 5.0
    for name in ("export_kwh", "peak_kw", "ramping_kwh", "self_consumption"):
        assert found[name] == before[name], name


NO_SESSIONS = Sessions(**{field.name: getattr(SESSIONS, field.name)[:0] for field in fields(Sessions)})
EMPTY = replace(RUN, missing_kwh=np.zeros(0), owed_kwh=np.zeros(0))


def test_a_part_of_nothing_is_no_number() -> None:
    found = kpis([Part.of(0, EMPTY, NO_SESSIONS)], replace(SERIES, battery_capacity_kwh=0.0), NO_SESSIONS, None)
    assert np.isnan(found["ev_served"])
    assert np.isnan(found["battery_cycles"])


def test_a_formula_gives_the_type_of_its_column_and_bounds_name_kpis() -> None:
    assert len(KPIS) == len(ENTRIES), "two KPIs have one name"
    for name, kpi in KPIS.items():
        for part_of, sessions, tariff in ((RUN, SESSIONS, TARIFF), (EMPTY, NO_SESSIONS, None)):
            run = JoinedRun([Part.of(0, part_of, sessions)], SERIES, reference(sessions=sessions, tariff=tariff))
            assert type(kpi.formula(run)) is (int if kpi.measure.kind == "int64" else float), name
        assert {kpi.bounds_where(gives).at_most for gives in (False, True)} <= {"", *KPIS}, name


def test_a_mean_is_weighted_by_a_column_that_there_is() -> None:
    assert {kpi.measure.over for kpi in KPIS.values()} <= {A_YEAR, MOST, BY_HOURS, *KPIS}


def test_each_window_pays_its_part_of_the_month() -> None:
    whole = JoinedRun([Part.of(0, RUN, SESSIONS)], SERIES, reference(tariff=TARIFF)).demand_charge
    halves = [JoinedRun([each], SERIES, reference(tariff=TARIFF)).demand_charge for each in (part(0, 2), part(2, 4))]
    assert JoinedRun([part(0, 2), part(2, 4)], SERIES, reference(tariff=TARIFF)).demand_charge == sum(halves)
    assert whole == 60.0
    # The first half has its peak of 3 kW at 18 h and pays half a month of it.
    assert halves[0] == 10.0 * 3.0 / 2.0


class AtRandom:
    """A controller of CityLearn's kind."""

    def __init__(self, env: Any) -> None:
        (self._space,), self._rng = env.action_space, np.random.default_rng(3)

    def predict(self, observations: Any, deterministic: bool) -> list[list[float]]:
        return [self._rng.uniform(self._space.low, self._space.high).tolist()]


# Our names of CityLearn's figures of comfort and resilience.
COMFORT = {
    "discomfort": "discomfort_proportion", "outage_discomfort": "one_minus_thermal_resilience_proportion",
    "outage_unserved": "power_outage_normalized_unserved_energy_total",
}  # fmt: skip


def untouched(schema: Path, start: int, hours: int, controller: type) -> tuple[dict[str, float], np.ndarray]:
    """CityLearn's own table after some hours of a schema, with the batteries as empty at the start as they may be.

    And the actions, within [-1, 1], shape (hours, actions).
    """
    from citylearn.citylearn import CityLearnEnv

    env = CityLearnEnv({**rooted(schema), "agent": None}, central_agent=True, offline=True)
    env.episode_time_steps = [(start, start + hours)]
    for building in env.buildings:
        battery = building.electrical_storage
        battery.initial_soc = 1.0 - battery.depth_of_discharge
    (observations, _), agent = env.reset(seed=0), controller(env)
    (space,), actions = env.action_space, []
    for _ in range(hours):
        actions.append(agent.predict(observations, deterministic=True))
        observations = env.step(actions[-1])[0]
    table = env.evaluate()
    district = table[table["level"] == "district"].set_index("cost_function")["value"]
    comfort = {name: float(district.get(column, np.nan)) for name, column in COMFORT.items()}
    found = {name: float(district[name.removeprefix("citylearn_")]) for name in RATIOS} | comfort
    return found, 2.0 * (np.array(actions)[:, 0] - space.low) / (space.high - space.low) - 1.0


def check(schema: Path, start: int, hours: int, controller: type = AtRandom) -> None:
    (expected, actions), site, window = (
        untouched(schema, start, hours, controller),
        scenario(str(schema)),
        Window(0, start, hours),
    )
    batch, citylearn = WindowsEnv(site, [window]), SiteEnv(site, [window], "sequence")
    for env in (batch, citylearn):
        given = iter(actions)
        (evaluation,) = evaluate(env, lambda observations, given=given: next(given)[np.newaxis])
        found = evaluation.citylearn | {name: evaluation.kpis[name] for name in COMFORT}
        # Without people or outages CityLearn has 0 of both, or 0 of 0.
        wanted = {name: value for name, value in expected.items() if name in RATIOS or not np.isnan(found[name])}
        assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-6, abs=1e-9)
        made = scores(found | wanted, found | wanted)
        assert {name: found[name] for name in made} == pytest.approx(made, rel=1e-6, nan_ok=True)
    citylearn.close()


# At the year's end the simulator goes a step further than CityLearn.
@pytest.mark.parametrize(("start", "hours"), [(0, 5 * DAY), (0, 2 * DAY + 5), (38 * DAY, 2 * DAY)], ids=["days", "part", "end"])
def test_both_backends_give_the_ratios_of_untouched_citylearn(small_schema: Path, start: int, hours: int) -> None:
    check(small_schema, start, hours)


def test_they_do_where_steps_are_quarters_of_an_hour(quarters: Path) -> None:
    check(quarters, 3, 4 * 2 * DAY + 5)


@STEPS
@pytest.mark.parametrize("kind", ["tanks", "temperature"])
def test_they_do_where_thermal_devices_act(small_schema: Path, tmp_path: Path, kind: str, per_hour: int) -> None:
    outage = {"simulate_power_outage": True, "stochastic_power_outage": False}
    hours = tmp_path / "hours"
    path = with_tank(small_schema, hours) if kind == "tanks" else with_dynamics(small_schema, hours, outage)
    check(in_steps(path, tmp_path / "steps", per_hour), 0, 3 * DAY)


@pytest.mark.parametrize("name", ["citylearn_challenge_2023_phase_1", pytest.param("baeda_3dem", marks=pytest.mark.slow)])
def test_they_do_on_public_data_with_models_of_the_temperature(thermal_schema: Callable[[str], Path], name: str) -> None:
    check(thermal_schema(name), 0, 7 * DAY)


def test_the_official_score_of_2023_is_that_of_citylearns_table_for_its_rule_based_controller(
    thermal_schema: Callable[[str], Path],
) -> None:
    from citylearn.agents.rbc import BasicRBC

    check(thermal_schema("citylearn_challenge_2023_phase_1"), 0, 7 * DAY, BasicRBC)


@pytest.mark.slow
def test_they_do_with_outages_that_are_drawn(thermal_schema: Callable[[str], Path]) -> None:
    # CityLearn draws them for all hours of an episode, so it is of all rows.
    check(path := thermal_schema("citylearn_challenge_2023_phase_2_local_evaluation"), 0, count_steps(path))


@pytest.mark.slow
def test_they_do_on_metered_data_of_several_buildings_over_more_than_a_month(real_schema: Path) -> None:
    check(real_schema, 0, 32 * DAY + 7)


def test_the_run_without_storage_has_the_ratio_one() -> None:
    rng = np.random.default_rng(0)
    net, price, carbon = rng.normal(1.0, 1.0, (2, 50)), rng.uniform(0.1, 1.0, (2, 50)), rng.uniform(0.1, 1.0, (2, 50))
    found = district_ratios(net, net, price, carbon)
    assert list(found) == list(RATIOS)
    assert set(found.values()) == {1.0}
    assert [*scores(dict.fromkeys(RATIOS, 1.0), dict.fromkeys(COMFORT, 1.0)).values()] == pytest.approx([1.0] * 3)


def test_the_official_score_of_2022_has_ramping_and_the_monthly_load_factor_in_its_grid() -> None:
    ratios = dict.fromkeys(RATIOS, 0.9) | {"citylearn_cost_total": 0.6, "citylearn_carbon_emissions_total": 0.7}
    ratios |= {"citylearn_ramping_average": 0.8, "citylearn_monthly_one_minus_load_factor_average": 1.0}
    found = scores(ratios, dict.fromkeys(COMFORT, math.nan))
    assert math.isnan(found.pop("citylearn_2023_score"))
    assert found == pytest.approx({"citylearn_2022_score": 2.2 / 3, "citylearn_2022_peaks_score": (1.3 + 0.875) / 3})


def test_the_score_of_2023_weighs_comfort_emission_and_grid_and_resilience_where_there_are_outages() -> None:
    ratios = dict.fromkeys(RATIOS, 0.9) | {"citylearn_ramping_average": 0.5, "citylearn_carbon_emissions_total": 0.7}
    grid, comfort = (0.5 + 3 * 0.9) / 4, {"discomfort": 0.2, "outage_discomfort": math.nan, "outage_unserved": math.nan}
    assert scores(ratios, comfort)["citylearn_2023_score"] == pytest.approx(0.3 * 0.2 + 0.1 * 0.7 + 0.6 * grid)
    comfort |= {"outage_discomfort": 0.4, "outage_unserved": 0.8}
    assert scores(ratios, comfort)["citylearn_2023_score"] == pytest.approx(0.3 * 0.2 + 0.1 * 0.7 + 0.3 * grid + 0.3 * 0.6)


WARM = replace(
    SERIES, cool_above_c=np.full((2, 5), 24.0), heat_below_c=np.full((2, 5), 20.0), band_c=np.full((2, 5), 1.0),
    occupants=np.array([[1.0, 1.0, 0.0, 2.0, 1.0], [1.0] * 5]), warm_up=np.array([1.0, 0.0]),
)  # fmt: skip


def test_comfort_counts_where_people_are_and_a_temperature_is_computed() -> None:
    run = replace(
        RUN, indoor_c=np.array([[25.0, 26.5, 40.0, 18.0], [np.nan] * 4]), off_grid=np.array([[False, True, True, True]] * 2),
        asked_kwh=np.array([[0.0, 2.0, 2.0, 4.0], [0.0, 1.0, 0.0, 0.0]]),
        unserved_kwh=np.array([[0.0, 0.0, 0.0, 4.0], [0.0] * 4]),
    )  # fmt: skip
    found = kpis([Part.of(0, run, SESSIONS)], WARM, SESSIONS, None)
    # 25 C is within the band; 26.5 is 1.5 beyond it and 18 is 1 below; at 40 C nobody is there.
    assert (found["occupied_hours"], found["discomfort"], found["unmet_degree_hours"]) == (3.0, pytest.approx(2 / 3), 2.5)
    assert (found["outage_hours"], found["outage_discomfort"]) == (6.0, 1.0)
    # The mean of 4 of 8 and 0 of 1.
    assert found["outage_unserved"] == 0.25
    for name in ("discomfort", "outage_discomfort", "outage_unserved"):
        assert math.isnan(kpis([part(0, 4)], SERIES, SESSIONS, None)[name])


def test_a_ratio_to_nothing_is_no_number_but_nothing_to_nothing_is_one() -> None:
    net, nothing = np.ones((1, 4)), np.zeros((1, 4))
    found = district_ratios(net, nothing, net, nothing)
    assert np.isnan(found["citylearn_cost_total"])
    assert found["citylearn_carbon_emissions_total"] == 1.0
    # Where nothing flows there is no load factor, which counts as 0.
    varying = np.array([[1.0, 2.0, 1.0, 3.0]])
    assert district_ratios(nothing, varying, net, net)["citylearn_daily_one_minus_load_factor_average"] == 0.0
