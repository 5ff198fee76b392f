"""What a free slot does is a question: to ask it writes nothing, and to ask again gives the same."""

import math
from pathlib import Path

import pytest
from optuna.trial import TrialState

from tests.tuning.search.fakes import RUNG, STEPS, AskedStudy, asked_study
from tuning.experiment.folder import create
from tuning.experiment.option_values import Budget
from tuning.experiment.settings import Settings
from tuning.search.promotion.choosing import Choosing
from tuning.search.record.ledger import Ledger
from tuning.search.record.trials import Key


@pytest.fixture
def memory(tmp_path: Path) -> AskedStudy:
    return asked_study(create(Settings(name="one", dir=str(tmp_path), steps=STEPS)))


def choosing(memory: AskedStudy, budget: float | None = None) -> Choosing:
    limit = None if budget is None else Budget(budget, "steps")
    return Choosing(memory.draws, math.inf, Ledger(memory, limit, RUNG, most_steps=STEPS))


def test_questions_write_nothing(memory: AskedStudy) -> None:
    of = choosing(memory, budget=10.0 * RUNG)
    number = memory.ask().number
    memory.report(number, RUNG, 0.1)
    before = memory._storage.written
    for _ in range(2):
        drawn = of.drawn()
        assert drawn
        assert of.of_search(drawn, {number}) is drawn
        assert of.of_confirmation({number}) is None
        assert of.is_searching({number})
        assert of.is_paid(number, set())
        assert of.keeps(number, drawn, set())
    assert memory._storage.written == before


def test_without_freeze_thaw_a_frozen_trial_goes_on_before_a_new_one_begins(memory: AskedStudy) -> None:
    number = memory.ask().number
    memory.freeze(number)
    of = choosing(memory)
    chosen = of.of_search(of.drawn(), set())
    assert (chosen.number, chosen.state) == (number, TrialState.WAITING)


def test_a_trial_that_confirms_is_none_of_the_search(memory: AskedStudy) -> None:
    drawn = memory.draw()
    drawn.set_user_attr(Key.CONFIRMS, 0)
    number = memory.add(drawn).number
    memory.freeze(number)
    of = choosing(memory)
    assert of.confirms(number)
    assert of.of_search(None, set()) is None
