"""Vehicles that are plugged in where a window begins or ends, at chargers that can empty them, on both simulators."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from common.units import DAY
from envs.environments.site_env import SiteEnv
from envs.environments.vector_env import WindowsEnv, open_years
from envs.environments.year_cache import year_reference
from envs.objective.evaluate import Episode, check_score, evaluated, score
from envs.scenarios.scenario import Scenario, Window, scenario
from envs.yardsticks.bound import window_bound

WINDOWS = (Window(0, 3 * DAY, 2 * DAY), Window(0, 5 * DAY, DAY), Window(0, 10 * DAY + 22, 30))


@pytest.fixture(scope="module")
def site(overnight: Path) -> Scenario:
    return scenario(str(overnight))


Act = Callable[[int, int], np.ndarray]  # actions of an hour, from its number in the window and how many there are


def still(_: int, actions: int) -> np.ndarray:
    return np.zeros(actions)


def emptying(hour: int, actions: int) -> np.ndarray:
    return -np.ones(actions)


def drawn(hour: int, actions: int) -> np.ndarray:
    return np.random.default_rng(hour).uniform(-1.0, 1.0, actions)


def driven(env: SiteEnv | WindowsEnv, actions: int, act: Act) -> list[Episode]:
    """Episodes under actions by the hour; of windows side by side the number is that of all."""
    step = [-1]

    def policy(observation: np.ndarray) -> np.ndarray:
        step[0] += 1
        return np.tile(act(step[0], actions), (len(observation), 1))

    return list(env.episodes(policy))


def by_batch(site: Scenario, act: Act, windows: Sequence[Window] = WINDOWS) -> list[Episode]:
    env = WindowsEnv(site, windows)
    return driven(env, env.simulator.actions, act)


@pytest.mark.parametrize("simulator", [SiteEnv, WindowsEnv])
def test_the_uncontrolled_site_scores_nothing_in_every_window(site: Scenario, simulator: type) -> None:
    env = simulator(site, WINDOWS, "sequence") if simulator is SiteEnv else simulator(site, WINDOWS)
    episodes = list(env.episodes(lambda _: env.present.uncontrolled_actions()))
    for episode in episodes:
        assert episode.reward == pytest.approx(0.0, abs=1e-4), episode.window
        assert not episode.run.owed_kwh.any()
    (found,) = evaluated(episodes)
    assert found.changed_kwh == pytest.approx(0.0, abs=0.1)
    # Each departure counts once, those of vehicles that were there before with what they still lacked.
    sessions = year_reference(site, 0).sessions
    assert found.kpis["departures"] == sum(sessions.within(window.start, window.hours).sum() for window in WINDOWS)
    assert not any(episode.run.missing_kwh[sessions.gives].any() for episode in episodes)
    assert 0.0 < found.kpis["ev_required_kwh"] == found.uncontrolled["ev_required_kwh"]


def test_a_window_begins_with_what_the_uncontrolled_run_had_given(site: Scenario) -> None:
    reference = year_reference(site, 0)
    simulator = open_years(site, [0], 1)
    start = 4 * DAY
    simulator.begin(0, 0, start, DAY, 0)
    there = reference.sessions.there(start)
    there = there[reference.sessions.arrival_soc[there] < 0.35]
    assert len(there) == 2
    brought = reference.brought_soc(there, start)
    # Five hours at 2 kW since seven in the evening, of 30 kWh.
    assert brought == pytest.approx(reference.sessions.arrival_soc[there] + 5 * 2.0 * 0.95 / 30.0, abs=0.01)
    assert simulator.vehicle_soc(0)[reference.sessions.vehicle[there]] == pytest.approx(brought)


@pytest.mark.parametrize("act", [still, emptying, drawn])
def test_both_simulators_owe_and_earn_the_same(site: Scenario, act: Act) -> None:
    for window in WINDOWS:
        (batch,) = by_batch(site, act, [window])
        env = SiteEnv(site, [window], "sequence")
        (citylearn,) = driven(env, env.simulator.action_low.size, act)
        assert batch.reward == pytest.approx(citylearn.reward, rel=1e-5, abs=1e-6)
        for name in ("net_kwh", "charging_kwh", "missing_kwh", "owed_kwh"):
            np.testing.assert_allclose(getattr(batch.run, name), getattr(citylearn.run, name), atol=1e-3, err_msg=name)


def test_what_is_taken_for_good_is_owed_when_a_vehicle_leaves_or_the_window_ends(site: Scenario) -> None:
    window = Window(0, 4 * DAY, DAY - 1)
    (episode,) = by_batch(site, emptying, [window])
    sessions, owed = episode.reference.sessions, episode.run.owed_kwh
    leaves = np.flatnonzero(sessions.within(window.start, window.hours) & sessions.gives)
    stays = sessions.there(window.start + window.hours - 1)
    whole = sessions.capacity_kwh / sessions.efficiency
    brought = episode.reference.brought_soc(np.arange(len(sessions.end)), window.start) * whole
    # Seven hours at 2 kW empty what had come, and it costs the loss both ways to put it back.
    taken = -episode.run.charging_kwh[0]
    assert owed[leaves].sum() == pytest.approx(taken[:7].sum() / 0.95**2, rel=0.05)
    assert (owed[leaves] <= brought[leaves] + 1e-6).all()
    # From seven in the evening there are four hours, in which the uncontrolled run charges too.
    given = episode.reference.due_soc(stays, window.start + window.hours - 1, window.start) * whole[stays] - brought[stays]
    assert owed[stays].sum() == pytest.approx(taken[19:].sum() / 0.95**2 + given.sum(), rel=0.05)
    assert not np.delete(owed, [*leaves, *stays]).any()
    (found,) = evaluated([episode])
    assert found.kpis["import_kwh"] == pytest.approx(np.maximum(episode.run.net_kwh, 0.0).sum() + owed.sum())


def test_it_does_not_pay_to_charge_behind_the_end_of_a_window(site: Scenario) -> None:
    """As the uncontrolled run, but nothing in the last hours, in which vehicles that stay are charged."""
    windows = (Window(0, 3 * DAY, 2 * DAY), Window(0, 5 * DAY, DAY))
    env = WindowsEnv(site, windows)

    def policy(observation: np.ndarray) -> np.ndarray:
        actions = env.present.uncontrolled_actions()
        copies = env.simulator.state.copy
        late = copies["step"] >= copies["hours"] - 4
        actions[late] = 0.0
        return actions

    (found,) = evaluated(list(env.episodes(policy)))
    assert found.changed_kwh > 1.0  # something was left uncharged
    # Of those that leave in these hours it is missing.
    missing = found.kpis["ev_missing_kwh"] / 0.9
    assert found.kpis["import_kwh"] + missing >= found.uncontrolled["import_kwh"] - 0.01


def test_to_empty_vehicles_does_not_pay(site: Scenario) -> None:
    """Beside a policy that leaves them as they came: what it takes for good costs what it saves, and no more is missing."""
    env = WindowsEnv(site, WINDOWS)
    chargers = env.simulator.site.charger
    gives = chargers["action"][chargers["discharge_max"] > 0.0]

    def policy(value: float) -> Act:
        def act(_: int, actions: int) -> np.ndarray:
            wish = np.zeros(actions)
            wish[gives] = value
            return wish

        return act

    left, emptied = (evaluated(by_batch(site, policy(value))) for value in (0.0, -1.0))
    assert emptied[0].kpis["ev_served"] < left[0].kpis["ev_served"]
    for name in ("co2_kg", "import_kwh"):
        assert emptied[0].kpis[name] > left[0].kpis[name], name
    assert score(emptied) < score(left)


@pytest.mark.parametrize("window", WINDOWS)
def test_no_policy_is_above_the_bound(site: Scenario, window: Window) -> None:
    limit, cheap = (window_bound(open_years(site, [0], 1), window, own) for own in ("score", "co2"))
    for act in (still, emptying, drawn):
        (found,) = evaluated(by_batch(site, act, [window]))
        check_score("policy", 0, found.score, limit.score)
    # The bound of emission serves every vehicle, as the uncontrolled site does.
    env = WindowsEnv(site, [window])
    (served,) = evaluated(env.episodes(lambda _: env.present.uncontrolled_actions()))
    assert served.kpis["co2_kg"] > cheap.co2_kg


def test_the_bound_gains_nothing_by_emptying_vehicles_where_all_hours_emit_alike(site: Scenario) -> None:
    window = Window(0, 10 * DAY + 19, 6)  # from their arrival to the middle of the night, when no PV could be stored in them
    simulator = open_years(site, [0], 1)
    giving = window_bound(simulator, window, "co2")
    simulator.site.charger["discharge_max"] = 0.0
    assert giving.co2_kg == pytest.approx(window_bound(simulator, window, "co2").co2_kg, rel=1e-6)
