"""At the end of a search in an environment those are rated again that their intervals do not tell from the best."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from envs.objective.aim import SCORE_ALONE
from results import Results, load
from tests.results.made import BUDGET, Row, evaluation, row, tables
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.run import second_look
from tuning.search.run.second_look import look_again, open_trials
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords


def results(folder: Path, returns: Sequence[Sequence[float]], further: Sequence[int | None]) -> Results:
    """Trials whose kept policies had these returns, of which so many came last."""
    trials = [
        row(number, float(np.mean(own)), further_episodes=count)
        for number, (own, count) in enumerate(zip(returns, further, strict=True))
    ]
    evaluations = [evaluation(number, BUDGET, own, year=n) for number, each in enumerate(returns) for n, own in enumerate(each)]
    return tables(folder, trials, evaluations=evaluations)


def test_those_are_open_whose_intervals_reach_above_the_best_that_was_looked_at(tmp_path: Path) -> None:
    returns = [[10.0, 10.0, 10.0], [7.0, 9.0, 11.0], [1.0, 1.1, 0.9], [12.0, 12.0, 12.0]]
    none = [None] * 4
    assert open_trials(results(tmp_path, returns, none), SCORE_ALONE) == [3, 0, 1, 2], "the best ones first"
    assert open_trials(results(tmp_path, returns, none), SCORE_ALONE, tried={3, 1}) == [0, 2]
    # The interval of trial 1 is from 4.0 to 14.0; that of trial 0 is a point, and ties are no reason to look.
    assert open_trials(results(tmp_path, returns, [1, None, None, 1]), SCORE_ALONE) == [1]
    assert open_trials(results(tmp_path, returns[:3], [1, None, None]), SCORE_ALONE) == [1]
    assert open_trials(results(tmp_path, [[10.0] * 3] * 2, [1, None]), SCORE_ALONE) == []


@pytest.fixture
def searched(tmp_path: Path) -> Experiment:
    """Three trials whose kept evaluations have returns from 1 to 3, 2 to 4 and 3 to 5."""
    of = create(Settings(env="CartPole-v1", backend="batch", name="e", dir=str(tmp_path), steps=BUDGET, episodes=3))
    records = TrialRecords(of)
    for number in range(3):
        records.begin(Proposal(number, records.space.complete({})))
        rows = [told(number, episode, number + episode + 1.0) for episode in range(3)]
        records.update(number, state="complete", kept_steps=BUDGET, steps=BUDGET, score=number + 2.0, seconds=1.0)
        records._tables.add("evaluations", number, rows, of.settings.task.columns)
    return of


def told(number: int, episode: int, value: float) -> Row:
    """An episode as a trial tells it."""
    facts = {"trial": number, "steps": BUDGET, "scenario": "CartPole-v1", "split": "validation", "backend": "gymnasium"}
    return {**facts, "year": episode, "score": value, "length": 9.0}


@pytest.mark.usefixtures("small_ray")
def test_the_best_by_all_episodes_wins_and_one_without_a_checkpoint_stays_as_it_is(
    searched: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def further(folder: Path, number: int, is_trusted: bool) -> list[Row] | str:
        if number == 1:
            return "it has no checkpoint"
        return [told(number, 3 + episode, {0: 3.5, 2: 0.5}[number]) for episode in range(12)]

    monkeypatch.setattr(second_look, "_further_rows", further)
    monkeypatch.setattr(second_look, "run_jobs", lambda jobs: [job.work() for job in jobs])
    output = io.StringIO()
    look_again(searched, lambda path: None, Console(file=output, width=200))
    assert "trial 1 is not rated by further episodes: it has no checkpoint" in output.getvalue()
    found = load(searched.paths.folder)
    assert found.trials["further_episodes"].tolist()[::2] == [12, 12]
    np.testing.assert_allclose(found.trials["score"], [(6.0 + 12 * 3.5) / 15, 3.0, (12.0 + 12 * 0.5) / 15])
    assert found.best["trial"] == 0
