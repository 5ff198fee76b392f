"""What a site can have: a bound, model predictive control, and policies that see its plans or act in other splits."""

import math
import time
import warnings

import numpy as np

from common.errors import ScenarioError
from common.units import DAY, WEEK
from envs.batch_backend.tables import Tables
from envs.citylearn_backend.simulator import SIMULATORS
from envs.environments.backend import beyond_batch
from envs.environments.year_cache import has_several_buildings, observation_layout, year_tables
from envs.objective.reward import serves_people, unknown_actions
from envs.objective.series import Exogenous
from envs.observation import layout_gap
from envs.planning.mpc import MOST_STEPS_PER_HOUR
from envs.planning.mpc_site import planned_actions
from envs.scenarios.scenario import SPLITS, Scenario, Split
from envs.scenarios.schema_file import active_actions, count_steps, read_schema
from envs.scenarios.schema_shape import STORAGE_ACTIONS, THERMAL_ACTIONS
from envs.scenarios.segments import check_statable
from envs.scenarios.shapes import included
from envs.scenarios.tariff import DemandCharge
from envs.scenarios.trust import CLASSES, reward_classes
from envs.seen import Seen


def why_no_bound(scenario: Scenario) -> str:
    """Reason why a scenario has no bound; empty where it has one."""
    if serves_people(scenario):
        return "no linear programme bounds what a model of the indoor temperature allows"
    return _why_none(scenario, "the bound")


def why_no_mpc(scenario: Scenario) -> str:
    """Reason why a scenario has no model predictive control; empty where it has one."""
    if reason := _why_none(scenario, "model predictive control"):
        return reason
    if scenario.steps_per_hour > MOST_STEPS_PER_HOUR:
        least = 60 // MOST_STEPS_PER_HOUR
        return f"model predictive control plans steps of {least} minutes or more, and the site has shorter ones"
    if serves_people(scenario) and not _same_in_all_splits(scenario):
        return "models of indoor temperatures are fitted on the buildings that train, and other splits have others"
    # Series are forecast of the same kinds in all years.
    kinds = {planned_actions(tables) for tables, _ in _years(scenario)}
    return "its segments have thermal storages or devices of different kinds" if len(kinds) > 1 else ""


def check_own_reward(scenario: Scenario) -> None:
    """Give a reward of the user's own the first day of the uncontrolled site, before anything is trained on it.

    Raises:
        ScenarioError: if CityLearn fails with it, or it is no number in some hour.
    """
    if scenario.schema is None:
        return
    year = scenario.years("train")[0]
    path = scenario.schema_path(year)
    names = [named.name for named in reward_classes(read_schema(path)) if named.name not in CLASSES["reward"]]
    if not names:
        return
    try:
        with SIMULATORS.lend(scenario, year, with_reward=True) as simulator, warnings.catch_warnings(action="ignore"):
            simulator.begin(0, DAY, seed=0)
            rewards = [simulator.step(simulator.uncontrolled_actions())[1] for _ in range(DAY)]
    except ScenarioError:
        raise
    except Exception as error:
        # It is the user's code, which may raise anything. Without it CityLearn ran through the site before.
        raise ScenarioError(
            f"{path}: CityLearn fails with the reward {names[0]} ({type(error).__name__}: {error}); it is made as CityLearn "
            "makes its own, and its calculate(observations) gives a list of numbers"
        ) from error
    if broken := [(hour, value) for hour, value in enumerate(rewards) if not math.isfinite(value)]:
        hour, value = broken[0]
        raise ScenarioError(f"{path}: the reward {names[0]} is {value} in hour {hour} of the uncontrolled site; mend its class")


def steps_per_second(scenario: Scenario) -> float:
    """How fast CityLearn steps a given site on this machine, of a day without control."""
    with SIMULATORS.lend(scenario, scenario.years("train")[0]) as simulator:
        simulator.begin(0, DAY, seed=0)
        actions, begun = simulator.uncontrolled_actions(), time.perf_counter()
        for _ in range(DAY):
            simulator.step(actions)
        return DAY / (time.perf_counter() - begun)


def beyond_linear(exogenous: Exogenous, tariff: DemandCharge | None) -> str:
    """What of a site year no linear programme describes; empty where one does."""
    for name, series in (("prices", exogenous.price), ("carbon intensities", exogenous.carbon)):
        if (series < 0.0).any():
            # Importing and exporting at once would then pay, and a linear programme cannot forbid it.
            return f"{name} below zero are beyond a linear programme"
    if tariff and tariff.off_peak_excess_price > tariff.peak_price:
        # A higher import in peak hours would then lower the bill: the bill is no convex function of the imports.
        return "a demand charge that costs more outside peak hours than in them is beyond a linear programme"
    return ""


def _why_none(scenario: Scenario, what: str) -> str:
    if off := unknown_actions(scenario):
        return f"{what} does not know what {', '.join(off)} do for people"
    if missing := beyond_batch(scenario):
        return f"{what} needs the batch backend, which does not support: {', '.join(missing)}"
    reasons = (beyond_linear(tables.exogenous, tariff) for tables, tariff in _years(scenario))
    return next((reason for reason in reasons if reason), "")


def _years(scenario: Scenario) -> list[tuple[Tables, DemandCharge | None]]:
    """Tables and tariff of the years that can differ in what is asked here."""
    # Generated years all have the same devices, and tariffs of one kind. Segments may have other buildings and prices.
    years = range(len(scenario.segments)) if scenario.segments else scenario.years("train")[:1]
    return [(year_tables(scenario, year), DemandCharge.of(scenario.schema_path(year))) for year in years]


