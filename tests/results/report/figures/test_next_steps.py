"""What to do next follows from what the search found."""

from pathlib import Path
from typing import Any

import pytest

from results.report.figures.next_steps import figure
from results.report.subjects import Search
from tests.results import made
from tests.results.analysis.test_judged import experiment, judgement
from tests.results.analysis.test_yardsticks import controllers, planned, plans, searched  # noqa: F401 - a fixture
from tuning.experiment.option_values import Budget


def told(search: Search) -> str:
    shown = figure(search)
    assert shown
    return shown.answer.replace("uv run ", "")


def test_a_controller_without_training_that_is_better_comes_first_and_a_judgement_before_trust(tmp_path: Path) -> None:
    said = told(Search(searched(tmp_path, [planned(0, 0.05, 0.05), made.row(1, 0.03)], controllers())))
    assert said.startswith("1. Model predictive control reaches score +0.0600 without any training")
    assert said.endswith(f"judge it on hours that nothing has seen: `python -m tuning.judge {tmp_path}`")


def test_a_rule_that_is_better_than_the_best_trial_is_named(tmp_path: Path) -> None:
    rows = [row for row in controllers() if not row["contender"].startswith("MPC")]
    said = told(Search(searched(tmp_path, [made.row(0, 0.03)], rows)))
    assert said.startswith('1. "rule: good" reaches score +0.0400 without any training')


def test_a_place_below_the_folder_of_the_page_is_told_without_what_is_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made.settle(tmp_path / "runs" / "one", objective="co2_kg bill")
    said = told(Search(made.tables(tmp_path / "runs" / "one", [made.row(0, 0.05)])))
    assert said.endswith("`python -m tuning.judge runs/one --objective co2_kg`"), "a judgement names one winner"


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"trials": 8, "scheduler": "none"}, "--trials 16"),
        ({"preset": "default", "trials": 8, "scheduler": "freeze-thaw"}, "--trials 16"),
        ({"budget": "1.5h"}, "--budget 3h"),
        ({"budget": "750000", "scheduler": "freeze-thaw"}, "--budget 1500000"),
        ({"budget": "2.5M", "trials": 8}, "--trials 16 --budget 5M"),
        # Of 40 eight have begun.
        ({"budget": "30m", "trials": 40}, "--trials 80 --budget 60m"),
        # Twice as many trials would share the same budget.
        ({"scheduler": "freeze-thaw"}, "--budget 64000"),
        ({"scheduler": "freeze-thaw", "steps": 10_000, "trials": 8}, "--trials 16 --budget 80000"),
    ],
)
def test_a_search_that_rises_still_is_continued_with_twice_as_much(tmp_path: Path, settings: dict[str, Any], more: str) -> None:
    made.settle(tmp_path, **settings)
    trials = [made.row(number, 0.1 * number) for number in range(8)]
    rising = made.tables(tmp_path, trials, [row for number in range(8) for row in made.reports(number, 0.1 * number)])
    assert f"`python -m tuning.run --resume {tmp_path} {more}`" in told(Search(rising))
    if "--budget" in more:
        Budget.parse(more.split()[-1])


def test_a_judged_winner_is_put_to_work_with_its_judgement(tmp_path: Path) -> None:
    found = experiment(tmp_path / "one")
    assert "tuning.export" not in told(Search(found))
    said = told(Search(found, judgement(tmp_path / "one")))
    assert said.endswith(f"{tmp_path / 'one'} --to policy --judgement {tmp_path / 'one'}`")
    assert "tuning.judge" not in said
    assert "tuning.export" not in told(Search(found, judgement(tmp_path / "another")))


def test_without_a_winner_nothing_is_next(tmp_path: Path) -> None:
    assert figure(Search(made.search(tmp_path, 0))) is None
