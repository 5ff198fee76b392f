"""At the end of a search in an environment those are rated again that their intervals do not tell from the best."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from common.errors import UserError
from envs.objective.aim import SCORE_ALONE
from results import Results, load
from results.loader import ranked
from tests.results.made import BUDGET, Row, evaluation, row, tables
from tuning import tune
from tuning.cli.summary import print_summary
from tuning.experiment.folder import Experiment, create, open_experiment
from tuning.experiment.settings import Settings
from tuning.trial import second_look
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords
from tuning.trial.second_look import look_again, open_trials


def results(folder: Path, returns: Sequence[Sequence[float]], further: Sequence[int | None]) -> Results:
    """Trials whose kept policies had these returns, of which so many came last."""
    trials = [
        row(number, float(np.mean(own)), further_episodes=count)
        for number, (own, count) in enumerate(zip(returns, further, strict=True))
    ]
    evaluations = [
        evaluation(number, BUDGET, own, year=n, backend="gymnasium")
        for number, each in enumerate(returns)
        for n, own in enumerate(each)
    ]
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
        records._add("evaluations", number, rows)
    return of


def told(number: int, episode: int, value: float) -> Row:
    """An episode as a trial tells it."""
    facts = {"trial": number, "steps": BUDGET, "scenario": "CartPole-v1", "split": "validation", "backend": "gymnasium"}
    return {**facts, "year": episode, "score": value, "length": 9.0}


def test_the_best_by_all_episodes_wins_before_those_that_few_episodes_rate(
    searched: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[int]()

    def further(folder: Path, number: int, is_trusted: bool) -> list[Row]:
        asked.append(number)
        if number == 1:
            raise UserError("it has no checkpoint")
        return [{**told(number, 3 + episode, {0: 1.5, 2: 0.5}[number]), "further": True} for episode in range(12)]

    monkeypatch.setattr(second_look, "further_rows", further)
    monkeypatch.setattr(second_look, "run_jobs", lambda jobs: [job.work() for job in jobs])
    lines, records = list[str](), TrialRecords(searched)
    look_again(searched, lambda path: None, lines.append)
    assert asked == [2, 1, 0], "the best ones first"
    assert lines == ["not rated by further episodes: trial 1: it has no checkpoint"]
    found = load(searched.paths.folder)
    assert found.trials["further_episodes"].tolist() == [12, 0, 12]
    scores = [(6.0 + 12 * 1.5) / 15, 3.0, (12.0 + 12 * 0.5) / 15]
    np.testing.assert_allclose(found.trials["score"], scores)
    assert found.best["trial"] == 0, "trial 1 has a higher mean of three episodes"
    assert ranked(found.trials)["trial"].tolist() == [0, 2, 1]
    # A trial that goes on knows of its evaluations alone. It is rated by all episodes as long as it keeps the policy.
    evaluated = {"score": 4.0, "rating": None, "further_episodes": None, "steps": 2 * BUDGET}
    for kept, score in ((BUDGET, scores[2]), (2 * BUDGET, 4.0)):
        records.told(2, {**evaluated, "kept_steps": kept})
        assert (records.row(2)["score"], records.row(2)["steps"]) == (pytest.approx(score), 2 * BUDGET)
    # Until the next end a policy that is new is ranked by its evaluation, and one that is kept stays where it was.
    records.told(1, {**evaluated, "kept_steps": BUDGET})
    assert load(searched.paths.folder).best["trial"] == 2
    records.told(1, {**evaluated, "kept_steps": 2 * BUDGET, "score": 9.0})
    assert load(searched.paths.folder).best["trial"] == 1
    records.repeat(Proposal(3, records.space.complete({}), same_as=0))
    assert records.row(3)["further_episodes"] == 12
    records.drop_after(0, BUDGET)
    assert records.row(0)["further_episodes"] == 12
    records.drop_after(0, BUDGET - 1)
    assert records.row(0)["further_episodes"] is None
    # What a run that was killed has left is taken as it is.
    records.update(2, kept_steps=BUDGET, further_episodes=None)
    look_again(searched, lambda path: None, lines.append)
    assert asked[3:] == [], "trial 1 has no rows of its new policy"
    assert records.row(2)["further_episodes"] == 12


def test_of_a_site_the_best_three_are_rated_by_its_other_weeks_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = create(Settings(backend="citylearn", name="s", dir=str(tmp_path), validation_weeks=4, further_weeks=True))
    records, asked = TrialRecords(of), list[int]()

    def of_site(number: int, hours: int, score: float, **more: bool) -> Row:
        facts = {"trial": number, "steps": BUDGET, "scenario": "iquitos", "split": "validation", "backend": "citylearn"}
        return {**facts, "year": 2, "hours": hours, "score": score, **more}

    def complete(number: int, score: float) -> None:
        records.begin(Proposal(number, records.space.complete({})))
        records.update(number, state="complete", kept_steps=BUDGET, steps=BUDGET, score=score, seconds=1.0)
        records._add("evaluations", number, [of_site(number, 672, score)])

    def further(folder: Path, number: int, is_trusted: bool) -> list[Row]:
        asked.append(number)
        return [of_site(number, 8064, {0: 0.1, 1: 0.4, 2: 0.2, 3: 0.1, 4: 0.5}[number], further=True)]

    for number in range(4):
        complete(number, 0.01 * number)
    monkeypatch.setattr(second_look, "further_rows", further)
    monkeypatch.setattr(second_look, "run_jobs", lambda jobs: [job.work() for job in jobs])
    for _ in range(2):
        look_again(of, lambda path: None, print)
        assert asked == [3, 2, 1], "once at the first end, and not again at one without new trials"
    found = load(of.paths.folder)
    assert found.trials["further_episodes"].tolist() == [0, 48, 48, 48]
    assert found.best["trial"] == 1
    assert found.best["score"] == pytest.approx((672 * 0.01 + 8064 * 0.4) / 8736)
    complete(4, -0.5)
    look_again(of, lambda path: None, print)
    assert asked[3:] == [4]
    assert load(of.paths.folder).best["trial"] == 4


@pytest.mark.usefixtures("small_ray")
def test_a_search_that_citylearn_steps_ends_with_all_weeks_of_its_best(small_schema: Path, tmp_path: Path) -> None:
    given = Settings(
        scenario=str(small_schema), backend="citylearn", preset="default", set=(("n_steps=32", "batch_size=32"),), trials=1,
        steps=128, evaluations=1, confirm=0.0, dir=str(tmp_path), name="s",
    )  # fmt: skip
    console = Console(file=io.StringIO(), width=200)
    results = tune(given, console=console)
    few, other = results.rated_evaluations.sort_values("hours").to_dict("records")
    task = open_experiment(tmp_path / "s").settings.site_task
    assert (few["hours"], other["hours"]) == (24, sum(window.hours for window in task.further_windows))
    assert (few["further"], other["further"]) == (None, True)
    assert results.best["further_episodes"] == len(task.further_windows) > 1
    whole = (few["score"] * few["hours"] + other["score"] * other["hours"]) / (few["hours"] + other["hours"])
    assert results.best["score"] == pytest.approx(whole)
    print_summary(results, console)
    assert f"Other controllers: {few['hours']} of these hours" in console.file.getvalue()


def test_so_many_are_looked_at_and_no_more(searched: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_look, "MOST_TRIALS", 1)
    monkeypatch.setattr(second_look, "run_jobs", lambda jobs: [[told(2, 3, -9.0)]])
    look_again(searched, lambda path: None, print)
    assert load(searched.paths.folder).best["trial"] == 2
