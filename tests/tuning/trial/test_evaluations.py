"""Evaluations are spread evenly over a budget, and the last one is at its end."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.environments.vector_env import WindowsEnv
from envs.objective.columns import CHANGED, evaluation_row
from envs.objective.evaluate import evaluate
from envs.scenarios.scenario import Window, scenario
from tuning.trial.evaluations import GIVEN_UP, did_nothing, does_nothing, due_steps, evaluations_due, is_given_up

IDLE_ROW = {CHANGED: 1e-4, "uncontrolled_import_kwh": 900.0, "uncontrolled_export_kwh": 100.0}
ACTIVE_ROW = {**IDLE_ROW, CHANGED: 0.01}


@pytest.mark.parametrize(("budget", "reports"), [(960, 3), (1000, 7), (5, 5), (250_000, 4)])
def test_an_evaluation_is_due_from_its_step_on_and_not_before(budget: int, reports: int) -> None:
    for evaluation in range(1, reports + 1):
        due = -(-budget * evaluation // reports)  # rounded up
        assert evaluations_due(due, budget, reports) == evaluation
        assert evaluations_due(due - 1, budget, reports) == evaluation - 1
        assert due_steps(evaluation, budget, reports) in (due, due - 1)
    # The last is at the end, and none comes after.
    assert due_steps(reports, budget, reports) == budget
    assert evaluations_due(5 * budget, budget, reports) == reports


@pytest.fixture
def env(small_schema: Path) -> WindowsEnv:
    return WindowsEnv(scenario(str(small_schema)), [Window(0, 24, 96)])


def row_of(env: WindowsEnv, battery: float | None = None, most_charging: float = 1.0) -> dict[str, Any]:
    """A row of a policy that does otherwise than the uncontrolled site."""

    def policy(observations: np.ndarray) -> np.ndarray:
        actions = np.array(env.simulator.uncontrolled_actions())
        if battery is not None:
            actions[:, 0] = battery
        actions[:, 1:] = np.minimum(actions[:, 1:], most_charging)
        return actions

    (found,) = evaluate(env, policy)
    return evaluation_row(found)


def test_discharging_an_empty_battery_is_nothing_and_charging_it_or_vehicles_otherwise_is_something(env: WindowsEnv) -> None:
    for battery in (None, -1.0, -0.01):
        assert does_nothing(row_of(env, battery))
    assert not does_nothing(row_of(env, 0.01))
    assert not does_nothing(row_of(env, most_charging=0.5))


def test_a_row_says_how_often_a_policy_did_nothing_and_what_to_do() -> None:
    assert does_nothing(IDLE_ROW)
    assert not does_nothing(ACTIVE_ROW)
    told = (
        "policy does nothing, as one that discharges an empty battery: every hour of {} is as on the uncontrolled site; more "
        "trials (--trials) begin otherwise"
    )
    assert did_nothing(2) == told.format("all of its 2 evaluations")
    assert did_nothing(1) == told.format("its one evaluation")


@pytest.mark.parametrize(("evaluation", "given_up"), [(1, False), (2, True), (3, True), (4, False)])
def test_a_trial_is_given_up_from_half_its_budget_on_and_not_at_its_end(evaluation: int, given_up: bool) -> None:
    assert GIVEN_UP == 0.5
    assert is_given_up(evaluation, 1001, 4) is (given_up and evaluation > 2)
    assert is_given_up(evaluation, 1000, 4) is given_up
