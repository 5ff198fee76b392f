"""A site without its chargers' actions, and what views of a site share."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.environments.vector_env import SiteVectorEnv, WindowsEnv
from envs.environments.year_cache import observation_layout
from envs.objective.evaluate import evaluate
from envs.observation import ChargerGroups
from envs.scenarios.scenario import Window, scenario
from tests.tuning.algorithms.match import FEATURES, MatchVectorEnv, groups, trainer
from tuning.algorithms.networks.site_view import SiteView, SiteViewEnv, ViewState


class Env:
    """Counts."""

    count = 0

    def get_state(self) -> dict[str, Any]:
        return {"count": self.count}

    def set_state(self, state: dict[str, Any]) -> None:
        self.count = state["count"]


class View(ViewState):
    def __init__(self, count: int) -> None:
        self.env, self._observations = Env(), np.full(3, count)
        self.env.count = count


def test_a_state_is_a_copy_of_both_and_goes_on_from_there() -> None:
    one, other = View(1), View(2)
    state = one.get_state()
    one._observations[:] = 7
    one.env.count = 7
    other.set_state(state)
    assert (other.env.count, other._observations.tolist()) == (1, [1, 1, 1])
    other._observations[:] = 5
    assert state["observations"].tolist() == [1, 1, 1]


WINDOWS = (Window(0, 0, 168), Window(0, 500, 168))


def test_an_algorithm_sees_and_moves_what_is_no_chargers() -> None:
    env = SiteViewEnv(MatchVectorEnv(4, chargers=3), groups(3), initial_charging=0.25)  # type: ignore[arg-type]
    assert env.single_action_space.shape == (1,)
    assert env.single_observation_space.shape == (FEATURES + 1,)
    observations, _ = env.reset(seed=0)
    inner: Any = env.env
    for _ in range(30):
        whole = inner.seen.copy()
        np.testing.assert_allclose(observations[:, :FEATURES], whole[:, :FEATURES])
        np.testing.assert_allclose(observations[:, FEATURES], whole[:, FEATURES:].mean(axis=1), rtol=1e-5)
        taken: list[np.ndarray] = []
        step = inner.step
        inner.step = lambda actions, step=step, taken=taken: taken.append(actions.copy()) or step(actions)
        own = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 1)).astype(np.float32)
        observations, rewards, _, truncated, _ = env.step(own)
        inner.step = step
        np.testing.assert_allclose(taken[0], np.concatenate([own, np.full((4, 3), 0.25)], axis=1))
        assert rewards.shape == truncated.shape == (4,)


def test_vehicles_charge_as_on_the_uncontrolled_site_in_training_and_evaluation(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    layout = observation_layout(site)
    assert layout.chargers is not None
    env = SiteVectorEnv(site, WINDOWS, 3, copy=False)
    seen = SiteViewEnv(env, layout.chargers, 1.0)
    seen.reset(seed=0)
    step, differences = env.step, []

    def watched(actions: np.ndarray) -> Any:
        differences.append(np.abs(actions - env.simulator.uncontrolled_actions()))
        return step(actions)

    env.step = watched  # type: ignore[method-assign]
    for _ in range(100):
        seen.step(np.zeros((3, 1), dtype=np.float32))
    # Losses within batteries differ from vehicle to vehicle, and are in no observation.
    assert np.max(differences) < 0.2
    assert np.mean(differences) < 0.01
    idle = WindowsEnv(site, WINDOWS)
    (found,) = evaluate(idle, lambda observations: seen.view.complete(np.zeros((2, 1), np.float32), observations))
    assert abs(found.kpis["ev_served"] - found.uncontrolled["ev_served"]) < 0.01
    assert abs(found.kpis["co2_kg"] / found.uncontrolled["co2_kg"] - 1.0) < 0.002


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_learn_charging_says_what_is_learned(algo: str) -> None:
    for learn, actions in ((True, 4), (False, 1)):
        trained = trainer(algo, chargers=3, learn_charging=learn, initial_charging=0.5)
        try:
            used = trained.used()
            assert (used["learn_charging"], used["initial_charging"]) == (learn, 0.5)
            assert trained.learner.network.action_space.shape == (actions,)  # type: ignore[attr-defined]
            trained.algorithm.train()
            given = trained.policy()(np.random.default_rng(0).uniform(-1.0, 1.0, (5, FEATURES + 3)).astype(np.float32))
            assert given.shape == (5, 4)
            assert (given[:, 1:] == 0.5).all() == (not learn)
        finally:
            trained.stop()


@pytest.mark.usefixtures("small_ray")
def test_without_chargers_there_is_nothing_to_say() -> None:
    trained = trainer("ppo")
    try:
        assert trained.view is None
        assert (trained.used()["learn_charging"], trained.used()["initial_charging"]) == (None, None)
    finally:
        trained.stop()


def test_a_site_of_chargers_alone_has_to_learn_them() -> None:
    with pytest.raises(ValueError, match="set learn_charging=true"):
        SiteView(3, 2, ChargerGroups(((0,), (1,)), (0, 1)), 1.0)
