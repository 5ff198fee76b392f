"""The batch backend has CityLearn's numbers."""

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from numba import njit

from envs.batch_backend import kernel, records
from envs.batch_backend.rewards import SchemaReward
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_tables
from envs.environments.backend import unsupported
from envs.scenarios.iquitos.site import ROWS
from envs.scenarios.scenario import scenario
from tests.envs.batch_backend.comparison import DEGREES, SUM, compare
from tests.envs.batch_backend.random_scenario import plans, write
from tests.envs.models import with_dynamics
from tests.envs.schema_changes import edited, in_quarters, with_series

QUICK = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


class BackendsDifferError(Exception):
    """The two backends are further apart than rounding of models and powers has them."""


Policy = Callable[[int, int, np.ndarray], np.ndarray]
POLICIES: dict[str, Policy] = {
    "random": lambda actions, step, _: np.random.default_rng(step).uniform(-1.0, 1.0, actions),
    "all +1": lambda actions, *_: np.ones(actions),
    "all -1": lambda actions, *_: -np.ones(actions),
    "alternating": lambda actions, step, _: np.full(actions, 1.0 if step % 2 else -1.0),
    # In the first hour CityLearn counts what a tank gives twice, and stops where that makes a negative consumption.
    "mixed": lambda actions, step, _: np.random.default_rng(step).choice(
        [-1.0, -0.3, 0.0, 0.01, 0.4, 1.0][0 if step else 2 :], actions
    ),
    "policy": lambda actions, _, raw: np.sin(np.outer(np.arange(1, actions + 1), raw).sum(axis=1)),
}


def each(names: Iterable[str], *everyday: str) -> list[Any]:
    """Parameters of a test, all but some of them in the slow suite."""
    return [name if name in everyday else pytest.param(name, marks=pytest.mark.slow) for name in names]


def open_both(schema: Path) -> tuple[CityLearnSimulator, Tables]:
    assert unsupported(schema) == []
    simulator = CityLearnSimulator(schema, with_reward=True, trusted=True)
    return simulator, read_tables(simulator)


def raw_year(tables: Tables, parked: bool = False) -> Year:
    """A year with CityLearn's raw observations; `parked` if vehicles that are away are to be stepped, needed or not."""
    if parked:
        tables = replace(tables, rows=tables.rows | {"arrivals_known": np.array(False)})
    return Year(tables, tables.rows["template"])


def acting(batch: BatchSimulator, name: str) -> Callable[[np.ndarray, int], np.ndarray]:
    return lambda raw, step: POLICIES[name](batch.actions, step, raw)


def check(plan: dict[str, Any], spoil: Callable[[Tables], None] | None = None) -> None:
    # CityLearn reads the weights of models at each start.
    with tempfile.TemporaryDirectory() as folder:
        simulator, tables = open_both(write(plan, Path(folder)))
        if spoil:
            spoil(tables)
        batch = BatchSimulator({0: raw_year(tables, parked=True)}, copies=2)
        found = compare(simulator, batch, acting(batch, "mixed"), 0, plan["start"], plan["hours"], plan["seed"], charge=0.4)
    within = {DEGREES: 1e-4, SUM: 1e-4, "tanks' consumption": 3.0}
    if any(site["dynamics"] for site in plan["buildings"]):
        # Torch rounds sums and functions of the models in another way.
        within["indoor temperature"] = 20.0
        within["reward"] = np.inf if "Comfort" in plan["reward"] else 4.0
    elif "Comfort" in plan["reward"] or plan["reward"] == "RewardFunction":
        # NumPy raises an array to a power in another loop than a number, and each building's power may be an ulp off.
        within["reward"] = 4.0
    if any(value > within.get(name, 0.0) for name, value in found.items()):
        raise BackendsDifferError(found)


@QUICK
@given(plans())
def test_random_scenarios_agree_bit_by_bit_but_for_temperatures_and_powers(plan: dict[str, Any]) -> None:
    check(plan)


def _spoiled(record: str, field: str, factor: float) -> Callable[[Tables], None]:
    def spoil(tables: Tables) -> None:
        if record == "dynamics":
            for name in filter(lambda name: name.endswith(field), tables.dynamics):
                tables.dynamics[name] *= factor
            return
        group = tables.site if record in tables.site else tables.rows
        group[record][field] *= factor

    return spoil


# What a building needs for an error of a record to show; many scenarios have none.
SHOWN_BY = {
    "battery": "battery", "charger": "chargers", "plugged": "chargers", "appliance": "appliances", "cycle": "appliances",
    "building": "service", "dynamics": "dynamics", "thermal": "thermal", "meter": "thermal",
}  # fmt: skip


