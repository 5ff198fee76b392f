"""The set-up of a trainer follows from settings, number and hyperparameters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envs.objective.weights import Weights
from envs.seen import Seen
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings
from tuning.trial import setup
from tuning.trial.setup import trial_setup

SETTINGS = Settings(scenario="iquitos-38", backend="batch", num_envs=8, steps=5000, seed=3)


@pytest.fixture(autouse=True)
def no_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of the site is made from its data, which this is not about."""

    class Layout:
        def __init__(self, chargers: str) -> None:
            self.chargers = chargers

    monkeypatch.setattr(setup, "seen_layout", lambda scenario, seen: Layout("chargers" if seen == Seen() else "seen"))
    monkeypatch.setattr(setup, "seen_district", lambda scenario, seen: "a district" if seen == Seen() else "with peaks")
    monkeypatch.setattr(setup, "seen_buildings", lambda scenario, seen: f"a plan: {seen.plan}")


def test_it_has_what_the_settings_say() -> None:
    h = algorithm("ppo").space.complete({})
    made = trial_setup(SETTINGS, 1234, h, gpu=True, parts=2)
    assert (made.hyperparameters, made.steps, made.gpu, made.parts) == (h, 5000, True, 2)
    assert made.seed == 1234
    assert made.chargers == "chargers"
    assert made.district == "a district"


@pytest.mark.parametrize(("backend", "copies"), [("batch", 8), ("citylearn", 1)])
def test_citylearn_steps_one_copy(backend: str, copies: int) -> None:
    assert trial_setup(replace(SETTINGS, backend=backend), 0, {}).most_envs == copies  # type: ignore[arg-type]


def test_environments_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "training_env", lambda *arguments: arguments)
    for trusted in (False, True):
        made = trial_setup(replace(SETTINGS, trust_scenario=trusted), 0, {})
        expected = "iquitos-38", "batch", 5, "improvement", trusted, SETTINGS.splits, Weights(), Seen()
        assert made.make_envs(5) == expected  # type: ignore[comparison-overlap]


def test_environments_and_layout_are_those_of_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "training_env", lambda *arguments: arguments)
    made = trial_setup(replace(SETTINGS, weights=("co2=0.5", "peak=0.5")), 0, {})
    own = Weights(0.5, 0.0, 0.0, 0.0, 0.0, 0.5)
    assert made.make_envs(5)[-2:] == (own, Seen(day_peak=True))  # type: ignore[index]
    assert made.chargers == "seen"  # type: ignore[comparison-overlap]
    assert made.district == "with peaks"  # type: ignore[comparison-overlap]


def test_environments_show_what_the_hyperparameters_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "training_env", lambda *arguments: arguments)
    made = trial_setup(SETTINGS, 0, {"plan": "learned"})
    assert made.make_envs(5)[-1] == Seen(plan="learned")  # type: ignore[index]
    assert made.planned == "a plan: learned"  # type: ignore[comparison-overlap]
    assert trial_setup(SETTINGS, 0, {}).planned is None
    assert made.chargers == "seen"  # type: ignore[comparison-overlap]


def test_a_trial_of_two_objectives_trains_for_its_share_and_sees_what_all_see(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Weights, Seen]] = []
    monkeypatch.setattr(setup, "training_env", lambda *given: made.append((given[6], given[7])))
    two = replace(SETTINGS, objective="co2 bill")
    h = {**algorithm("ppo").space.complete({}), "reward_share": 0.2}
    trial_setup(two, 1, h).make_envs(8)
    (weights, seen), base = made[0], two.aim.weights
    assert (weights.co2, weights.cost) == pytest.approx((0.2 * 0.65, 0.8 * 0.65))
    assert replace(weights, co2=base.co2, cost=base.cost) == base
    assert seen == Seen()
    assert setup.used_share(two, weights) == {"reward_share": pytest.approx(0.2)}


def test_with_one_objective_all_trials_train_for_the_users_weights() -> None:
    assert setup.trained_for(SETTINGS, {}) == SETTINGS.aim.weights
    assert setup.used_share(SETTINGS, Weights()) == {}
