"""A trial costs what its whole assignment costs, in today's names."""

import optuna

from search_spaces import Assignment
from tuning.algorithms.registry import algorithm
from tuning.experiment.budget import Budget
from tuning.search.record.costs import Costs
from tuning.search.record.trials import HYPERPARAMETERS

SPACE = algorithm("ppo").space


def test_what_a_trial_does_not_say_has_its_default() -> None:
    asked: list[Assignment] = []

    def cost(assignment: Assignment) -> float:
        asked.append(assignment)
        return 3.0

    costs = Costs(SPACE, cost)
    trial = optuna.trial.create_trial(value=0.0, user_attrs={HYPERPARAMETERS: {"n_epochs": 7}})
    assert costs.of(trial) == costs.of(trial) == 3.0
    assert asked == [SPACE.whole({"n_epochs": 7})]  # computed once
    assert costs.assignment(trial) == asked[0]


def test_by_default_all_cost_the_same() -> None:
    trial = optuna.trial.create_trial(value=0.0, user_attrs={HYPERPARAMETERS: {"n_epochs": 7}})
    assert Costs(SPACE).of(trial) == Costs(SPACE).of_assignment(SPACE.complete({})) == 1.0


def test_only_a_budget_of_time_knows_what_costs_more() -> None:
    trial = optuna.trial.create_trial(value=0.0, user_attrs={HYPERPARAMETERS: {"n_epochs": 7}})
    budgets = (Budget(9.0, "seconds"), Budget(9.0, "steps"), None)
    found = [Costs.under(budget, SPACE, lambda one: 3.0).of(trial) for budget in budgets]
    assert found == [3.0, 1.0, 1.0]
