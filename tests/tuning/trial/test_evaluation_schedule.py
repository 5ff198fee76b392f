"""Evaluations are spread evenly over a budget, and the last one is at its end."""

import pytest

from tuning.trial.evaluation_schedule import due_steps, evaluations_due


@pytest.mark.parametrize(("budget", "reports"), [(960, 3), (1000, 7), (5, 5), (250_000, 4)])
def test_an_evaluation_is_due_from_its_step_on_and_not_before(budget: int, reports: int) -> None:
    for evaluation in range(1, reports + 1):
        due = -(-budget * evaluation // reports)  # rounded up
        assert evaluations_due(due, budget, reports) == evaluation
        assert evaluations_due(due - 1, budget, reports) == evaluation - 1
        assert due_steps(evaluation, budget, reports) in (due, due - 1)


def test_the_last_evaluation_is_at_the_end_and_none_comes_after() -> None:
    assert due_steps(7, 1000, 7) == 1000
    assert evaluations_due(5000, 1000, 7) == 7
