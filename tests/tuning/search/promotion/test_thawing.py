"""What freeze-thaw is told of a study: every trial that ran, in its state, and nothing that depends on the clock."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.trial import TrialState

from envs.objective.aim import Aim, Outcome
from search_spaces import Assignment
from tests.tuning.search.fakes import SHORT as STEPS
from tests.tuning.search.fakes import SHORT_RUNG as RUNG
from tests.tuning.search.fakes import AskedStudy, study
from tuning.algorithms.registry import algorithm
from tuning.search.models.freeze_thaw import Outlook
from tuning.search.promotion.thawing import ALWAYS, Thawing, chebyshev, weight
from tuning.search.proposals.drawing import Draws
from tuning.search.record.trials import Costs, Key, gains_of

SPACE = algorithm("ppo").space
FIXED: Assignment = {"gamma": 0.9}


@pytest.fixture
def two(tmp_path: Path) -> AskedStudy:
    """A study with two objectives."""
    return study(tmp_path, fixed=FIXED, name="two", objective="co2 bill")


@pytest.fixture
def memory(tmp_path: Path) -> AskedStudy:
    return study(tmp_path, fixed=FIXED)


def thawing(memory: AskedStudy, costs: Costs | None = None, **changes: Any) -> Thawing:
    given: dict[str, Any] = {"seed": 0, "steps_promised": lambda: math.inf, **changes}
    distributions = SPACE.distributions(FIXED, {"steps": float(STEPS)})
    return Thawing(memory, costs or Costs(SPACE), distributions, STEPS, RUNG, **given)


def test_what_costs_too_much_is_left_for_what_gains_as_much(memory: AskedStudy) -> None:
    for _ in range(2):
        memory.train(0.05, 0.1, 0.15)
    dear = memory.trials()[0].user_attrs["hyperparameters"]
    costs = Costs(SPACE, lambda assignment: 1000.0 if assignment == dear else 1.0)
    chosen = thawing(memory, costs).choose(None, 1e6)
    assert chosen == 1


@pytest.mark.parametrize("two_aims", [False, True])
def test_draws_and_decisions_follow_from_the_study_alone(memory: AskedStudy, two: AskedStudy, two_aims: bool) -> None:
    of = two if two_aims else memory
    for level in (0.2, 0.5, 0.8):
        two.train((level, 1.0 - level))
        memory.train(level)
    one, other = (thawing(of, two_aims=two_aims) for _ in range(2))
    assert one.draw(of.draws.draw).params == other.draw(of.draws.draw).params
    assert one.choose(one.draw(of.draws.draw), 1e6) == other.choose(other.draw(of.draws.draw), 1e6)


def test_ended_trials_and_those_that_confirm_do_not_go_on(memory: AskedStudy) -> None:
    number = memory.ask().number
    memory.report(number, RUNG, 0.3)
    memory.complete(number, 0.3)
    failed = memory.ask().number
    memory.stop(failed, TrialState.FAIL, "bad luck")
    again = memory.draw()
    again.set_user_attr(Key.CONFIRMS, number)
    memory.freeze(memory.add(again).number)
    assert thawing(memory).choose(None, 1e6) is None


def test_from_half_of_its_steps_on_a_trial_that_does_what_an_earlier_one_does_is_not_continued(memory: AskedStudy) -> None:
    first, second = (memory.train(*[0.2] * rungs) for rungs in (3, 4))
    assert thawing(memory).given_up() == {}
    memory.thaw(second)
    memory.report(second, 5 * RUNG, 0.2)
    model = thawing(memory)
    assert model.given_up() == {second: f"policy is rated exactly as trial {first} after all of its evaluations"}
    assert model.choose(None, 1e6, as_frozen=second) == first
    memory.freeze(second)
    assert model.choose(None, 1e6) == first
    # The first one goes on alone. Where it does something else, the plan is the second one's.
    memory.thaw(first)
    assert model.choose(None, 1e6) is None
    memory.report(first, 4 * RUNG, 0.1)
    assert model.given_up() == {}
    assert model.choose(None, 1e6) == second


def note(memory: AskedStudy, number: int, keeps_plan: bool | None) -> None:
    memory.thaw(number)
    memory.stand(number, lambda before: replace(before, keeps_plan=keeps_plan))
    memory.freeze(number)


def test_from_half_of_its_steps_on_a_trial_that_only_follows_its_plan_is_not_continued(memory: AskedStudy) -> None:
    number = memory.train(*[0.2] * 5)
    for kept, given_up in ((None, []), (False, []), (True, [number])):
        note(memory, number, kept)
        assert [*thawing(memory).given_up()] == given_up
        assert (thawing(memory).choose(None, 1e6) is None) is bool(given_up)
    early = memory.train(*[0.3] * 3)
    note(memory, early, True)
    assert [*thawing(memory).given_up()] == [number]


def test_while_plans_wait_others_go_on_and_nothing_waits_where_there_is_no_other(
    memory: AskedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    better, worse = memory.train(0.5), memory.train(0.1)
    monkeypatch.setattr("tuning.search.promotion.thawing.has_plan", lambda assignment: assignment == of_better)
    of_better = thawing(memory).costs.assignment(memory.trial(better))
    waiting = replace(thawing(memory), plans_wait=lambda as_frozen: True)
    assert thawing(memory).choose(None, 1e6) == better
    assert waiting.choose(None, 1e6) == worse
    memory.thaw(worse)
    assert waiting.choose(None, 1e6) == better


def test_a_trial_that_confirms_is_no_earlier_one(memory: AskedStudy) -> None:
    memory.train(0.1)
    again = memory.draw()
    again.set_user_attr(Key.CONFIRMS, 0)
    number = memory.add(again).number
    memory.report(number, 10 * RUNG, 0.2)
    memory.complete(number, 0.2)
    memory.train(*[0.2] * 5)
    assert thawing(memory).given_up() == {}


def test_one_that_misses_requirements_is_below_all_and_decides_no_scale(memory: AskedStudy) -> None:
    aim = Aim.parse(require=("ev_served>=0.9",))
    missed, near = (aim.rating(Outcome(0.9, None, shortfall)) for shortfall in (0.5, 0.1))
    memory.train(0.1, 0.2)
    memory.train(missed, missed)
    memory.train(near, near)
    curves = thawing(memory)._curves()
    ends = [curve.evaluations[-1][1] for curve in curves]
    assert ends[0] == 0.2
    assert ends[1] < ends[2] < 0.1
    assert min(ends) > -1.0


def test_with_two_objectives_all_parts_of_the_front_get_their_turn(two: AskedStudy) -> None:
    """Both ends lead in one objective each, and neither by the mean of both."""
    random = np.random.default_rng(0)
    ends = {}
    for name, level in (("first", (0.9, 0.1)), ("second", (0.1, 0.9)), ("middle", (0.62, 0.62)), ("poor", (0.05, 0.05))):
        noise = 0.002 * random.standard_normal((3, 2))
        ends[name] = two.train(*(tuple(pair) for pair in (np.array(level) + noise).tolist()))
    model = thawing(two, two_aims=True)
    chosen = []
    for _ in range(24):
        number = model.choose(None, 1e6)
        assert number is not None
        chosen.append(number)
        two.thaw(number)
        trial = two.trials()[number]
        steps = max(trial.intermediate_values) + RUNG
        level = gains_of(trial)[100]
        two.report(number, steps, sum(level) / 2, level)
        if steps >= STEPS:
            two.complete(number, sum(level) / 2)
        else:
            two.freeze(number)
    assert {ends[name] for name in ("first", "second", "middle")} <= set(chosen)
    assert chosen.count(ends["poor"]) < min(chosen.count(ends[name]) for name in ("first", "second", "middle"))


def test_with_two_objectives_what_is_left_pays_for_the_leaders_of_three_directions(
    two: AskedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(Outlook, "decide", lambda outlook, curves, candidate, seed, left, as_frozen: seen.append(left))
    two.train((0.2, 0.8))
    thawing(two, two_aims=True).choose(None, 3.0 * STEPS)
    assert seen == [1.0 * STEPS]


def test_a_sampler_sees_the_end_of_each_objective_and_requirements_below_all(
    two: AskedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (two.train((0.1 * k, 0.9), (0.1 * k, 0.9)) for k in (1, 2))
    missing = two.ask().number
    two.report(missing, RUNG, -1.5e15, (5.0, 5.0))
    two.freeze(missing)
    given: list[Any] = []
    monkeypatch.setattr(Draws, "draw", lambda own, values, affordable: given.append(values))
    thawing(two, two_aims=True).draw(two.draws.draw)
    (values,) = given
    assert values[first][0] < values[second][0]
    assert values[first][1] == pytest.approx(0.9, abs=0.1)
    assert all(values[missing][k] < min(values[first][k], values[second][k]) for k in range(2))


def test_with_many_at_once_a_decision_lacks_few_evaluations_and_with_few_none(
    memory: AskedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuning.search.promotion.thawing.MOST_TRIALS", 4)
    monkeypatch.setattr("tuning.search.promotion.thawing.LAGGING", 2)
    model = thawing(memory)
    for _ in range(5):
        memory.train(0.1, 0.2)
    first = model.draw(memory.draws.draw)
    # None runs, so each draw sees all.
    assert model.draw(memory.draws.draw) is not first
    running = [memory.ask().number for _ in range(4)]
    drawn = model.draw(memory.draws.draw)
    assert model.draw(memory.draws.draw) is drawn
    memory.report(running[0], RUNG, 0.3)
    memory.report(running[1], RUNG, 0.3)
    assert model.draw(memory.draws.draw) is drawn
    assert model.choose(drawn, 1e6, as_frozen=running[0]) == running[0]
    memory.report(running[2], RUNG, 0.3)
    assert model.draw(memory.draws.draw) is not drawn
    # One that began is not proposed again.
    drawn = model.draw(memory.draws.draw)
    assert memory.add(drawn).number == 9
    assert model.draw(memory.draws.draw) is not drawn


def test_a_draw_knows_the_same_trials_in_both_objectives_though_a_decision_renewed_one(
    two: AskedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuning.search.promotion.thawing.MOST_TRIALS", 4)
    monkeypatch.setattr("tuning.search.promotion.thawing.LAGGING", 2)
    of_first = [0.0, 1.0]
    monkeypatch.setattr("tuning.search.promotion.thawing.weight", lambda turn: of_first.pop(0))
    for k in range(5):
        two.train((0.1 * k, 0.9), (0.1 * k, 0.9))
    running = [two.ask().number for _ in range(5)]
    model = thawing(two, two_aims=True)
    model.draw(two.draws.draw)
    # Two evaluations more are tolerated. The third renews one outlook, and after the fifth the other one is renewed.
    for count in (3, 2):
        for number in running[:count]:
            two.report(number, RUNG, 0.3, (0.3, 0.3))
        model.choose(None, 1e6)
        running = [two.ask().number, *running[count:]]
    given: list[Any] = []
    monkeypatch.setattr(Draws, "draw", lambda own, values, affordable: given.append(values))
    model.draw(two.draws.draw)
    assert set(given[0]) >= {trial.number for trial in two.trials() if trial.intermediate_values}


def test_before_the_first_evaluation_of_many_trials_there_is_no_model(
    memory: AskedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuning.search.promotion.thawing.MOST_TRIALS", 1)
    monkeypatch.setattr("tuning.search.promotion.thawing.LAGGING", 1)
    for _ in range(3):
        memory.ask()
    model = thawing(memory)
    assert model.choose(model.draw(memory.draws.draw), 1e6) is None


@pytest.mark.parametrize(("promised", "most"), [(50.0, ALWAYS), (400.0, 40.0), (math.inf, math.inf)])
def test_a_draw_may_cost_a_tenth_of_the_budget_or_ten_trainings_of_the_default(
    memory: AskedStudy, monkeypatch: pytest.MonkeyPatch, promised: float, most: float
) -> None:
    seen: list[float] = []
    drawn = memory.draw()
    monkeypatch.setattr(Draws, "draw", lambda own, values, affordable: seen.append(affordable.most) or drawn)
    thawing(memory, steps_promised=lambda: promised * STEPS).draw(memory.draws.draw)
    assert seen == [most]


def test_weights_begin_with_the_middle_and_both_ends_and_never_repeat() -> None:
    found = [weight(number) for number in range(35)]
    assert found[:7] == [0.5, 0.0, 1.0, 0.25, 0.75, 0.125, 0.625]
    assert len(set(found)) == len(found)
    # Every tenth of the range has its turn.
    assert np.histogram(found, np.linspace(0.0, 1.0, 11))[0].min() >= 2


def test_each_member_of_a_front_is_best_from_some_direction_also_in_a_hollow_of_it() -> None:
    front = np.array([[1.0, 0.0], [0.9, 0.35], [0.45, 0.5], [0.35, 0.9], [0.0, 1.0]])
    # No weighted sum finds the one in the middle.
    assert all((front @ (part, 1 - part)).argmax() != 2 for part in np.linspace(0, 1, 101))
    gains = np.concatenate([front, np.full((5, 2), -0.5)])
    assert {int(chebyshev(gains, weight(number)).argmax()) for number in range(33)} == {0, 1, 2, 3, 4}


def test_more_of_both_is_never_less() -> None:
    gains = np.random.default_rng(1).random((40, 2))
    for part in (0.0, 0.2, 0.5, 1.0):
        values = chebyshev(gains, part)
        for own, value in zip(gains, values, strict=True):
            worse = (gains < own).all(axis=1)
            assert (values[worse] <= value).all()


def test_scales_of_the_objectives_do_not_matter() -> None:
    gains = np.random.default_rng(2).random((20, 2))
    assert chebyshev(gains * (1.0, 1000.0) + (5.0, -7.0), 0.3) == pytest.approx(chebyshev(gains, 0.3))
