"""The results follow from the study and from what trials tell; after a kill they are made to follow again."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState, create_trial

from envs.objective.aim import Outcome
from envs.objective.columns import CHANGED
from results import ResultsError, load
from tests.tuning.search.fakes import ask
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.record.journal import DamagedStudyError
from tuning.search.record.record import Record, check_study, take_memory_marker
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import Key, Standing
from tuning.trial.protocol import Evaluated, Proposal, Report
from tuning.trial.records import TrialRecords

REPORTS = 4


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path), steps=1000, evaluations=REPORTS))


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
    assert record.study.standing(0).checkpoint == 260
    # An update passes the point at which an evaluation is due; the study knows it by that point.
    assert record.study.trial(0).intermediate_values == {250: 0.1}
    found = load(experiment.paths.folder)
    assert found.reports["steps"].tolist() == [200, 260]
    assert found.trials[["steps", "score"]].to_numpy().tolist() == [[260, 0.1]]


def test_a_policy_that_only_follows_its_plan_is_noticed_until_it_does_something_else(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    row = {"trial": 0, "year": 0, "hours": 10, CHANGED: 9.0, "uncontrolled_import_kwh": 1.0, "uncontrolled_export_kwh": 1.0}
    for due, score, alone, kept in (
        (250, 0.1, None, None),
        (500, 0.2, 0.2, True),
        (750, 0.20004, 0.2, True),  # beyond the digits that are shown
        (1000, 0.3, 0.2, False),
    ):
        report = told(due, score)
        columns = {**report.columns, "plan_score": alone}
        record.take(0, replace(report, evaluations=[{**row, "steps": due, "score": score}], columns=columns))
        assert record.study.standing(0).keeps_plan is kept
        noticed = record.rows.row(0)["noticed"]
        assert (noticed is not None and noticed.startswith("policy only follows its plan")) is bool(kept)


def test_a_trial_that_begins_again_from_an_earlier_checkpoint_stands_there(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    for steps in (200, 400):
        record.take(0, told(steps))
    record.take(0, Report(200, restored=True))
    assert record.study.standing(0).checkpoint == 200


def test_an_end_that_only_the_study_has_is_written_into_the_row(experiment: Experiment) -> None:
    record = begun(experiment, 4)
    record.study.complete(0, 0.5)
    record.study.stop(1, TrialState.FAIL, "ValueError: bad luck")
    record.study.freeze(2)
    mended(experiment)
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["complete", "failed", "frozen", "running"]
    assert trials["finished"].notna().tolist() == [True, True, False, False]
    assert trials["error"][1] == "ValueError: bad luck"


def test_a_traceback_stays_in_the_row_of_a_trial_that_failed(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    record.count(0, "crashes", "Traceback\n  ...\nValueError: bad luck")
    record.study.stop(0, TrialState.FAIL, "ValueError: bad luck")
    mended(experiment)
    assert load(experiment.paths.folder).trials["error"][0].startswith("Traceback")


def test_a_row_that_is_missing_is_written_again(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    record.take(0, told(1000, 0.5))
    record.complete(0, Outcome(0.5))
    same, refused = (ask_attributes(record, **{name: value}) for name, value in ((Key.SAME_AS, 0), (Key.REFUSED, "too large")))
    ended = ask_attributes(record)
    mended(experiment)
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["complete", "complete", "oom", "complete"]
    # By its rating a checkpoint is kept.
    for file in experiment.paths.results.rglob("trials/*.parquet"):
        file.unlink()
    mended(experiment)
    trials = load(experiment.paths.folder).trials
    assert trials["score"][0] == 0.5
    assert trials["same_as"][same] == 0
    assert trials["error"][refused] == "too large"
    assert trials["finished"].notna()[ended]


def ask_attributes(record: Record, **attributes: Any) -> int:
    """An ended trial in the study alone, with the assignment of trial 0."""
    first = record.study.trial(0)
    kept = {Key.HYPERPARAMETERS: first.user_attrs[Key.HYPERPARAMETERS], **attributes}
    is_refused = Key.REFUSED in attributes
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
    has_checkpoint = {0, 2}.__contains__
    assert record.extend(has_checkpoint) == ([], [])
    larger = replace(experiment, settings=replace(experiment.settings, steps=2000))
    record = record_of(larger)
    assert record.extend(has_checkpoint) == ([0, 2], [1])
    assert [proposal.number for proposal in record.study.adopt_unfinished()] == [0, 2, 4]
    assert load(experiment.paths.folder).trials["state"].tolist() == ["running", "complete", "running", "pruned", "running"]
    # A run that was killed before it handed them out finds them again.
    assert [proposal.number for proposal in mended(larger).study.adopt_unfinished()] == [0, 2, 4]


def test_failed_trials_begin_anew_unless_their_assignment_was_trained_since(experiment: Experiment) -> None:
    record = begun(experiment, 4)
    for number in (0, 1, 2):
        record.take(number, told(260, 0.1, number))
        record.count(number, "crashes", "Traceback\nModuleNotFoundError: my_reward")
    for number in (0, 1):
        record.fail(number, "Traceback\nModuleNotFoundError: my_reward")
    complete(record, 2)
    ask_attributes(record)  # with the assignment of trial 0
    assert record.retry() == [1]
    # Also by a run that finds them so.
    for again in (record, mended(experiment)):
        assert [proposal.number for proposal in again.study.adopt_unfinished()] == [1, 3]
        assert again.study.standing(1) == Standing(budget=1000)
        assert again.study.trial(1).intermediate_values == {}
        row = again.rows.row(1)
        assert (row["state"], row["crashes"], row["steps"], row.get("score"), row.get("error")) == ("running", 0, 0, None, None)
    assert load(experiment.paths.folder).reports["trial"].tolist() == [0, 2, 2]
    assert record.take(1, told(260, 0.3, 1))
    assert mended(experiment).retry() == []


def confirming(experiment: Experiment, record: Record, steps: int) -> int:
    """A trial that confirms trial 0, and has so many steps."""
    again = record.study.trial(0)
    attributes = {Key.CONFIRMS: 0, Key.CONFIRM_RUN: 0, Key.CONFIRM_ROLE: "best", Key.CONFIRM_STEPS: steps}
    drawn = create_trial(
        state=TrialState.RUNNING, params=again.params, distributions=again.distributions,
        user_attrs={Key.HYPERPARAMETERS: again.user_attrs[Key.HYPERPARAMETERS], **attributes},
    )  # fmt: skip
    proposal = record.study.add(drawn)
    record.begin(proposal, {})
    return proposal.number


def test_what_confirms_another_trial_or_repeats_one_is_not_trained_further(experiment: Experiment) -> None:
    record = begun(experiment, 1)
    complete(record, 0)
    complete(record, confirming(experiment, record, 1000))
    ask_attributes(record, **{Key.SAME_AS: 0})
    larger = replace(experiment, settings=replace(experiment.settings, steps=2000))
    assert record_of(larger).extend(lambda number: True) == ([0], [])


def test_with_other_steps_what_confirms_is_set_aside(experiment: Experiment) -> None:
    record = begun(experiment, 2)
    number = confirming(experiment, record, 1000)
    record.set_aside()
    assert len(record.study.adopt_unfinished()) == 3
    larger = record_of(replace(experiment, settings=replace(experiment.settings, steps=2000)))
    larger.set_aside()
    assert [proposal.number for proposal in larger.study.adopt_unfinished()] == [0, 1]
    assert larger.rows.row(number)["state"] == "frozen"


def test_a_row_says_whether_its_trial_is_on_the_front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = create(Settings(name="one", dir=str(tmp_path), backend="batch", objective="co2_kg bill"))
    record, space = record_of(experiment), algorithm_of(experiment.settings).space
    for number, gains in enumerate([(0.1, 0.3), (0.3, 0.1), (0.0, 0.0)]):
        record.rows.begin(Proposal(number, space.complete({"gamma": 0.9 + number / 100})))
        record.rows.update(number, score=0.1, gain=gains[0], gain_2=gains[1], rating=sum(gains) / 2)
        record.rows.end(number, "complete")
    folder = experiment.paths.folder
    record.mark_front(load(folder))
    assert load(folder).trials["on_front"].tolist() == [True, True, False]
    record.rows.update(2, gain=0.4, gain_2=0.2)
    written: list[int] = []
    update = record.rows.update
    monkeypatch.setattr(record.rows, "update", lambda number, **columns: (written.append(number), update(number, **columns)))
    record.mark_front(load(folder))
    assert load(folder).trials["on_front"].tolist() == [True, False, True]
    assert written == [1, 2]


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


def with_trials(folder: Path, name: str, seed: int = 0, **settings: object) -> Experiment:
    """An experiment with a complete trial and one that runs."""
    of = create(Settings(name=name, dir=str(folder), steps=1000, seed=seed, evaluations=4, **settings))  # type: ignore[arg-type]
    record = Record(StudyMemory.open(of), TrialRecords(of), 1000, 4)
    for _ in range(2):
        record.begin(ask(of, record.study, 1000), {})
    record.take(0, Report(250, saved=True, evaluated=Evaluated(1, 250, Outcome(0.25)), columns={"score": 0.25}))
    record.complete(0, Outcome(0.25))
    return of


@pytest.fixture
def written(tmp_path: Path) -> Experiment:
    return with_trials(tmp_path, "one")


def entries(written: Experiment) -> list[bytes]:
    return written.paths.study.read_bytes().splitlines(keepends=True)


def replaced(written: Experiment, before: bytes, after: bytes) -> None:
    content = written.paths.study.read_bytes()
    assert before in content
    written.paths.study.write_bytes(content.replace(before, after))


def test_damaged_rows_of_a_trial_that_runs_are_named_before_anything_is_written(experiment: Experiment) -> None:
    begun(experiment, 1).take(0, told(200))
    (experiment.paths.results / "reports" / "00000.parquet").write_bytes(b"damaged")
    before = experiment.paths.study.read_bytes()
    with pytest.raises(ResultsError, match=r"reports.00000\.parquet"):
        check_study(experiment)
    assert experiment.paths.study.read_bytes() == before


@pytest.mark.parametrize(("kept", "lacks"), [(b"half a line", "0, 1"), (0, "0, 1"), (2, "1")])
def test_without_its_journal_no_trial_runs_again(written: Experiment, kept: bytes | int, lacks: str) -> None:
    written.paths.study.write_bytes(kept if isinstance(kept, bytes) else b"".join(entries(written)[:kept]))
    with pytest.raises(DamagedStudyError, match=f"it lacks trial {lacks} of the results"):
        check_study(written)


def test_another_value_at_the_end_is_refused(written: Experiment) -> None:
    record = record_of(written)
    ended = next(trial for trial in record.study.trials() if trial.state is TrialState.COMPLETE)
    record.rows.update(ended.number, score=ended.value + 0.25)
    with pytest.raises(DamagedStudyError, match=rf"trial {ended.number} ended with .* in it, and with .* in the results"):
        check_study(written)


def test_a_journal_of_another_experiment_is_refused(written: Experiment, tmp_path: Path) -> None:
    other = with_trials(tmp_path, "two", seed=1)
    shutil.copyfile(other.paths.study, written.paths.study)
    with pytest.raises(DamagedStudyError, match="it is of the experiment two, not of one"):
        check_study(written)
    # Under the same name it has other trials.
    replaced(written, b'"two"', b'"one"')
    with pytest.raises(DamagedStudyError, match=r"trial [01] has \w+=.* in it, and .* in the results"):
        check_study(written)


def test_entries_without_their_study_are_refused(written: Experiment) -> None:
    written.paths.study.write_bytes(b"".join(entries(written)[1:]))
    with pytest.raises(DamagedStudyError, match=r"it holds no study|where it is read"):
        check_study(written)


def test_a_study_from_before_a_hyperparameter_has_its_default(written: Experiment) -> None:
    content = written.paths.study.read_bytes()
    older = re.sub(rb',\s*"shared_policy":\s*false', b"", content)
    assert older != content
    written.paths.study.write_bytes(older)
    check_study(written)
    assert written.paths.study.read_bytes() == older, "a check writes nothing"
    assert StudyMemory.open(written).proposal(0).hyperparameters["shared_policy"] is False


ASSIGNED = rb'("hyperparameters":\s*{[^}]*?)'


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (ASSIGNED + rb'"gamma":[^,]*,', rb'\g<1>"gamma":2.0,', r"trial 0 in it has .*gamma=2\.0: it lies between"),
        (ASSIGNED + rb'"gamma":', rb'\g<1>"gamme":', "trial 0 in it has .*no gamma"),
        (ASSIGNED + rb'"gamma":', rb'\g<1>"more":1,"gamma":', "trial 0 in it has .*no hyperparameter more"),
        (b'"hyperparameters"', b'"hyperparametres"', "trial 0 in it has no hyperparameters"),
        (b'"checkpoint":250', b'"checkpint":250', "trial 0 in it does not say how far it is"),
        (rb'"directions":\[2\]', b'"directions":[2,2]', "does not maximize one score"),
        (rb'"values":\[0.25\]', b'"values":null', "values should be set for a complete trial"),
        (rb'"values":\[0.25\]', b'"values":["0.25"]', "trial 0 in it cannot be"),
        (b'"intermediate_value":0.25', b'"intermediate_value":"a"', "trial 0 in it has a score that is no number"),
    ],
)
def test_a_study_that_no_search_writes_is_refused(written: Experiment, before: bytes, after: bytes, why: str) -> None:
    content, count = re.subn(before, after, written.paths.study.read_bytes())
    assert count
    written.paths.study.write_bytes(content)
    with pytest.raises(DamagedStudyError, match=why) as refused:
        check_study(written)
    assert "\n" not in str(refused.value)


def test_a_study_of_two_objectives_without_the_gains_of_an_evaluation_is_refused(tmp_path: Path) -> None:
    written = with_trials(tmp_path, "two", objective="co2 bill")
    memory = StudyMemory.open(written)
    memory.adopt_unfinished()
    memory.report(1, 500, 0.2)
    with pytest.raises(DamagedStudyError, match="trial 1 in it lacks the gains of an evaluation"):
        check_study(written)
