"""The row of a trial follows it from its beginning to its end."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from results import ResultsError
from results.schema import FINGERPRINT, fingerprint
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import ExperimentPaths, create
from tuning.experiment.settings import Settings
from tuning.trial.proposal import Proposal
from tuning.trial.records import DIED, TrialRecords, trial_seed


def test_a_process_that_does_not_know_the_commit_leaves_the_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"host": "driver", "platform": "Linux", "python": "3", "versions": "{}", "git_commit": "abc"}
    monkeypatch.setattr("tuning.trial.records.provenance", lambda: known)
    records = TrialRecords(create(Settings(backend="batch", name="e", dir=str(tmp_path))))
    h = algorithm("ppo").space.complete({})
    records.begin(Proposal(0, h))
    monkeypatch.setattr("tuning.trial.records.provenance", lambda: {**known, "host": "worker", "git_commit": ""})
    records.write_used(0, h, "cpu", 4)
    row = records.measured(0)
    assert (row["host"], row["git_commit"]) == ("worker", "abc")


@pytest.fixture
def records(tmp_path: Path) -> TrialRecords:
    return TrialRecords(create(Settings(backend="batch", name="e", dir=str(tmp_path), steps=100)))


def proposal(number: int, **others: Any) -> Proposal:
    return Proposal(number, algorithm("ppo").space.complete({}), **others)


def test_a_trial_that_is_handed_out_again_keeps_its_measurements_and_loses_its_error(records: TrialRecords) -> None:
    assert records.state(0) is None
    records.begin(proposal(0))
    records.update(0, steps=50, score=0.5)
    records.count_crash(0, "Traceback\nValueError: once")
    assert records.crashes(0) == (1, "Traceback\nValueError: once")
    records.begin(proposal(0))
    assert records.crashes(0) == (1, None)
    row = records.measured(0)
    assert (row["state"], row["steps"], row["score"], row["budget_steps"]) == ("running", 50, 0.5, 100)


def test_an_end_has_the_last_line_of_the_error_and_a_killed_process_a_reason(records: TrialRecords) -> None:
    for number in range(2):
        records.begin(proposal(number))
    records.count_crash(0, "Traceback\nValueError: bad luck")
    assert records.end(0, "failed") == ("ValueError: bad luck", None)
    assert records.end(1, "failed") == (DIED, None)
    assert records.reason(1) == DIED
    assert records.measured(1)["finished"] is not None


def test_a_repeated_trial_has_outcome_and_number_of_the_other(records: TrialRecords) -> None:
    records.begin(proposal(0))
    records.update(0, score=0.5)
    records.end(0, "pruned")
    assert records.repeat(proposal(1, same_as=0)) == ("pruned", 0.5)
    row = records.measured(1)
    assert (row["state"], row["score"], row["same_as"], row["steps"]) == ("pruned", 0.5, 0, 0)


def test_a_refused_trial_has_its_reason_and_prediction(records: TrialRecords) -> None:
    records.refuse(proposal(0, refused="does not fit"), {"predicted_ram_bytes": 5})
    row = records.measured(0)
    assert (row["state"], row["error"], row["predicted_ram_bytes"]) == ("oom", "does not fit", 5)


def test_running_out_of_memory_is_counted(records: TrialRecords) -> None:
    records.begin(proposal(0))
    assert records.times_out_of_memory(0) == 0
    records.count_out_of_memory(0, "Traceback\nMemoryError: first")
    records.count_out_of_memory(0, "Traceback\nMemoryError: second")
    assert records.times_out_of_memory(0) == 2
    assert records.reason(0) == "MemoryError: second"


def test_a_memory_marker_is_read_once(records: TrialRecords, tmp_path: Path) -> None:
    marker = ExperimentPaths(tmp_path / "e").memory_marker(0)
    assert records.take_memory_marker(0) is None
    marker.parent.mkdir()
    marker.write_text("123", encoding="utf-8")
    assert records.take_memory_marker(0) == 123
    assert not marker.exists()
    assert records.take_memory_marker(0) is None


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("hidden_sizes", "1000000,1000000", "each from 1 to 8192"),
        ("hidden_sizes", "8," * 100_000 + "8", "at most 16 layers, not 100001"),
        ("hidden_sizes", "abc", "sizes of layers"),
        ("learning_rate", None, "learning_rate=None: it takes a number"),
        ("gamma", float("nan"), "gamma=nan: it lies between"),
        ("activation", "none such", "activation=none such: it is one of"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_values_that_no_search_assigns_are_refused_with_their_file(
    records: TrialRecords, tmp_path: Path, name: str, value: Any, why: str
) -> None:
    records.begin(proposal(0))
    records.update(0, **{f"hp_{name}": value})
    with pytest.raises(ResultsError, match=why) as refused:
        records.assignment(0)
    assert str(refused.value).startswith(str(ExperimentPaths(tmp_path / "e").part("trials", 0)))
    assert str(refused.value).endswith("restore it from a copy")
    assert len(str(refused.value)) < 1000


def test_an_assignment_is_read_back_as_it_was_given(records: TrialRecords) -> None:
    records.begin(proposal(0))
    assert records.assignment(0) == algorithm("ppo").space.complete({})


@pytest.mark.parametrize("content", [b"", b"much", b"9" * 5000, b"\xff"])
def test_a_damaged_memory_marker_is_named_and_removed(
    records: TrialRecords, tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    marker = ExperimentPaths(tmp_path / "e").memory_marker(0)
    marker.parent.mkdir()
    marker.write_bytes(content)
    assert records.take_memory_marker(0) is None
    assert not marker.exists()
    assert str(marker) in capsys.readouterr().err


def test_a_row_without_its_budget_is_told(records: TrialRecords) -> None:
    records.begin(proposal(0))
    records.update(0, budget_steps=None)
    with pytest.raises(ResultsError, match=r"00000\.parquet has no budget_steps: restore it from a copy"):
        records.budget_steps(0)


def test_trials_have_seeds_of_their_own() -> None:
    seeds = [trial_seed(3, number) for number in range(50)]
    assert len(set(seeds)) == 50
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_trials_that_are_compared_share_a_seed_that_no_other_trial_has() -> None:
    fresh = [trial_seed(3, number, run) for run in range(10) for number in (50, 51)]
    assert fresh[::2] == fresh[1::2]
    assert len(set(fresh)) == 10
    assert not set(fresh) & {trial_seed(3, number) for number in range(100)}


def test_a_row_of_an_older_version_means_what_it_meant_however_often_it_is_changed(
    records: TrialRecords, tmp_path: Path
) -> None:
    records.begin(Proposal(0, {**algorithm("ppo").space.complete({}), "target_kl": 0.02}))
    path = tmp_path / "e" / "results" / "trials" / "00000.parquet"
    newer = [f"{prefix}{name}" for prefix in ("hp_", "used_") for name in ("kl_target", "shared_policy")]
    columns = pq.read_table(path).drop_columns(newer)
    pq.write_table(
        columns.replace_schema_metadata({**columns.schema.metadata, FINGERPRINT.encode(): fingerprint(columns)}), path
    )
    for state in ("running", "complete"):
        found = records.assignment(0)
        assert (found["kl_target"], found["target_kl"], found["shared_policy"]) == (0.02, None, False)
        records.update(0, state=state)
    assert records.assignment(0) == found
