"""Study and rows agree again after a kill between two writes, and complete trials continue to a larger budget."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState, create_trial

from results import load
from results.table_files import add_rows, write_rows
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.proposals.two_aims import gains_of
from tuning.search.record.attributes import CONFIRM_ROLE, CONFIRM_RUN, CONFIRM_STEPS, CONFIRMS, REQUIRED, SAME_AS
from tuning.search.record.errors import DamagedStudyError
from tuning.search.record.recovery import extend, set_aside, settle
from tuning.search.record.study import StudyMemory
from tuning.trial.records import TrialRecords

REPORTS = 4


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path), steps=1000, reports=REPORTS))


def memory(experiment: Experiment) -> StudyMemory:
    return StudyMemory.open(experiment, algorithm_of(experiment.settings).space, {}, {"steps": 1000.0})


def begun(experiment: Experiment, count: int) -> tuple[StudyMemory, TrialRecords]:
    study, records = memory(experiment), TrialRecords(experiment)
    for _ in range(count):
        records.begin(study.ask())
    return study, records


def reported(experiment: Experiment, number: int, scores: dict[int, float]) -> None:
    """Write reports of a trial; every other one has a score."""
    rows: list[dict[str, Any]] = []
    for steps, score in scores.items():
        rows += [{"trial": number, "steps": steps - 10}, {"trial": number, "steps": steps, "score": score}]
    for update, row in enumerate(rows):
        row["update"] = update
    write_rows(experiment.paths.folder, "reports", number, rows)


def test_ends_that_only_rows_have_are_told_to_the_study_with_their_evaluations(experiment: Experiment) -> None:
    _, records = begun(experiment, 5)
    # An update passes the point at which an evaluation is due; the study knows it by that point.
    reported(experiment, 0, {256: 0.1, 512: 0.2, 768: 0.3, 1024: 0.4})
    records.update(0, score=0.4)
    records.end(0, "complete")
    reported(experiment, 1, {256: -0.1, 512: -0.2})
    records.update(1, score=-0.2)
    records.end(1, "pruned")
    records.update(2, error="Traceback\nOutOfMemoryError: too big")
    records.end(2, "oom")
    records.update(3, error="Traceback\nValueError: bad luck")
    records.end(3, "failed")
    for _ in range(2):  # to settle twice changes nothing
        study = memory(experiment)
        settle(study, records, experiment.paths, REPORTS)
    assert [proposal.number for proposal in study.unfinished()] == [4]
    told = study._study.get_trials()
    assert [trial.state for trial in told[:4]] == [
        TrialState.COMPLETE, TrialState.PRUNED, TrialState.PRUNED, TrialState.FAIL
    ]  # fmt: skip
    assert told[0].intermediate_values == {250: 0.1, 500: 0.2, 750: 0.3, 1000: 0.4}
    assert told[1].intermediate_values == {250: -0.1, 500: -0.2}
    assert [trial.value for trial in told[:2]] == [0.4, -0.2]
    assert told[2].constraints
    assert told[3].user_attrs["reason"] == "ValueError: bad luck"


def test_evaluations_that_a_study_lost_before_the_last_are_told_again(experiment: Experiment) -> None:
    study, records = begun(experiment, 2)
    for number, last in ((0, 768), (1, 512)):
        reported(experiment, number, {256: 0.1, 512: 0.2, 768: 0.3})
        (experiment.paths.checkpoints(number) / f"{last:012d}").mkdir(parents=True)
    study.report(1, 250, 0.1)
    for _ in range(2):  # to settle twice changes nothing
        study = memory(experiment)
        settle(study, records, experiment.paths, REPORTS)
    # The last one before a checkpoint the trial tells itself, and then it is decided whether it goes on.
    assert [trial.intermediate_values for trial in study.trials()] == [{250: 0.1, 500: 0.2}, {250: 0.1}]
    assert [proposal.number for proposal in study.unfinished()] == [0, 1]


def test_an_end_that_only_the_study_has_is_written_into_the_row(experiment: Experiment) -> None:
    study, records = begun(experiment, 2)
    study.complete(0, 0.5)
    settle(study, records, experiment.paths, REPORTS)
    assert load(experiment.paths.folder).trials["state"].tolist() == ["complete", "running"]


def test_a_trial_that_repeats_another_gets_its_missing_row(experiment: Experiment) -> None:
    study, records = begun(experiment, 1)
    records.update(0, score=0.5)
    records.end(0, "complete")
    study.complete(0, 0.5)
    first = study._study.get_trials()[0]
    first.user_attrs["same_as"] = 0
    study._study.add_trial(first)
    settle(study, records, experiment.paths, REPORTS)
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["complete", "complete"]
    assert trials["same_as"][1] == 0


def test_an_end_that_is_told_late_has_its_objective_and_what_it_misses(experiment: Experiment) -> None:
    aimed = replace(experiment, settings=replace(experiment.settings, objective="peak_kw", require=("ev_served>=0.9",)))
    _, records = begun(aimed, 2)
    rows = [{"trial": 0, "update": 1, "steps": 1000, "score": 0.4, "objective": 50.0, "shortfall": 0.2, "rating": -1.2e15}]
    add_rows(aimed.paths.folder, "reports", 0, rows)
    records.update(0, score=0.4, objective=50.0, shortfall=0.2, rating=-1.2e15)
    records.end(0, "complete")
    study = memory(aimed)
    settle(study, records, aimed.paths, REPORTS)
    told = study.trials()[0]
    assert (told.value, told.constraints[REQUIRED]) == (-50.0, 0.2)
    assert list(told.intermediate_values.values()) == [-1.2e15]


def test_a_failure_that_is_told_late_was_rated_by_nothing(experiment: Experiment) -> None:
    aimed = replace(experiment, settings=replace(experiment.settings, objective="self_consumption"))
    _, records = begun(aimed, 1)
    rated = {"score": 0.4, "objective": math.nan, "rating": -math.inf}
    add_rows(aimed.paths.folder, "reports", 0, [{"trial": 0, "update": 1, "steps": 1000, **rated}])
    records.update(0, **rated)
    records.end(0, "failed")
    study = memory(aimed)
    settle(study, records, aimed.paths, REPORTS)
    (told,) = study.trials()
    assert (told.state, told.intermediate_values) == (TrialState.FAIL, {})


def test_half_written_files_are_removed(experiment: Experiment) -> None:
    study, records = begun(experiment, 1)
    left = experiment.paths.part("reports", 0).with_suffix(".new")
    left.parent.mkdir()
    left.write_bytes(b"half")
    settle(study, records, experiment.paths, REPORTS)
    assert not left.exists()
    assert records.state(0) == "running"


def complete(study: StudyMemory, records: TrialRecords, experiment: Experiment, number: int, checkpoint: bool = True) -> None:
    records.update(number, score=0.1, steps=1000)
    records.end(number, "complete")
    study.complete(number, 0.1)
    if checkpoint:
        (experiment.paths.checkpoints(number) / "000000001000").mkdir(parents=True)


def test_complete_trials_with_a_checkpoint_go_on_to_a_larger_budget(experiment: Experiment) -> None:
    study, records = begun(experiment, 5)
    for number, checkpoint in ((0, True), (1, False), (2, True)):
        complete(study, records, experiment, number, checkpoint)
    records.update(3, score=0.1, steps=500)
    records.end(3, "pruned")
    study.prune(3)
    assert extend(study, records, 1000) == ([], [])
    larger = replace(experiment, settings=replace(experiment.settings, steps=2000))
    study = memory(larger)
    assert extend(study, TrialRecords(larger), 2000) == ([0, 2], [1])
    assert [proposal.number for proposal in study.unfinished()] == [0, 2, 4]
    assert load(experiment.paths.folder).trials["state"].tolist() == ["running", "complete", "running", "pruned", "running"]
    # A run that was killed before it handed them out finds them again.
    again = memory(larger)
    settle(again, records, experiment.paths, REPORTS)
    assert [proposal.number for proposal in again.unfinished()] == [0, 2, 4]


def test_what_confirms_another_trial_or_repeats_one_is_not_trained_further(experiment: Experiment) -> None:
    study, records = begun(experiment, 1)
    complete(study, records, experiment, 0)
    again = study.draw()
    for name, value in {CONFIRMS: 0, CONFIRM_RUN: 0, CONFIRM_ROLE: "best"}.items():
        again.set_user_attr(name, value)
    records.begin(study.add(again))
    complete(study, records, experiment, 1)
    same = study.trials()[0]
    study._study.add_trial(create_trial(value=0.1, user_attrs={**same.user_attrs, SAME_AS: 0}))
    settle(study, records, experiment.paths, REPORTS)  # it gets its row
    (experiment.paths.checkpoints(2) / "000000001000").mkdir(parents=True)
    larger = replace(experiment, settings=replace(experiment.settings, steps=2000))
    assert extend(memory(larger), TrialRecords(larger), 2000) == ([0], [])


def test_a_freeze_that_only_the_row_has_is_told_and_one_that_only_the_study_has_is_written(experiment: Experiment) -> None:
    study, records = begun(experiment, 2)
    reported(experiment, 0, {256: 0.1})
    records.update(0, score=0.1, state="frozen")
    study.freeze(1)
    study = memory(experiment)
    settle(study, records, experiment.paths, REPORTS)
    assert [trial.state for trial in study.trials()] == [TrialState.WAITING] * 2
    assert study.trials()[0].intermediate_values == {250: 0.1}
    assert [records.state(number) for number in range(2)] == ["frozen", "frozen"]


def test_a_kill_between_rows_and_study_undoes_an_extension(experiment: Experiment) -> None:
    study, records = begun(experiment, 1)
    complete(study, records, experiment, 0)
    records.update(0, state="running", finished=None)
    again = memory(experiment)
    settle(again, records, experiment.paths, REPORTS)
    assert again.unfinished() == []
    assert extend(again, records, 2000) == ([0], [])


def test_after_a_kill_before_the_study_had_them_both_gains_come_from_the_rows(tmp_path: Path) -> None:
    experiment = create(Settings(name="two", dir=str(tmp_path), steps=1000, reports=REPORTS, objective="co2 bill"))
    _, records = begun(experiment, 1)
    pair = {"objective": 1.0, "objective_2": 2.0, "gain": 0.1, "gain_2": 0.3, "rating": 0.2}
    rows = [{"trial": 0, "update": 1, "steps": 260, "score": 0.5, **pair}]
    add_rows(experiment.paths.folder, "reports", 0, rows)
    records.update(0, score=0.5, steps=260, **pair)
    records.update(0, state="frozen")
    again = memory(experiment)
    settle(again, records, experiment.paths, REPORTS)
    (trial,) = again.trials()
    assert trial.state is TrialState.WAITING
    assert gains_of(trial) == {250: (0.1, 0.3)}
    assert trial.intermediate_values == {250: 0.2}
    assert again.front() == [0]


def test_a_study_of_two_objectives_without_the_gains_of_an_evaluation_is_refused(tmp_path: Path) -> None:
    experiment = create(Settings(name="two", dir=str(tmp_path), steps=1000, reports=REPORTS, objective="co2 bill"))
    study, records = begun(experiment, 1)
    study.report(0, 250, 0.2)
    with pytest.raises(DamagedStudyError, match="trial 0 in it lacks the gains of an evaluation"):
        settle(memory(experiment), records, experiment.paths, REPORTS)


def confirming(study: StudyMemory, **attributes: Any) -> int:
    """A trial that confirms trial 0, in the study alone."""
    again = study.trials()[0]
    drawn = create_trial(
        state=TrialState.RUNNING, params=again.params, distributions=again.distributions,
        user_attrs={**again.user_attrs, CONFIRMS: 0, CONFIRM_RUN: 0, CONFIRM_ROLE: "best", **attributes},
    )  # fmt: skip
    return study.add(drawn).number


def test_with_other_steps_what_confirms_is_set_aside(experiment: Experiment) -> None:
    study, records = begun(experiment, 2)
    number = confirming(study)  # of a version that did not note its steps
    records.begin(study.proposals()[number])
    set_aside(study, records, 1000)
    assert [proposal.number for proposal in study.unfinished()] == [0, 1, number]
    set_aside(study, records, 2000)
    assert [proposal.number for proposal in study.unfinished()] == [0, 1]
    assert records.state(number) == "frozen"
    assert study.state(number) is TrialState.WAITING
    # It is not taken up as one of the new length.
    assert study.trials()[number].user_attrs[CONFIRM_STEPS] == 1000


def test_a_trial_that_confirms_and_has_no_row_yet_takes_the_steps_of_now(experiment: Experiment) -> None:
    """A kill came between study and row."""
    study, records = begun(experiment, 1)
    number = confirming(study, **{CONFIRM_STEPS: 1000})
    for steps in (1000, 2000):
        set_aside(study, records, steps)
        assert [proposal.number for proposal in study.unfinished()] == [0, number]
        assert study.trials()[number].user_attrs[CONFIRM_STEPS] == steps