PLANTED = (
    ("battery", "kept", 1.0 - 1e-5),
    ("battery", "nominal_power", 1.0 + 1e-5),
    ("battery", "drift", 1.0 + 1e-5),
    ("battery", "wear", 1.5),
    ("battery", "discharge_limit", 1.001),
    ("charger", "charge_max", 1.0 + 1e-5),
    ("charger", "efficiency", 1.0 + 1e-5),
    ("charger", "on_phase", 0),
    ("charger", "discharge_min", 10.0),
    ("plugged", "arrival", 1.0 + 1e-5),
    ("plugged", "before", 1.0 + 1e-5),
    ("meter", "cop", 1.0 + 1e-5),
    ("meter", "off_grid", 0),
    ("thermal", "device_hours", 1.0 + 1e-5),
    ("thermal", "device_sign", -1.0),
    ("building", "step_hours", 1.0 + 1e-5),
    ("building", "limit", 1.001),
    ("building", "battery_on_phase", 0),
    ("building", "lookback", 2),
    ("appliance", "threshold", 0),
    ("cycle", "energy", 1.0 + 1e-5),
    ("cycle", "shown", 1.0 + 1e-5),
    ("dynamics", "recurrent", 1.001),
    ("dynamics", "people_series", 1.1),
    ("dynamics", "bounds", 1.001),
)
# One of each kind of device is looked for each day.
DAILY = {("battery", "nominal_power"), ("charger", "on_phase"), ("cycle", "shown"), ("dynamics", "people_series")}


@pytest.mark.parametrize(
    ("record", "field", "factor"),
    [own if own[:2] in DAILY else pytest.param(*own, marks=pytest.mark.slow) for own in PLANTED],
)
def test_the_comparison_finds_a_planted_error(record: str, field: str, factor: float) -> None:
    def may_show(site: dict[str, Any]) -> bool:
        if field.endswith("on_phase"):
            return bool(site["service"] and site["service"]["limits"]["per_phase"])
        return bool(site[SHOWN_BY[record]]) if record in SHOWN_BY else True

    # It ends with the first scenario that shows the error. Which ones are drawn depends on the modules that are imported,
    # so the number leaves room: the rarest error was found after 12, 29 and 40.
    @settings(QUICK, max_examples=300, phases=[Phase.generate])
    @given(plans().filter(lambda plan: any(map(may_show, plan["buildings"]))))
    def search(plan: dict[str, Any]) -> None:
        check(plan, _spoiled(record, field, factor))

    with pytest.raises(BackendsDifferError):
        search()


def agree(schema: Path, name: str, start: int = 0, hours: int = 0, copies: int = 1, parked: bool = False) -> None:
    """Both backends have the same bits under a policy; by default over a whole year."""
    simulator, tables = open_both(schema)
    batch = BatchSimulator({0: raw_year(tables, parked)}, copies)
    found = compare(simulator, batch, acting(batch, name), 0, start, hours or simulator.rows - 1, seed=3, charge=0.5)
    assert set(found.values()) == {0.0}


@pytest.mark.parametrize("name", each(POLICIES, "random", "mixed"))
def test_the_site_agrees_bit_by_bit(small_schema: Path, name: str) -> None:
    agree(small_schema, name, copies=2, parked=True)


LIMITS: tuple[dict[str, Any], ...] = (
    {"charging_constraints": {"building_limit_kw": 2.0, "observations": {"violation": True}}},
    {"electrical_service": {"limits": {"total": {"import_kw": 300.0}}, "observations": {"violation": True}}},
)


@pytest.mark.parametrize("limits", LIMITS, ids=["chargers", "service"])
def test_limits_of_a_connection_agree_bit_by_bit_at_quarters_of_an_hour(
    quarters: Path, tmp_path: Path, limits: dict[str, Any]
) -> None:
    path = edited(quarters, tmp_path, lambda schema: schema["buildings"]["mall"].update(limits))
    simulator, tables = open_both(path)
    batch = BatchSimulator({0: raw_year(tables)}, 1)
    found = compare(simulator, batch, acting(batch, "all +1"), 0, 40, 200)
    assert set(found.values()) == {0.0}
    assert batch.state.room["violation"].any()


def test_in_an_outage_a_battery_gives_what_the_building_needs_in_a_quarter_of_an_hour(
    small_schema: Path, tmp_path: Path
) -> None:
    outage = {"simulate_power_outage": True, "stochastic_power_outage": False}
    dark = with_series(with_dynamics(small_schema, tmp_path / "hours", outage), power_outage=np.arange(ROWS) % 2)
    simulator, tables = open_both(in_quarters(dark, tmp_path / "quarters"))
    batch = BatchSimulator({0: raw_year(tables)}, 1)
    found = compare(simulator, batch, acting(batch, "mixed"), 0, 0, 200, charge=1.0)
    assert {found[name] for name in ("observation", "batteries' SOC", "net consumption")} == {0.0}