def check_seen(scenario: Scenario, seen: Seen) -> None:
    """Check that a scenario has what a policy is to see; a `ScenarioError` says why it has not."""
    if seen.plan != "none" and (reason := why_no_mpc(scenario)):
        raise ScenarioError(f"plan={seen.plan}: {scenario.title} has no model predictive control ({reason}); leave it out")


def check_one_layout(scenario: Scenario) -> None:
    """Check that a policy of training can run on the other splits; a `ScenarioError` where observations or actions differ."""
    for split in SPLITS:
        if not scenario.same_buildings(split):
            gap = layout_gap(observation_layout(scenario), observation_layout(scenario, scenario.years(split)[0]))
            if gap:
                remedy = "name as many buildings with the same devices"
                if has_several_buildings(scenario):
                    remedy += ", or let one policy act for each building: --set shared_policy=true"
                raise ScenarioError(
                    f"--{split}-buildings: {scenario.described(split)} has {gap}, so a policy of "
                    f"{scenario.described('train')} cannot run there; {remedy}"
                )


def check_stays(scenario: Scenario, split: Split) -> None:
    """Check that a split counts some stay of a vehicle at a charger, where vehicles are charged at all.

    Raises:
        ScenarioError: if all stays cross the borders of its windows, as cars over night do those of single days.
    """
    if scenario.schema is None or not has_chargers(scenario) or beyond_batch(scenario):
        return
    windows = scenario.windows(split)
    stays = {year: year_tables(scenario, year).sessions for year in {window.year for window in windows}}
    # A vehicle that was there before brings what the uncontrolled run had given it by then.
    counted = any((stays[w.year].within(w.start, w.hours) & (stays[w.year].start >= w.start)).any() for w in windows)
    if known := 0 if counted else sum(len(sessions.end) for sessions in stays.values()):
        longest, splits = max(window.lasts for window in windows), long_splits(scenario)
        remedies = [f"search with splits that have some, as {' '.join(splits)}"] if splits else []
        remedies += ["give at least 20 weeks"] if longest < WEEK or not splits else []
        raise ScenarioError(
            f"{scenario.title}: vehicles stay {known:,} times, and no stay lies within a window of {split} (the longest has "
            f"{longest} hours), so none would count; {', or '.join(remedies)}"
        )


def long_splits(scenario: Scenario) -> list[str]:
    """Options that give half of a schema's days to train, a quarter each to validate and test; none where they cannot."""
    assert scenario.schema is not None
    try:
        check_statable(scenario.schema, read_schema(scenario.schema))
    except ScenarioError:
        return []
    days = (count_steps(scenario.schema) + 1) // (DAY * scenario.steps_per_hour)
    if days // 4 * DAY < WEEK:
        return []
    middle = days // 2, days // 2 + days // 4
    ranges = zip(SPLITS, (0, *middle), (*middle, days), strict=True)
    return [word for split, begin, end in ranges for word in (f"--{split}", f"{begin}-{end - 1}")]


def check_people(scenario: Scenario, split: Split) -> None:
    """Check that somebody feels what devices do that heat and cool, which the reward `improvement` counts.

    Raises:
        ScenarioError: if such devices obey actions, and in no hour of a split there are people with set points.
    """
    if not serves_people(scenario):
        return
    windows = scenario.windows(split)
    series = {year: _series(scenario, year) for year in {window.year for window in windows}}
    felt = {year: exogenous.occupied & np.isfinite(exogenous.cool_above_c) for year, exogenous in series.items()}
    if not any(felt[w.year][:, w.rows].any() for w in windows):
        raise ScenarioError(
            f"{scenario.title}: in no hour of {split} there are people (occupant_count) with set points, so the best policy "
            "would switch cooling and heating off: add them, search with --reward schema, or make these actions inactive"
        )


def _series(scenario: Scenario, year: int) -> Exogenous:
    if not beyond_batch(scenario):
        return year_tables(scenario, year).exogenous
    with SIMULATORS.lend(scenario, year) as simulator:
        return simulator.exogenous


def has_chargers(scenario: Scenario) -> bool:
    """Whether vehicles charge. They do on all generated sites."""
    schema = scenario.schema and read_schema(scenario.schema)
    return not schema or any(building.get("chargers") for building in included(schema).values())


def can_share(scenario: Scenario) -> bool:
    """Whether policies with and without sharing can run on all splits: there are several buildings, the same in each."""
    return _same_in_all_splits(scenario) and has_several_buildings(scenario)


def can_start_from_plan(scenario: Scenario) -> bool:
    """Whether policies can start from a plan, which is one of storages. On all generated sites they can.

    A policy turns a plan's energy into actions by the size of the storage that it was trained with, so another building would
    get wrong ones. Nothing was measured of plans where one policy has the actions of several buildings. So where policies
    cannot be shared, the site has one building, the same in all splits.
    """
    if not scenario.schema:
        return True
    schema = scenario.schema_path(scenario.years("train")[0])
    buildings = included(read_schema(schema)).values()
    active = (STORAGE_ACTIONS | THERMAL_ACTIONS).intersection(active_actions(schema))
    # An action without its device moves nothing.
    if not any(active.intersection(each).difference(each.get("inactive_actions") or ()) for each in buildings):
        return False
    fits = can_share(scenario) or (len(buildings) == 1 and _same_in_all_splits(scenario))
    return fits and not why_no_mpc(scenario)


def _same_in_all_splits(scenario: Scenario) -> bool:
    return all(scenario.same_buildings(split) for split in SPLITS)
