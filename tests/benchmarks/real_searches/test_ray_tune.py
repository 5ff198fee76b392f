"""Stock Ray Tune draws from our space, and our trial gets what it drew. Nothing is trained here."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.real_searches import ray_tune
from benchmarks.real_searches.records import Task, Terms
from tuning.experiment.folder import create, open_experiment
from tuning.search.proposals.plan import limits
from tuning.search.run.opening import check_new
from tuning.trial.protocol import handout_in
from tuning.trial.records import TrialRecords

TERMS = Terms(60.0, 20_000, 4, 1, 2)


def test_the_trial_has_the_assignment_of_the_drawn_point(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(str(small_schema), 0, TERMS, tmp_path, ("gamma=0.97",))
    checked = check_new(ray_tune.settings(task))
    assert checked.plan.starts == ()
    within = ray_tune.drawn_from(checked)
    folder = create(checked.settings).paths.folder
    ran: list[dict[str, Any]] = []
    monkeypatch.setattr("tuning.trial.trainable.run_trial", ran.append)
    searcher = ray_tune.EvaluatedOnly(within, metric="score", mode="max", seed=1)
    for name in "ab":
        point = searcher.suggest(name)
        ray_tune.run_drawn({**point, ray_tune.FOLDER: str(folder), ray_tune.FIXED: checked.plan.fixed})
        expected = checked.plan.space.assignment(point, {"gamma": 0.97}, limits(TERMS.steps))
        handout = handout_in(ran[-1])
        assert handout.hyperparameters == expected
        assert TrialRecords(open_experiment(folder)).assignment(handout.number) == expected
    first, second = map(handout_in, ran)
    assert (first.number, second.number) == (0, 1)
    assert first.hyperparameters["learning_rate"] != second.hyperparameters["learning_rate"]