@pytest.mark.parametrize("name", each(POLICIES, "random"))
def test_metered_data_agree_bit_by_bit(real_schema: Path, name: str) -> None:
    part = (600, 300) if name == "random" else (0, 0)  # a month ends within; of others the whole year
    agree(real_schema, name, *part)


THERMAL = ("citylearn_challenge_2023_phase_1", "citylearn_challenge_2023_phase_2_local_evaluation", "baeda_3dem")


def agree_but_for_temperatures(schema: Path, name: str) -> None:
    """Some hours, or all, have the same bits, but for the indoor temperature and rewards for it.

    Torch adds in another order and approximates sigmoid and tanh, by some units in the last place of a model's output. That is
    0.00001 C, and for a few hours up to 0.001 C where a model is sensitive. It moves rewards alone, by less than one in a
    million of their sum.
    """
    simulator, tables = open_both(schema)
    batch = BatchSimulator({0: raw_year(tables)}, copies=2)
    hours = 200 if name == "random" else simulator.rows - 1
    found = compare(simulator, batch, acting(batch, name), 0, 0, hours, charge=0.5)
    assert found.pop(DEGREES) < 2e-3
    assert found.pop(SUM) < 1e-6
    del found["indoor temperature"], found["reward"]
    assert set(found.values()) == {0.0}


@pytest.mark.parametrize(
    "name", [name if name == "random" else pytest.param(name, marks=pytest.mark.slow) for name in POLICIES]
)
@pytest.mark.parametrize(
    "data", [data if data == THERMAL[1] else pytest.param(data, marks=pytest.mark.slow) for data in THERMAL]
)
def test_metered_data_with_models_of_temperatures_and_outages_agree_but_for_temperatures(
    thermal_schema: Callable[[str], Path], data: str, name: str
) -> None:
    agree_but_for_temperatures(thermal_schema(data), name)


def test_what_parked_vehicles_do_changes_nothing_that_is_seen(small_schema: Path) -> None:
    _, tables = open_both(small_schema)
    tables = replace(tables, reward=("Electric_Vehicles_Reward_Function", "null"))
    both = [BatchSimulator({0: raw_year(tables, parked)}, 1) for parked in (True, False)]
    assert [batch.follows_parked for batch in both] == [True, False]
    rewards = [SchemaReward(batch) for batch in both]
    for batch in both:
        batch.begin(0, 0, 48, 500, seed=9)
    for step in range(500):
        found = []
        for batch, reward in zip(both, rewards, strict=True):
            actions = POLICIES["random"](batch.actions, step, batch.observation[0])[np.newaxis]
            found.append(reward.step(actions))
        np.testing.assert_array_equal(both[0].observation, both[1].observation)
        np.testing.assert_array_equal(both[0].terms, both[1].terms)
        np.testing.assert_array_equal(found[0], found[1])


def test_in_an_outages_first_hour_load_hot_water_heating_and_cooling_are_served_in_this_order(small_tables: Tables) -> None:
    """After CityLearn's `_clip_outage_electric_loads_to_local_supply`; a random scenario rarely comes there."""
    site = BatchSimulator({0: raw_year(small_tables)}, 1).site
    site.building["thermal"] = True
    tank, meter = np.zeros(3, records.TANK), np.zeros(1, records.METER)
    tank["given"], meter["cop"], meter["solar"] = 1.0, 1.0, -2.0
    njit(lambda *given: kernel._first_off_grid(*given))(site, tank, meter[0], 0, 1.0, -0.75)
    assert tank["consumption"].tolist() == [0.0, 0.75, 1.0]


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_the_drift_is_numpys(seed: int) -> None:
    key = np.zeros(624, dtype=np.uint32)
    kernel.seed_generator(key, seed)
    np.testing.assert_array_equal(key, np.random.RandomState(seed).get_state()[1])


def test_the_root_of_an_efficiency_is_pythons_power() -> None:
    efficiency = np.random.default_rng(0).uniform(0.7, 1.0, 10_000)
    root = njit(lambda *given: kernel._root(*given))
    roots = [root(np.array([[2 * [[0.0, 1.0]], [[0.0, 1.0], [y, y]]]]), 0, 2, 0.3) for y in efficiency.tolist()]
    assert roots == [y**0.5 for y in efficiency.tolist()] != np.sqrt(efficiency).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", "policy"])
def test_a_whole_year_of_the_default_site_agrees_bit_by_bit(name: str) -> None:
    agree(scenario("iquitos").schema_path(1), name, parked=True)
