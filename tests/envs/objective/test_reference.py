"""The uncontrolled run, with which rewards are compared, and what single buildings earn beside it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.batch_backend import records
from envs.environments.vector_env import open_years
from envs.environments.year_cache import building_series
from envs.objective.reference import Before, BuildingSeries, Reference, building_rewards, cached_reference, first_soc
from envs.objective.reward import TERMS
from envs.objective.series import Run
from envs.objective.weights import DEFAULT, Weights
from envs.scenarios.scenario import Scenario, scenario
from tests.envs.objective import by_hand
from tests.envs.objective.by_hand import HELD, RUN, SERIES, SESSIONS, TARIFF

NO_COMFORT = np.zeros((1, 2))


@pytest.fixture
def reference() -> Reference:
    return by_hand.reference(tariff=TARIFF)


def test_means_are_those_of_the_whole_year(reference: Reference) -> None:
    assert reference.scale["co2"] == 9.0 / 4
    assert reference.scale["cost"] == (27.0 + 60.0) / 4
    assert reference.scale["solar"] == 6.0 / 4
    assert reference.scale["grid"] == (0.0 + 1.0 + 3.0 + 0.0) / 4
    # The last session outlasts the year.
    assert reference.scale["ev"] == pytest.approx(10.0 / 4)


def test_hourly_figures_add_up_over_the_buildings(reference: Reference) -> None:
    emission, cost, solar, net = reference.hourly.T
    assert emission.tolist() == [1.5, 1.5, 3.0, 3.0]
    assert cost.tolist() == [3.0, 6.0, 12.0, 6.0]
    assert solar.tolist() == [3.0, 2.0, 0.0, 0.0]
    assert np.array_equal(net, reference.net_kwh)
    assert net.tolist() == [2.0, 3.0, 6.0, 6.0]


def test_a_window_knows_the_hour_before_it_and_forgets_earlier_peaks(reference: Reference) -> None:
    assert reference.window(0, 2).previous_net_kwh is None
    later = reference.window(2, 2)
    assert later.previous_net_kwh == 3.0
    # At 19 h the import of 6 kW is a new peak of half a month.
    assert later.figures["cost"].tolist() == [12.0 + 10.0 * 6.0 / 2, 6.0]
    assert later.month_share.tolist() == [0.5, 0.5]


def test_the_total_of_a_window_is_the_sum_of_its_steps(reference: Reference) -> None:
    window = reference.window(0, 4)
    steps = [window.step(i) for i in range(4)]
    for name, total in window.total.items():
        assert total == pytest.approx(sum(step[name] for step in steps)), name


def test_energy_is_missing_in_the_hour_in_which_a_vehicle_leaves(reference: Reference) -> None:
    assert reference.window(0, 4).figures["ev"].tolist() == [0.0, 1.0, 0.0, 1.5]


def test_a_vehicle_brings_into_a_window_what_the_uncontrolled_run_had_given_it(reference: Reference) -> None:
    assert reference.brought_soc(np.arange(4), 2).tolist() == [0.1, 0.2, 0.5, 0.0]
    assert reference.brought_soc(np.arange(4), 3).tolist() == [0.1, 0.35, 0.65, 0.0]
    assert reference.required_kwh(3, 1) == pytest.approx(1.5 + 1.5)


def test_a_vehicle_is_due_what_it_brought_or_what_standby_left_of_it() -> None:
    held = np.array([0.1, 0.3, 0.2, 0.15, 0.5, 0.65, 0.0, 0.2])
    known = Reference(RUN, SERIES, SESSIONS, None, held)
    assert known.due_soc(np.array([1, 2]), 3, 0).tolist() == [0.15, 0.5]
    assert known.due_soc(np.array([1, 2]), 3, 3).tolist() == [0.15, 0.65]


def test_a_run_begins_with_the_vehicles_of_its_first_two_hours(reference: Reference) -> None:
    assert first_soc(SESSIONS, 1, reference) == {0: 0.3, 1: 0.2}
    # Without it those are known that arrive.
    assert first_soc(SESSIONS, 2, None) == {0: 0.5, 1: 0.2}
    assert first_soc(SESSIONS, 3, None) == {1: 0.0}


def test_hours_are_dear_by_the_demand_charge_or_else_by_their_price(reference: Reference) -> None:
    assert reference.dear.tolist() == [False, True, True, False, False]
    by_price = by_hand.reference()
    assert by_price.dear.tolist() == [False, True, True, False, False]
    flat = by_hand.reference(series=replace(SERIES, price=np.full((2, 5), 0.3, dtype=np.float32)))
    assert not flat.dear.any()
    # With a demand charge its peak hours are, at any price of energy.
    cheap = by_hand.reference(series=replace(SERIES, price=SERIES.price[:, ::-1]), tariff=TARIFF)
    assert np.array_equal(cheap.dear, reference.dear)


def test_a_year_is_simulated_once(site: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path))
    calls: list[int] = []

    def simulate() -> tuple[Run, np.ndarray]:
        calls.append(1)
        return RUN, HELD

    found = [cached_reference(site, 0, SERIES, SESSIONS, simulate) for _ in range(2)]
    assert len(calls) == 1
    assert np.array_equal(found[1].held_soc, HELD)
    for name in ("net_kwh", "missing_kwh", "off_grid"):
        assert np.array_equal(getattr(found[1].run, name), getattr(RUN, name))


START, HOURS = 200, 24


class Hours:
    """A few hours of the four buildings, with the rewards of each."""

    def __init__(self, schema: Path, actions: np.ndarray, weights: Weights = DEFAULT) -> None:
        site = scenario(str(schema))
        simulator, series = open_years(site, [0], 1, weights=weights), building_series(site, 0, weights)
        simulator.begin(0, 0, START, len(actions), 0, 0.5)
        self.series: BuildingSeries = series
        self.rewards, self.terms, self.net = [], [], []
        for own in actions:
            rows, copy = simulator.row, simulator.state.copy.copy()
            net = simulator.out.energy[:, :, records.NET_KWH]
            before = Before(net.astype(np.float64), copy["net"], copy["step"] == 0)
            simulator.step(own[np.newaxis])
            now = simulator.out.energy[:, :, records.NET_KWH].astype(np.float64)
            self.rewards.append(building_rewards(series, rows, before, now, simulator.comfort_parts, simulator.terms)[0])
            self.terms.append(simulator.terms[0].copy())
            self.net.append(now[0])
        self.uncontrolled = simulator.uncontrolled_actions()[0]


@pytest.fixture(scope="module")
def idle(four_buildings: Path) -> np.ndarray:
    """Actions at which no battery moves, with chargers off; shape (HOURS, actions)."""
    site = scenario(str(four_buildings))
    low, span = (open_years(site, [0], 1).site.action[name] for name in ("low", "span"))
    return np.tile(-low / span * 2.0 - 1.0, (HOURS, 1))


@pytest.fixture(scope="module")
def drawn(idle: np.ndarray) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1.0, 1.0, idle.shape)


@pytest.mark.parametrize("weights", [DEFAULT, Weights(peak=0.5, grid=0.2, co2=0.3)])
def test_own_gains_and_the_rest_add_up_to_the_sites_reward(four_buildings: Path, drawn: np.ndarray, weights: Weights) -> None:
    found = Hours(four_buildings, drawn, weights)
    series, rows = found.series, START + np.arange(HOURS)
    own = series.worth(rows, np.array(found.net)) - series.uncontrolled[rows]
    terms = np.array(found.terms)
    by_building = [[*TERMS].index(name) for name in ("co2", "solar")]
    # The demand charge is in the cost too, so this is compared without it: where nothing raises the month's peaks.
    gained = terms.sum(axis=1) - terms[:, [[*TERMS].index(name) for name in ("grid", "ev", "peak")]].sum(axis=1)
    calm = np.abs(gained - own.sum(axis=1)) < 1e-6
    assert calm.sum() > HOURS // 3
    assert np.abs(terms[:, by_building]).max() > 0.0
    assert terms[:, [*TERMS].index("peak")].any() == weights.observes_day_peak


def test_a_buildings_own_gain_is_not_moved_by_the_others(four_buildings: Path, idle: np.ndarray, drawn: np.ndarray) -> None:
    alone = idle.copy()
    alone[:, 0] = drawn[:, 0]
    both = alone.copy()
    both[:, 3] = drawn[:, 3]
    first, second = Hours(four_buildings, alone), Hours(four_buildings, both)
    rows = START + np.arange(HOURS)
    worth = [found.series.worth(rows, np.array(found.net)) for found in (first, second)]
    np.testing.assert_array_equal(worth[0][:, 0], worth[1][:, 0])
    assert np.abs(worth[0][:, 1] - worth[1][:, 1]).max() > 1e-3


@pytest.mark.parametrize(
    ("row", "before", "site_before", "begins", "now", "paid"),
    [
        # The first building flattens its own rise by 2, the second adds 1: the ramp is 2 instead of 3.
        (1, [1.0, 1.0], 2.0, False, [2.0, 2.0], [8.0, -4.0]),
        # Without a change of its own it earns nothing, whatever the others do.
        (1, [1.0, 1.0], 2.0, False, [4.0, 3.0], [0.0, -8.0]),
        # What it did in the hour before counts too: it had taken 1 less, so 1 of its 2 is no change.
        (1, [0.0, 1.0], 1.0, False, [2.0, 2.0], [4.0, -4.0]),
        # What happened before an episode is the uncontrolled run.
        (1, [9.0, 9.0], 2.0, True, [2.0, 2.0], [8.0, -4.0]),
        # A year's first hour has no ramp.
        (0, [0.0, 0.0], np.nan, True, [0.0, 5.0], [0.0, 0.0]),
    ],
)
def test_a_building_is_paid_what_it_changes_of_the_ramp(
    row: int, before: list[float], site_before: float, begins: bool, now: list[float], paid: list[float]
) -> None:
    series = BuildingSeries(
        import_worth=np.zeros((3, 2)), pv_kwh=np.zeros((3, 2)), solar_worth=np.zeros((3, 1)), ramp_worth=np.full(3, 2.0),
        uncontrolled=np.zeros((3, 2)), net_kwh=np.array([[1.0, 1.0], [4.0, 1.0], [4.0, 1.0]]),
    )  # fmt: skip
    earlier = Before(np.array([before]), np.array([site_before]), np.array([begins]))
    found = building_rewards(series, np.array([row]), earlier, np.array([now]), NO_COMFORT, np.zeros((1, len(TERMS))))
    assert found.tolist() == [paid]


def paid(felt: np.ndarray, **terms: float) -> np.ndarray:
    """Rewards of two buildings for an hour in which neither changes its energy; `felt` is the comfort of each."""
    series = BuildingSeries(
        *(np.zeros((1, 2)) for _ in range(2)), np.zeros((1, 1)), np.zeros(1), *(np.zeros((1, 2)) for _ in range(2))
    )
    before = Before(np.zeros((1, 2)), np.zeros(1), np.array([True]))
    values = np.array([[terms.get(name, 0.0) for name in TERMS]])
    return building_rewards(series, np.array([0]), before, np.zeros((1, 2)), felt, values)


def test_a_building_is_paid_for_the_comfort_of_its_own_people() -> None:
    comfort = np.array([[0.5, -0.2]])
    np.testing.assert_allclose(paid(comfort, comfort=comfort.sum()), 2 * comfort)


def test_what_is_left_is_paid_to_all_alike() -> None:
    np.testing.assert_allclose(paid(NO_COMFORT, cost=-0.3, grid=0.7, ev=-0.1), [[-0.4, -0.4]])


def test_the_series_of_years_lie_one_after_another(four_buildings: Path) -> None:
    from envs.environments.year_cache import year_reference

    reference = year_reference(scenario(str(four_buildings)), 0)
    one, two = BuildingSeries.of([reference], DEFAULT), BuildingSeries.of([reference, reference], DEFAULT)
    rows = len(reference.exogenous.hour)
    np.testing.assert_array_equal(two.uncontrolled[rows:], one.uncontrolled)
    np.testing.assert_array_equal(one.net_kwh[:-1], reference.run.net_kwh.T)
