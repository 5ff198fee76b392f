"""What the state of a trial says of it."""

import optuna
import pytest
from optuna.trial import TrialState

from tuning.search.record.attributes import MEASURED, PREDICTED, REQUIRED
from tuning.search.record.states import CAN_BE_BEST, lacked_memory


def test_what_was_stopped_or_failed_is_not_the_best() -> None:
    assert set(TrialState) - set(CAN_BE_BEST) == {TrialState.PRUNED, TrialState.FAIL}


@pytest.mark.parametrize(
    ("name", "excess", "lacked"),
    [(PREDICTED, 1.0, True), (MEASURED, 1.0, True), (PREDICTED, 0.0, False), (REQUIRED, 1.0, False)],
)
def test_a_trial_lacked_memory_where_its_prediction_or_a_measurement_says_so(name: str, excess: float, lacked: bool) -> None:
    study = optuna.create_study()
    trial = study.ask()
    trial.set_constraint(name, excess)
    assert lacked_memory(study.get_trials()[0]) is lacked
