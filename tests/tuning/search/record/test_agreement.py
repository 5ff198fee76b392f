"""A study that lost trials, or is of another search, is refused beside the rows of its trials."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from results import ResultsError, load
from results.table_files import read_file, write_file
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.record.agreement import begun
from tuning.search.record.errors import DamagedStudyError
from tuning.search.record.recovery import settle
from tuning.search.record.study import StudyMemory, check_study
from tuning.trial.records import TrialRecords


def memory(experiment: Experiment) -> StudyMemory:
    return StudyMemory.open(experiment, algorithm("ppo").space, {}, {"steps": 1000.0})


def with_trials(folder: Path, name: str, seed: int = 0) -> Experiment:
    """An experiment with a complete trial and one that runs; without the seal, as an older version left it."""
    of = create(Settings(name=name, dir=str(folder), steps=1000, seed=seed))
    study, records = memory(of), TrialRecords(of)
    for _ in range(2):
        records.begin(study.ask())
    records.update(0, score=0.5)
    records.end(0, "complete")
    study.report(0, 250, 0.25)
    study.complete(0, 0.5)
    of.paths.study.with_suffix(".seal").unlink()
    return of


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return with_trials(tmp_path, "one")


def open_again(experiment: Experiment) -> None:
    """As a run does: it checks before it writes its settings and starts Ray, and settles then."""
    check_study(experiment)
    settle(memory(experiment), TrialRecords(experiment), experiment.paths, 4)


def entries(experiment: Experiment) -> list[bytes]:
    return experiment.paths.study.read_bytes().splitlines(keepends=True)


def test_what_agrees_goes_on(experiment: Experiment) -> None:
    assert begun(experiment.paths) == [0, 1]
    open_again(experiment)


@pytest.mark.parametrize("value", [0, 6])
def test_a_trial_with_a_hyperparameter_that_is_gone_goes_on_unless_it_did_something(experiment: Experiment, value: int) -> None:
    """As an older version wrote it."""
    before = experiment.paths.study.read_bytes()
    assert before.count(b'"plan":"none"') == 2
    experiment.paths.study.write_bytes(before.replace(b'"plan":"none"', b'"plan":"none","profile_hours":%d' % value))
    records = TrialRecords(experiment)
    known = {**records._hyperparameters, "profile_hours": int}
    for number in (0, 1):
        path = experiment.paths.part("trials", number)
        (row,) = read_file(path)
        write_file(path, [{**row, "hp_profile_hours": value, "used_profile_hours": value}], known)
    assert len(load(experiment.paths.folder).trials) == 2
    if value:
        with pytest.raises(DamagedStudyError, match="trial 0 in it has profile_hours=6, which this version does not have"):
            open_again(experiment)
        with pytest.raises(ResultsError, match="profile_hours=6, which this version does not have"):
            records.assignment(1)
    else:
        open_again(experiment)
        assert "profile_hours" not in records.assignment(1)
        records.update(1, score=0.25)
        assert load(experiment.paths.folder).trials["score"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("content", [None, b"", b"half a line"])
def test_without_a_journal_no_trial_runs_again(experiment: Experiment, content: bytes | None) -> None:
    experiment.paths.study.unlink()
    if content is not None:
        experiment.paths.study.write_bytes(content)
    with pytest.raises(DamagedStudyError, match="it is missing or empty, and 2 trials have results"):
        open_again(experiment)
    assert experiment.paths.study.exists() == (content is not None)


def test_half_a_journal_is_refused(experiment: Experiment) -> None:
    experiment.paths.study.write_bytes(b"".join(entries(experiment)[:2]))
    with pytest.raises(DamagedStudyError, match="it lacks trial 1 of the results"):
        open_again(experiment)


def test_a_journal_of_another_experiment_is_refused(experiment: Experiment, tmp_path: Path) -> None:
    other = with_trials(tmp_path, "two", seed=1)
    shutil.copyfile(other.paths.study, experiment.paths.study)
    with pytest.raises(DamagedStudyError, match="it is of the experiment two, not of one"):
        open_again(experiment)
    # Under the same name it has other trials.
    experiment.paths.study.write_bytes(experiment.paths.study.read_bytes().replace(b'"two"', b'"one"'))
    with pytest.raises(DamagedStudyError, match=r"trial 0 has learning_rate=.* in it, and .* in the results"):
        open_again(experiment)


def test_entries_without_their_study_are_refused(experiment: Experiment) -> None:
    experiment.paths.study.write_bytes(b"".join(entries(experiment)[1:]))
    with pytest.raises(DamagedStudyError, match="it holds no study"):
        open_again(experiment)


def test_trials_in_another_order_are_refused(experiment: Experiment) -> None:
    study, first, second, *rest = entries(experiment)
    experiment.paths.study.write_bytes(b"".join([study, second, first, *rest]))
    with pytest.raises(DamagedStudyError, match="trial 0 has"):
        open_again(experiment)


def test_another_score_is_refused(experiment: Experiment) -> None:
    experiment.paths.study.write_bytes(experiment.paths.study.read_bytes().replace(b'"values":[0.5]', b'"values":[0.7]'))
    with pytest.raises(DamagedStudyError, match=r"trial 0 has the score 0\.7 in it, and 0\.5 in the results"):
        open_again(experiment)


def test_a_trial_without_hyperparameters_is_refused(experiment: Experiment) -> None:
    experiment.paths.study.write_bytes(experiment.paths.study.read_bytes().replace(b'"hyperparameters"', b'"hyperparametres"'))
    with pytest.raises(DamagedStudyError, match="trial 0 in it has no hyperparameters"):
        open_again(experiment)


def test_a_study_from_before_a_hyperparameter_has_its_default(experiment: Experiment) -> None:
    content = experiment.paths.study.read_bytes()
    older = re.sub(rb',\s*"shared_policy":\s*false', b"", content)
    assert older != content
    experiment.paths.study.write_bytes(older)
    open_again(experiment)
    assert all(proposal.hyperparameters["shared_policy"] is False for proposal in memory(experiment).proposals())


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (rb'"hidden_sizes":"[^"]*"', b'"hidden_sizes":"8192,8192,8193"', "each from 1 to 8192"),
        (rb'"gamma":[^,]*,', b'"gamma":2.0,', r"gamma=2\.0: it lies between"),
        (rb'"gamma":[^,]*,', b'"gamma":[],', r"gamma=\[\]: it takes a number"),
        (rb'"gamma":', b'"gamme":', "no gamma"),
        (rb'"gamma":', b'"more":1,"gamma":', "no hyperparameter more"),
    ],
)
def test_hyperparameters_that_no_search_assigns_are_refused(
    experiment: Experiment, before: bytes, after: bytes, why: str
) -> None:
    content = experiment.paths.study.read_bytes()
    experiment.paths.study.write_bytes(re.sub(rb'("hyperparameters":\s*{[^}]*?)' + before, rb"\g<1>" + after, content))
    for number in range(2):  # no row stands against them
        experiment.paths.part("trials", number).unlink()
    with pytest.raises(DamagedStudyError, match=f"trial 0 in it has .*{why}") as refused:
        open_again(experiment)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (b'"directions":[2]', b'"directions":[2,2]', "does not maximize one score"),
        (b'"directions":[2]', b'"directions":[1]', "does not maximize one score"),
        (b'"values":[0.5]', b'"values":null', "values should be set for a complete trial"),
        (b'"values":[0.5]', b'"values":[0.5,0.5]', "trial 0 in it cannot be"),
        (b'"values":[0.5]', b'"values":["0.5"]', "trial 0 in it cannot be"),
        (b'"values":[0.5]', b'"values":[NaN]', "values should not contain NaN"),
        (b'"intermediate_value":0.25', b'"intermediate_value":"a"', "trial 0 in it has a score that is no number"),
    ],
)
def test_a_study_that_no_search_writes_is_refused(experiment: Experiment, before: bytes, after: bytes, why: str) -> None:
    content = experiment.paths.study.read_bytes()
    assert before in content
    experiment.paths.study.write_bytes(content.replace(before, after))
    with pytest.raises(DamagedStudyError, match=why) as refused:
        open_again(experiment)
    assert "\n" not in str(refused.value)


def test_an_ended_trial_without_its_row_is_named(experiment: Experiment) -> None:
    experiment.paths.part("trials", 1).unlink()  # it runs, and begins with a new row
    open_again(experiment)
    experiment.paths.part("trials", 0).unlink()
    with pytest.raises(ResultsError, match=r"00000\.parquet is missing, though the search has trial 0 as ended"):
        open_again(experiment)


def test_a_damaged_row_is_named(experiment: Experiment) -> None:
    experiment.paths.part("trials", 1).write_bytes(b"PAR1")
    with pytest.raises(ResultsError, match=r"00001\.parquet cannot be used"):
        open_again(experiment)


def test_settings_of_another_experiment_are_refused(experiment: Experiment) -> None:
    other = replace(experiment, settings=replace(experiment.settings, seed=1))
    with pytest.raises(ResultsError, match=r"are of different experiments: seed is .* in the first, .* by the second"):
        open_again(other)


def test_a_row_that_was_checked_is_read_again_only_where_it_changed(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    measured = TrialRecords.measured
    monkeypatch.setattr(TrialRecords, "measured", lambda own, number: (read.append(number), measured(own, number))[1])
    open_again(experiment)
    assert read == [0, 1], "once before Ray is started, and not before it writes"
    TrialRecords(experiment).update(1, updates=3)
    check_study(experiment)
    assert read == [0, 1, 1]
    TrialRecords(experiment).update(0, score=0.6)
    with pytest.raises(DamagedStudyError, match=r"trial 0 has the score 0\.5 in it, and 0\.6 in the results"):
        check_study(experiment)
    with pytest.raises(DamagedStudyError, match="trial 0 has the score"):
        check_study(experiment)
