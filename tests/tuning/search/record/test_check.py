"""A study that lost trials, or is of another search, is refused beside the rows of its trials."""

import re
import shutil
from pathlib import Path

import pytest

from envs.objective.aim import Outcome
from results import ResultsError
from tests.tuning.search.fakes import ask
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.record.check import check_study
from tuning.search.record.errors import DamagedStudyError
from tuning.search.record.record import Record
from tuning.search.record.study import StudyMemory
from tuning.trial.protocol import Evaluated, Report
from tuning.trial.records import TrialRecords


def with_trials(folder: Path, name: str, seed: int = 0, **settings: object) -> Experiment:
    """An experiment with a complete trial and one that runs."""
    of = create(Settings(name=name, dir=str(folder), steps=1000, seed=seed, reports=4, **settings))  # type: ignore[arg-type]
    record = Record(StudyMemory.open(of), TrialRecords(of), 1000, 4)
    for _ in range(2):
        record.begin(ask(of, record.study, 1000), {})
    record.take(0, Report(250, saved=True, evaluated=Evaluated(1, 250, Outcome(0.25)), columns={"score": 0.25}))
    record.complete(0, Outcome(0.5))
    return of


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return with_trials(tmp_path, "one")


def entries(experiment: Experiment) -> list[bytes]:
    return experiment.paths.study.read_bytes().splitlines(keepends=True)


def replaced(experiment: Experiment, before: bytes, after: bytes) -> None:
    content = experiment.paths.study.read_bytes()
    assert before in content
    experiment.paths.study.write_bytes(content.replace(before, after))


def test_what_agrees_goes_on(experiment: Experiment) -> None:
    before = experiment.paths.study.read_bytes()
    check_study(experiment)
    assert experiment.paths.study.read_bytes() == before


@pytest.mark.parametrize("content", [None, b"", b"half a line"])
def test_without_a_journal_no_trial_runs_again(experiment: Experiment, content: bytes | None) -> None:
    experiment.paths.study.unlink()
    if content is not None:
        experiment.paths.study.write_bytes(content)
    with pytest.raises(DamagedStudyError, match="it lacks trial 0, 1 of the results"):
        check_study(experiment)


def test_half_a_journal_is_refused(experiment: Experiment) -> None:
    experiment.paths.study.write_bytes(b"".join(entries(experiment)[:2]))
    with pytest.raises(DamagedStudyError, match="it lacks trial 1 of the results"):
        check_study(experiment)


def test_a_journal_of_another_experiment_is_refused(experiment: Experiment, tmp_path: Path) -> None:
    other = with_trials(tmp_path, "two", seed=1)
    shutil.copyfile(other.paths.study, experiment.paths.study)
    with pytest.raises(DamagedStudyError, match="it is of the experiment two, not of one"):
        check_study(experiment)
    # Under the same name it has other trials.
    replaced(experiment, b'"two"', b'"one"')
    with pytest.raises(DamagedStudyError, match=r"trial [01] has \w+=.* in it, and .* in the results"):
        check_study(experiment)


def test_entries_without_their_study_are_refused(experiment: Experiment) -> None:
    experiment.paths.study.write_bytes(b"".join(entries(experiment)[1:]))
    with pytest.raises(DamagedStudyError, match=r"it holds no study|where it is read"):
        check_study(experiment)


def test_a_study_from_before_a_hyperparameter_has_its_default(experiment: Experiment) -> None:
    content = experiment.paths.study.read_bytes()
    older = re.sub(rb',\s*"shared_policy":\s*false', b"", content)
    assert older != content
    experiment.paths.study.write_bytes(older)
    check_study(experiment)
    assert StudyMemory.open(experiment).proposal(0).hyperparameters["shared_policy"] is False


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
    with pytest.raises(DamagedStudyError, match=f"trial 0 in it has .*{why}") as refused:
        check_study(experiment)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (b'"hyperparameters"', b'"hyperparametres"', "trial 0 in it has no hyperparameters"),
        (b'"checkpoint":250', b'"checkpint":250', "trial 0 in it does not say how far it is"),
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
    replaced(experiment, before, after)
    with pytest.raises(DamagedStudyError, match=why) as refused:
        check_study(experiment)
    assert "\n" not in str(refused.value)


def test_a_study_of_two_objectives_without_the_gains_of_an_evaluation_is_refused(tmp_path: Path) -> None:
    experiment = with_trials(tmp_path, "two", objective="co2 bill")
    memory = StudyMemory.open(experiment)
    memory.adopt_unfinished()
    memory.report(1, 500, 0.2)
    with pytest.raises(DamagedStudyError, match="trial 1 in it lacks the gains of an evaluation"):
        check_study(experiment)


def test_a_damaged_row_is_named(experiment: Experiment) -> None:
    experiment.paths.part("trials", 1).write_bytes(b"PAR1")
    with pytest.raises(ResultsError, match=r"00001\.parquet cannot be used"):
        check_study(experiment)
