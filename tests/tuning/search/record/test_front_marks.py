"""Rows say whether their trial is on the front."""

from pathlib import Path

import pytest

from results import load
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.search.record.front_marks import mark_front
from tuning.trial.proposal import Proposal
from tuning.trial.records import TrialRecords


@pytest.mark.filterwarnings("ignore:.*lack")
def test_a_row_changes_only_where_it_says_otherwise(tmp_path: Path) -> None:
    experiment = create(Settings(name="one", dir=str(tmp_path), backend="batch", objective="co2_kg bill"))
    records, space = TrialRecords(experiment), algorithm_of(experiment.settings).space
    for number, gains in enumerate([(0.1, 0.3), (0.3, 0.1), (0.0, 0.0)]):
        records.begin(Proposal(number, space.complete({"gamma": 0.9 + number / 100})))
        records.update(number, score=0.1, gain=gains[0], gain_2=gains[1], rating=sum(gains) / 2)
        records.end(number, "complete")
    folder = experiment.paths.folder
    mark_front(records, load(folder))
    assert load(folder).trials["on_front"].tolist() == [True, True, False]
    before = [experiment.paths.part("trials", number).stat().st_mtime_ns for number in range(3)]
    records.update(2, gain=0.4, gain_2=0.2)
    mark_front(records, load(folder))
    assert load(folder).trials["on_front"].tolist() == [True, False, True]
    assert experiment.paths.part("trials", 0).stat().st_mtime_ns == before[0]
