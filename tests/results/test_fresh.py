"""Trainings of the best and of the default again with fresh seeds, as all that is said of them takes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from results import Results
from results.analysis import confirmed, mean_curves
from results.experiment_file import FORMAT
from results.statistics import CONFIDENCE, mean
from tests.results.made import reports, row, tables

Run = tuple[int, float] | tuple[int, float, dict[str, Any]]  # trial that it trains again, score, other columns


def results(folder: Path, *runs: Run) -> Results:
    """A search of the default, +0.10, and trials 1 and 2, +0.40 and +0.30, with trainings of them again."""
    rows = [row(0, 0.1), row(1, 0.4), row(2, 0.3)]
    seeds: dict[int, int] = {}
    for number, (of, score, *more) in enumerate(runs, 3):
        seeds[of] = seeds.get(of, -1) + 1
        own = {"confirms": of, "confirm_run": seeds[of], "confirm_role": "best" if of else "default"}
        rows.append(row(number, score, **{**own, **(more[0] if more else {})}))
    return tables(folder, rows, [own for each in rows for own in reports(each["trial"], each["score"])])


def test_the_best_mean_is_recommended_not_the_best_rating(tmp_path: Path) -> None:
    found = results(tmp_path, (0, 0.1), (0, 0.12), (1, 0.2), (1, 0.1), (2, 0.3), (2, 0.2))
    assert found.best["trial"] == 1
    assert found.fresh.recommended == 2
    assert (found.recommended["trial"], found.recommended["confirms"]) == (7, 2)


def test_the_default_is_recommended_where_its_mean_is_best_or_equal(tmp_path: Path) -> None:
    assert results(tmp_path / "one", (0, 0.1), (0, 0.12), (1, 0.05), (1, 0.1)).fresh.recommended == 0
    assert results(tmp_path / "two", (0, 0.1), (0, 0.12), (1, 0.12), (1, 0.1)).fresh.recommended == 0


@pytest.mark.parametrize("runs", [(), ((0, 0.1), (0, 0.2)), ((0, 0.1), (0, 0.2), (1, 0.3))])
def test_without_two_trainings_of_another_the_best_rating_is_recommended(tmp_path: Path, runs: tuple[Run, ...]) -> None:
    found = results(tmp_path, *runs)
    assert found.fresh.recommended is None
    assert found.recommended["trial"] == found.best["trial"] == 1


@pytest.mark.parametrize("more", [{"shortfall": 0.1}, {"state": "failed"}, {"state": "pruned"}, {"state": "oom"}])
def test_one_with_a_training_that_ended_early_or_missed_a_requirement_is_not_sound(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    found = results(tmp_path, (0, 0.1), (0, 0.12), (1, 0.3), (1, 0.31), (1, 0.32, more), (2, 0.2), (2, 0.2))
    assert found.fresh.sound == [2]
    assert found.fresh.pairs(1) is None
    assert found.fresh.recommended == 2
    assert confirmed(found).set_index("confirms")["gain"].isna().tolist() == [True, False, True]


def test_what_has_not_ended_is_no_training_that_ended_early(tmp_path: Path) -> None:
    found = results(tmp_path, (0, 0.1), (0, 0.12), (1, 0.3), (1, 0.31), (1, 0.1, {"state": "frozen"}))
    assert found.fresh.sound == [1]
    assert len(found.fresh.complete[1]) == 2


def test_what_has_less_than_two_seeds_in_common_with_the_default_is_compared_with_nothing(tmp_path: Path) -> None:
    runs = [(1, 0.3, {"confirm_run": 1}), (1, 0.3, {"confirm_run": 2})]
    assert results(tmp_path, (0, 0.1), (0, 0.12), *runs).fresh.pairs(1) is None


def test_a_default_that_misses_a_requirement_is_compared_with_nothing_and_not_recommended(tmp_path: Path) -> None:
    found = results(tmp_path, (0, 0.4), (0, 0.42, {"shortfall": 0.1}), (1, 0.3), (1, 0.31))
    assert found.fresh.pairs(1) is None
    assert found.fresh.recommended == 1


def test_of_several_numbers_of_steps_the_most_count(tmp_path: Path) -> None:
    short = {"budget_steps": 1000}
    found = results(tmp_path, (0, 0.1, short), (0, 0.1, short), (1, 0.3), (1, 0.31))
    assert found.fresh.control is None
    assert list(found.fresh.complete) == [1]
    assert mean_curves(found)["confirms"].unique().tolist() == [1]


@pytest.mark.parametrize("steps", [1000, 500])
def test_after_a_search_went_on_with_other_steps_those_of_before_do_not_count(tmp_path: Path, steps: int) -> None:
    before, now = {"budget_steps": 700}, {"budget_steps": steps}
    found = results(tmp_path, (0, 0.1, before), (0, 0.1, before), (1, 0.3, before), (1, 0.31, before), (2, 0.3, now))
    (tmp_path / "experiment.json").write_text(json.dumps({"format": FORMAT, "settings": {"steps": steps}}), encoding="utf-8")
    assert list(found.fresh.complete) == [2]
    assert found.fresh.recommended is None
    assert mean_curves(found)["confirms"].unique().tolist() == [2]


def test_an_assignment_with_too_few_trainings_that_reached_the_end_is_broken(tmp_path: Path) -> None:
    failed = {"state": "failed"}
    found = results(tmp_path, (0, 0.1, failed), (0, 0.1, failed), (1, 0.3), (1, 0.31, failed), (2, 0.3)).fresh
    assert found.broken == [0, 1]
    assert (found.default, found.control) == (0, None)


def test_differences_from_the_default_hold_together(tmp_path: Path) -> None:
    own = [(0, 0.10), (0, 0.11), (0, 0.12), (1, 0.11), (1, 0.13), (1, 0.14)]
    alone, both = (results(tmp_path / name, *own, *more) for name, more in (("one", ()), ("two", ((2, 0.0), (2, 0.1)))))
    assert alone.fresh.confidence() == CONFIDENCE
    assert both.fresh.confidence() == pytest.approx(0.975)
    assert both.fresh.confidence(objectives=2) == pytest.approx(0.9875)
    found = confirmed(both).set_index("confirms")
    expected = mean([0.01, 0.02, 0.02], 0.975)  # type: ignore[arg-type]
    assert found.loc[1, "gain_low"] == pytest.approx(expected.low)
    assert found.loc[1, "gain_low"] < confirmed(alone).set_index("confirms").loc[1, "gain_low"]
