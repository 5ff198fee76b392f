"""The results follow from the study and from what trials tell; after a kill they are made to follow again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState, create_trial

from envs.objective.aim import Outcome
from results import load
from tests.tuning.search.fakes import ask
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.record.record import Record, take_memory_marker
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import CONFIRM_ROLE, CONFIRM_RUN, CONFIRM_STEPS, CONFIRMS, HYPERPARAMETERS, REFUSED, SAME_AS
from tuning.trial.proposal import Proposal
from tuning.trial.protocol import Evaluated, Report
from tuning.trial.records import TrialRecords

REPORTS = 4


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path), steps=1000, reports=REPORTS))


def record_of(experiment: Experiment) -> Record:
    return Record(StudyMemory.open(experiment), TrialRecords(experiment), experiment.settings.steps, REPORTS)


def begun(experiment: Experiment, count: int) -> Record:
    record = record_of(experiment)
    for _ in range(count):
        record.begin(ask(experiment, record.study, 1000), {})
    return record


def told(steps: int, score: float | None = None, number: int = 0) -> Report:
    """What a trial tells with a checkpoint; with a score after an evaluation."""
    row = {"trial": number, "update": steps // 10, "steps": steps, "score": score}
    outcome = None if score is None else Evaluated(steps * REPORTS // 1000, steps, Outcome(score))
    return Report(steps, saved=True, evaluated=outcome, reports=[row], columns={"steps": steps, "score": score})


def mended(experiment: Experiment) -> Record:
    record = record_of(experiment)
    trials = load(experiment.paths.folder).trials
    record.mend(experiment.paths, dict(zip(trials["trial"].tolist(), trials["state"].tolist(), strict=True)))
    return record


def test_what_a_trial_tells_is_in_the_results_the_study_and_its_row(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    assert not record.take(0, told(200))
    assert record.take(0, told(260, 0.1))
    assert not record.take(0, replace(told(260, 0.1), reports=[]))  # as it goes on
    assert record.standing(0).checkpoint == 260
    # An update passes the point at which an evaluation is due; the study knows it by that point.
    assert record.study.trial(0).intermediate_values == {250: 0.1}
    found = load(experiment.paths.folder)
    assert found.reports["steps"].tolist() == [200, 260]
    assert found.trials[["steps", "score"]].to_numpy().tolist() == [[260, 0.1]]


def test_what_a_trial_told_beyond_its_checkpoint_is_dropped_where_it_begins_again(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    for steps in (200, 400):
        record.take(0, told(steps))
    record.take(0, Report(200, restored=True))
    assert load(experiment.paths.folder).reports["steps"].tolist() == [200]
    assert record.standing(0).checkpoint == 200


def test_rows_that_the_study_does_not_know_are_dropped(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    record.take(0, told(200))
    record.rows.add(0, told(400))  # then a kill
    mended(experiment)
    assert load(experiment.paths.folder).reports["steps"].tolist() == [200]


def test_an_evaluation_that_stands_beside_its_checkpoint_is_told(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = begun(experiment, 1)
    with monkeypatch.context() as killed:
        killed.setattr(StudyMemory, "report", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            record.take(0, told(260, 0.1))
    assert mended(experiment).study.trial(0).intermediate_values == {250: 0.1}


def test_an_end_that_only_the_study_has_is_written_into_the_row(experiment: Experiment) -> None:
    record = begun(experiment, 4)
    record.study.complete(0, 0.5)
    record.study.fail(1, "ValueError: bad luck")
    record.study.freeze(2)
    mended(experiment)
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["complete", "failed", "frozen", "running"]
    assert trials["finished"].notna().tolist() == [True, True, False, False]
    assert trials["error"][1] == "ValueError: bad luck"


def test_a_row_that_is_missing_is_written_again(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    record.take(0, told(1000, 0.5))
    record.complete(0, Outcome(0.5))
    same, refused = (ask_attributes(record, **{name: value}) for name, value in ((SAME_AS, 0), (REFUSED, "too large")))
    ended = ask_attributes(record)
    mended(experiment)
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["complete", "complete", "oom", "complete"]
    assert trials["same_as"][same] == 0
    assert trials["error"][refused] == "too large"
    assert trials["finished"].notna()[ended]


def ask_attributes(record: Record, **attributes: Any) -> int:
    """An ended trial in the study alone, with the assignment of trial 0."""
    first = record.study.trial(0)
    kept = {HYPERPARAMETERS: first.user_attrs[HYPERPARAMETERS], **attributes}
    is_refused = REFUSED in attributes
    trial = create_trial(
        state=TrialState.PRUNED if is_refused else TrialState.COMPLETE, values=None if is_refused else [0.5],
        params=first.params, distributions=first.distributions, user_attrs=kept,
        system_attrs={"constraints:predicted memory": 1.0} if is_refused else None,
    )  # fmt: skip
    return record.study.add(trial).number


def test_half_written_files_are_removed(experiment: Experiment) -> None:
    begun(experiment, 1)
    left = experiment.paths.results / "reports" / "00000.new"
    left.parent.mkdir()
    left.write_bytes(b"half")
    mended(experiment)
    assert not left.exists()


def complete(record: Record, number: int) -> None:
    record.take(number, told(1000, 0.1, number))
    record.complete(number, Outcome(0.1))


def test_complete_trials_with_a_checkpoint_go_on_to_a_larger_budget(experiment: Experiment) -> None:
    record = begun(experiment, 5)
    for number in range(3):
        complete(record, number)
    record.prune(3, Outcome(0.1))
    with_checkpoint = {0: 1000, 2: 1000}
    assert record.extend(with_checkpoint) == ([], [])
    larger = replace(experiment, settings=replace(experiment.settings, steps=2000))
    record = record_of(larger)
    assert record.extend(with_checkpoint) == ([0, 2], [1])
    assert [proposal.number for proposal in record.study.adopt_unfinished()] == [0, 2, 4]
    assert load(experiment.paths.folder).trials["state"].tolist() == ["running", "complete", "running", "pruned", "running"]
    # A run that was killed before it handed them out finds them again.
    assert [proposal.number for proposal in mended(larger).study.adopt_unfinished()] == [0, 2, 4]


def confirming(experiment: Experiment, record: Record, steps: int) -> int:
    """A trial that confirms trial 0, and has so many steps."""
    again = record.study.trial(0)
    attributes = {CONFIRMS: 0, CONFIRM_RUN: 0, CONFIRM_ROLE: "best", CONFIRM_STEPS: steps}
    drawn = create_trial(
        state=TrialState.RUNNING, params=again.params, distributions=again.distributions,
        user_attrs={HYPERPARAMETERS: again.user_attrs[HYPERPARAMETERS], **attributes},
    )  # fmt: skip
    proposal = record.study.add(drawn)
    record.begin(proposal, {})
    return proposal.number


def test_what_confirms_another_trial_or_repeats_one_is_not_trained_further(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    complete(record, 0)
    complete(record, confirming(experiment, record, 1000))
    ask_attributes(record, **{SAME_AS: 0})
    larger = replace(experiment, settings=replace(experiment.settings, steps=2000))
    assert record_of(larger).extend(dict.fromkeys(range(3), 1000)) == ([0], [])


def test_with_other_steps_what_confirms_is_set_aside(experiment: Experiment) -> None:
    record = begun(experiment, 2)
    number = confirming(experiment, record, 1000)
    record.set_aside()
    assert len(record.study.adopt_unfinished()) == 3
    larger = record_of(replace(experiment, settings=replace(experiment.settings, steps=2000)))
    larger.set_aside()
    assert [proposal.number for proposal in larger.study.adopt_unfinished()] == [0, 1]
    assert larger.rows.measured(number)["state"] == "frozen"


def test_a_row_says_whether_its_trial_is_on_the_front(tmp_path: Path) -> None:
    experiment = create(Settings(name="one", dir=str(tmp_path), backend="batch", objective="co2_kg bill"))
    record, space = record_of(experiment), algorithm_of(experiment.settings).space
    for number, gains in enumerate([(0.1, 0.3), (0.3, 0.1), (0.0, 0.0)]):
        record.rows.begin(Proposal(number, space.complete({"gamma": 0.9 + number / 100})))
        record.rows.update(number, score=0.1, gain=gains[0], gain_2=gains[1], rating=sum(gains) / 2)
        record.rows.end(number, "complete")
    folder = experiment.paths.folder
    record.mark_front(load(folder))
    assert load(folder).trials["on_front"].tolist() == [True, True, False]
    before = experiment.paths.part("trials", 0).stat().st_mtime_ns
    record.rows.update(2, gain=0.4, gain_2=0.2)
    record.mark_front(load(folder))
    assert load(folder).trials["on_front"].tolist() == [True, False, True]
    assert experiment.paths.part("trials", 0).stat().st_mtime_ns == before


@pytest.mark.parametrize(("text", "found"), [("3221225472", 3 * 2**30), ("none", None), ("9" * 400, None)])
def test_a_marker_says_how_much_memory_a_process_had(
    experiment: Experiment, capsys: pytest.CaptureFixture[str], text: str, found: int | None
) -> None:
    marker = experiment.paths.memory_marker(0)
    assert take_memory_marker(experiment.paths, 0) is None
    marker.parent.mkdir(exist_ok=True)
    marker.write_text(text, encoding="utf-8")
    assert take_memory_marker(experiment.paths, 0) == found
    assert not marker.exists()
    assert ("holds no number of bytes" in capsys.readouterr().err) is (found is None)
