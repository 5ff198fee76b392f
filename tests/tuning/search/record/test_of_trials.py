"""What follows from a trial is computed again where the trial has changed, and only there."""

from pathlib import Path

from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.search.record.of_trials import OfTrials
from tuning.search.record.study import StudyMemory

SPACE = algorithm("ppo").space


def test_each_change_of_a_trial_in_a_journal_is_seen(tmp_path: Path) -> None:
    memory = StudyMemory.open(create(Settings(name="one", dir=str(tmp_path))), SPACE, {}, {"steps": 1000.0})
    looked: list[int] = []

    def look(trial) -> tuple[str, int]:  # type: ignore[no-untyped-def]
        looked.append(trial.number)
        return trial.state.name, len(trial.intermediate_values)

    of = OfTrials(look)
    for _ in range(3):
        memory.ask()

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
