"""Draws around what is known stay near it, and their share fades."""

from collections import Counter
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial

from tests.tuning.search.fakes import draw_some, ended
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings
from tuning.search.proposals.drawing import Drawing
from tuning.search.proposals.prior import FIRST_SHARE, WHOLE_PART, anywhere, around, centre, share
from tuning.search.record.trials import Key

SPACE = {
    "rate": FloatDistribution(1e-5, 1e-1, log=True),
    "power": IntDistribution(0, 3),
    "epochs": IntDistribution(1, 10, log=True),
    "kind": CategoricalDistribution(("a", "b", "c")),
    "only": IntDistribution(4, 4),
}
POINT = {"rate": 1e-3, "power": 0, "epochs": 5, "kind": "a", "only": 4}
LIMITS = {"steps": 1e6}


def test_the_share_halves_with_twice_as_many_trials_as_begin_the_search() -> None:
    assert share(0, 5) == FIRST_SHARE
    assert share(10, 5) == pytest.approx(FIRST_SHARE / 2)
    assert share(100, 5) < 0.001


def test_a_neighbour_is_another_point_within_the_ranges_and_mostly_near() -> None:
    random = np.random.default_rng(0)
    found = [around(POINT, SPACE, random) for _ in range(400)]
    assert all(one != POINT and one.keys() == POINT.keys() for one in found)
    for name, within in SPACE.items():
        assert all(within._contains(within.to_internal_repr(one[name])) for one in found)
    decades = np.array([np.log10(one["rate"] / 1e-3) for one in found])
    assert 0.3 < np.mean(decades == 0.0) < 0.7
    assert np.mean(np.abs(decades) < 1.0) > 0.75
    assert abs(np.mean(decades)) < 0.1
    assert 0.8 < Counter(one["kind"] for one in found)["a"] / 400 < 0.99
    assert {one["power"] for one in found} >= {0, 1, 2}
    assert {type(one["epochs"]) for one in found} == {int}


def test_without_anything_that_can_differ_the_point_comes_back() -> None:
    assert around({"only": 4}, {"only": SPACE["only"]}, np.random.default_rng(0)) == {"only": 4}


def test_the_centre_is_a_start_or_the_best_that_violates_nothing() -> None:
    values = ((0.1, {}), (0.3, {}), (0.9, {"memory": 5.0}))
    seen = [ended(number, {"power": number}, SPACE, value, **lacks) for number, (value, lacks) in enumerate(values)]
    random = np.random.default_rng(0)
    found = Counter(str(centre(seen, [{"power": 3}], random)) for _ in range(200))
    assert found.keys() == {"{'power': 1}", "{'power': 3}"}
    assert 60 < found["{'power': 3}"] < 140
    assert centre(seen, [], random) == {"power": 1}
    assert centre([], [], random) is None


def drawn(sampler: str, count: int, **settings: Any) -> list[dict[str, Any]]:
    spec = algorithm("ppo")
    own = Settings(sampler=sampler, **settings)  # type: ignore[arg-type]
    of = Drawing(own, spec.space, {}, LIMITS, [spec.preset("default", {}, LIMITS)])
    return [trial.params for trial in draw_some(of, count)]


def near(params: dict[str, Any], start: dict[str, Any]) -> bool:
    """Whether a trial shares several numbers with the start, which a draw of the whole space never does."""
    return sum(params[name] == start[name] for name in ("learning_rate", "one_minus_gamma", "clip_range", "max_grad_norm")) > 0


def test_early_draws_come_from_around_the_start_too_and_those_of_random_never() -> None:
    by_tpe = [near(params, params_0) for seed in range(6) for params_0, *rest in [drawn("tpe", 6, seed=seed, trials=40)]
              for params in rest]  # fmt: skip
    assert 0.25 < np.mean(by_tpe) < 0.85
    first, *rest = drawn("random", 12)
    assert not any(near(params, first) for params in rest)


def test_with_two_objectives_draws_are_around_any_member_of_the_front() -> None:
    values = [(0.0, 1.0), (1.0, 0.0), (0.6, 0.6), (0.1, 0.1), (2.0, 2.0)]
    seen = [
        optuna.trial.create_trial(
            values=list(pair), params={"only": number}, distributions={"only": IntDistribution(0, 9)},
            constraints={"requirements": 1.0 if number == 4 else 0.0},
        )
        for number, pair in enumerate(values)
    ]  # fmt: skip
    random = np.random.default_rng(0)
    found = [centre(seen, [], random) for _ in range(60)]
    assert {own["only"] for own in found if own} == {0, 1, 2}


def test_any_value_comes_from_the_whole_space() -> None:
    random = np.random.default_rng(0)
    found = [anywhere(SPACE, [], random) for _ in range(300)]
    assert {one["kind"] for one in found} == {"a", "b", "c"}
    assert {one["power"] for one in found} == {0, 1, 2, 3}
    assert all(one["only"] == 4 for one in found)
    assert 0.4 < np.mean([float(one["rate"]) < 1e-3 for one in found]) < 0.6


def with_kinds(*kinds: str) -> list[FrozenTrial]:
    own = {"kind": SPACE["kind"]}
    return [optuna.trial.create_trial(params={"kind": kind}, distributions=own, value=0.0) for kind in kinds]


@pytest.mark.parametrize(
    ("kinds", "chances"),
    [
        ((), {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}),
        (("a",), {"a": 0.2, "b": 0.4, "c": 0.4}),
        (("a", "a", "a", "a", "b"), {"a": 1 / 7, "b": 2 / 7, "c": 4 / 7}),
        (("a",) * 90 + ("b",) * 3 + ("c",) * 4, {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}),
    ],
)
def test_the_whole_space_prefers_choices_that_fewer_than_three_trials_have(
    kinds: tuple[str, ...], chances: dict[str, float]
) -> None:
    random, seen = np.random.default_rng(1), with_kinds(*kinds)
    found = Counter(anywhere({"kind": SPACE["kind"]}, seen, random)["kind"] for _ in range(300))
    for kind, chance in chances.items():
        assert found[kind] / 300 == pytest.approx(chance, abs=0.08)


def test_a_choice_that_no_trial_has_is_still_drawn() -> None:
    space, limits = algorithm("ppo").space, {"steps": 250_000.0}
    known = draw_some(Drawing(Settings(seed=1), space, {"learning_rate_schedule": "linear"}, limits), 20)
    draws = 40
    others = 0
    for seed in range(draws):
        drawn = Drawing(Settings(seed=seed), space, {}, limits).draw(known, "one")
        others += drawn.user_attrs[Key.HYPERPARAMETERS]["learning_rate_schedule"] != "linear"
    choices = len(space.distributions({}, limits)["learning_rate_schedule"].choices)  # type: ignore[attr-defined]
    assert others > 0.5 * WHOLE_PART * (1 - 1 / choices) * draws
