"""What a trial of a study says, and that what follows from it is computed again where it changed, and only there."""

from pathlib import Path

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial

from tests.tuning.search.fakes import ask
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import (
    CAN_BE_BEST,
    GAINS,
    MEASURED,
    PREDICTED,
    REQUIRED,
    STANDING,
    OfTrials,
    Standing,
    gains_of,
    lacked_memory,
    last_gains,
    state_of,
)


def test_what_was_stopped_or_failed_is_not_the_best() -> None:
    assert set(TrialState) - set(CAN_BE_BEST) == {TrialState.PRUNED, TrialState.FAIL}


@pytest.mark.parametrize(
    ("name", "excess", "lacked"),
    [(PREDICTED, 1.0, True), (MEASURED, 1.0, True), (PREDICTED, 0.0, False), (REQUIRED, 1.0, False)],
)
def test_a_trial_lacked_memory_where_its_prediction_or_a_measurement_says_so(name: str, excess: float, lacked: bool) -> None:
    study = optuna.create_study()
    study.ask().set_constraint(name, excess)
    study.tell(0, state=TrialState.PRUNED)
    (trial,) = study.get_trials()
    assert lacked_memory(trial) is lacked
    assert state_of(trial) == ("oom" if lacked else "pruned")


def test_a_standing_is_what_was_written() -> None:
    standing = Standing(100, 1000, 2, 1, True, "Traceback", (100, 0.1, (0.2, -0.3)))
    trial = create_trial(state=TrialState.RUNNING, user_attrs={STANDING: standing.attribute()})
    assert Standing.of(trial) == standing
    assert Standing.of(create_trial(state=TrialState.RUNNING)) == Standing()


def test_gains_are_those_of_the_last_evaluation() -> None:
    trial = create_trial(
        state=TrialState.RUNNING, intermediate_values={10: 0.1, 20: 0.2},
        user_attrs={GAINS: {"10": [0.1, 0.3], "20": [0.2, 0.4]}}
    )  # fmt: skip
    assert gains_of(trial) == {10: (0.1, 0.3), 20: (0.2, 0.4)}
    assert last_gains(trial) == (0.2, 0.4)
    assert last_gains(create_trial(state=TrialState.RUNNING)) is None


def test_each_change_of_a_trial_in_a_journal_is_seen(tmp_path: Path) -> None:
    experiment = create(Settings(name="one", dir=str(tmp_path)))
    memory = StudyMemory.open(experiment)
    looked: list[int] = []

    def look(trial: FrozenTrial) -> tuple[str, int]:
        looked.append(trial.number)
        return trial.state.name, len(trial.intermediate_values)

    of = OfTrials(look)
    for _ in range(3):
        ask(experiment, memory)

    def now() -> list[tuple[str, int]]:
        return [of(trial) for trial in memory.trials()]

    assert now() == now() == [("RUNNING", 0)] * 3
    memory.report(1, 100, 0.5)
    assert now()[1] == ("RUNNING", 1)
    memory.freeze(1)
    assert now()[1] == ("WAITING", 1)
    memory.thaw(1)
    memory.complete(1, 0.6)
    assert now() == [("RUNNING", 0), ("COMPLETE", 1), ("RUNNING", 0)]
    # Only what changed was looked at again.
    assert (looked.count(0), looked.count(2)) == (1, 1)
    memory.reopen([1])
    assert now()[1] == ("RUNNING", 1)
