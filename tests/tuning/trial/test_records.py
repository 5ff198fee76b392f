"""The row of a trial follows it from its beginning to its end."""

from pathlib import Path
from typing import Any

import pytest

from results import ResultsError, load
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import ExperimentPaths, create
from tuning.experiment.settings import Settings
from tuning.runtime.processes import DIED
from tuning.trial.protocol import Proposal, Report
from tuning.trial.records import TrialRecords, trial_seed


@pytest.fixture
def records(tmp_path: Path) -> TrialRecords:
    return TrialRecords(create(Settings(backend="batch", name="e", dir=str(tmp_path), steps=100)))


def proposal(number: int, **others: Any) -> Proposal:
    return Proposal(number, algorithm("ppo").space.complete({}), **others)


def test_a_trial_that_is_handed_out_again_keeps_its_measurements_and_loses_its_error(records: TrialRecords) -> None:
    assert not records.has(0)
    records.begin(proposal(0), gpu_share=0.5)
    assert records.has(0)
    records.update(0, steps=50, score=0.5, error="Traceback\nValueError: once")
    records.begin(proposal(0))
    row = records.row(0)
    assert (row["state"], row["steps"], row["score"], row["budget_steps"]) == ("running", 50, 0.5, 100)
    assert (row["gpu_share"], row["error"]) == (0.5, None)
    records.end(0, "failed", DIED)
    row = records.row(0)
    assert (row["state"], row["error"]) == ("failed", DIED)
    assert row["finished"] is not None


def report(*steps: int, **others: Any) -> Report:
    """What a trial tells that has taken these steps."""
    return Report(steps[-1], reports=[{"trial": 0, "update": one // 10, "steps": one} for one in steps], **others)


def test_what_a_trial_told_beyond_the_checkpoint_from_which_it_goes_on_is_dropped(
    records: TrialRecords, tmp_path: Path
) -> None:
    records.begin(proposal(0))
    records.take(0, report(10, 20, columns={"steps": 20}))
    records.take(0, report(30, 40))
    records.take(0, Report(30, restored=True, columns={"device": "cpu"}))
    records.take(0, report(40))
    assert load(tmp_path / "e").reports["steps"].tolist() == [10, 20, 30, 40]
    records.take(0, Report(0, restored=True))
    assert load(tmp_path / "e").reports.empty
    assert (records.row(0)["steps"], records.row(0)["device"]) == (20, "cpu")


def test_each_file_is_told_after_it_was_written_and_copies_have_each_report_once(tmp_path: Path) -> None:
    written: list[str] = []
    experiment = create(Settings(backend="batch", name="e", dir=str(tmp_path), steps=100, track=("csv",)))
    records = TrialRecords(experiment, lambda path: written.append(path.relative_to(experiment.paths.folder).as_posix()))
    records.begin(proposal(0))
    for one in (report(10), report(20), Report(10, restored=True), report(20), report(30)):
        records.add(0, one)
    records.leave(0)
    lines = experiment.paths.csv(0).read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[1] for line in lines] == ["step", "10", "20", "30"]
    assert {*written} == {"results/trials/00000.parquet", "results/reports/00000.parquet", "csv/00000.csv"}
    assert written[-1] == "csv/00000.csv"


def test_a_trial_outside_of_a_search_goes_on_from_its_newest_checkpoint(records: TrialRecords, tmp_path: Path) -> None:
    (ExperimentPaths(tmp_path / "e").checkpoints(0) / "000000000064").mkdir(parents=True)
    handout = records.hand_out(proposal(0))
    assert (handout.checkpoint, handout.seed, handout.place.grant.ram_bytes) == (64, trial_seed(0, 0), 0)


def test_a_repeated_trial_has_outcome_and_number_of_the_other(records: TrialRecords) -> None:
    records.begin(proposal(0))
    records.update(0, score=0.5)
    records.end(0, "pruned")
    assert records.repeat(proposal(1, same_as=0)) == ("pruned", 0.5)
    row = records.row(1)
    assert (row["state"], row["score"], row["same_as"], row["steps"]) == ("pruned", 0.5, 0, 0)


def test_a_refused_trial_has_its_reason_and_prediction(records: TrialRecords) -> None:
    records.refuse(proposal(0, refused="does not fit"), {"predicted_ram_bytes": 5})
    row = records.row(0)
    assert (row["state"], row["error"], row["predicted_ram_bytes"]) == ("oom", "does not fit", 5)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("hidden_sizes", "8," * 100_000 + "8", "at most 16 layers, not 100001"),
        ("learning_rate", None, "learning_rate=None: it takes a number"),
        ("gamma", float("nan"), "gamma=nan: it lies between"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_values_that_no_search_assigns_are_refused_with_their_file(
    records: TrialRecords, tmp_path: Path, name: str, value: Any, why: str
) -> None:
    records.begin(proposal(0))
    assert records.assignment(0) == proposal(0).hyperparameters
    records.update(0, **{f"hp_{name}": value})
    with pytest.raises(ResultsError, match=why) as refused:
        records.assignment(0)
    assert str(refused.value).startswith(str(ExperimentPaths(tmp_path / "e").part("trials", 0)))
    assert str(refused.value).endswith("restore it from a copy")
    assert len(str(refused.value)) < 1000


def test_trials_have_seeds_of_their_own_and_those_that_are_compared_share_one_that_no_other_has() -> None:
    own = {trial_seed(3, number) for number in range(100)}
    assert len(own) == 100
    assert all(0 <= seed < 2**31 for seed in own)
    fresh = [trial_seed(3, number, run) for run in range(10) for number in (50, 51)]
    assert fresh[::2] == fresh[1::2]
    assert len(set(fresh)) == 10
    assert not set(fresh) & own
