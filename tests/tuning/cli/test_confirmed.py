"""The end of a search says whether the best is better than the default, from trainings with fresh seeds alone."""

from pathlib import Path

import pytest

from results import load
from tests.tuning.cli.test_summary import write_trial
from tuning.cli.confirmed import confirmation_lines


def lines(folder: Path, **scores: list[float]) -> list[str]:
    """What is said of trials that were trained again: `default` of trial 0, `t3` of trial 3, and so on."""
    write_trial(folder, 0, "complete", 0.9)
    number = 10
    for name, values in scores.items():
        of, role = (0, "default") if name == "default" else (int(name[1:]), "best")
        for run, score in enumerate(values):
            write_trial(folder, number, "complete", score, confirms=of, confirm_run=run, confirm_role=role)
            number += 1
    return confirmation_lines(load(folder), lambda rating: f"{rating:+.3f}")


pytestmark = pytest.mark.filterwarnings("ignore:.*lack")


def test_one_that_is_better_with_each_seed_is_better(tmp_path: Path) -> None:
    found = lines(tmp_path, default=[0.10, 0.11, 0.12], t3=[0.20, 0.21, 0.221])
    assert found[1].startswith("  the default (trial 0): +0.110 (+0.085 to +0.135), 3 seeds")
    assert found[3].startswith("  trial 3 against the default: +0.1003")
    assert found[-1] == "Better than the default: trial 3."


def test_one_that_is_lucky_once_is_not(tmp_path: Path) -> None:
    found = lines(tmp_path, default=[0.10, 0.11, 0.12], t3=[0.10, 0.25, 0.12])
    assert found[-1] == "No trial is shown to be better than the default."


def test_two_contenders_have_wider_intervals_than_one(tmp_path: Path) -> None:
    alone = lines(tmp_path / "one", default=[0.10, 0.11, 0.12], t3=[0.11, 0.13, 0.14])
    both = lines(tmp_path / "two", default=[0.10, 0.11, 0.12], t3=[0.11, 0.13, 0.14], t4=[0.0, 0.0, 0.1])
    assert alone[3].split(" (")[0] == both[4].split(" (")[0]
    assert alone[3] != both[4]


def test_one_seed_says_nothing(tmp_path: Path) -> None:
    assert lines(tmp_path, default=[0.1], t3=[0.2]) == []


def test_without_the_default_the_mean_stands_alone(tmp_path: Path) -> None:
    found = lines(tmp_path, t3=[0.2, 0.21])
    assert len(found) == 2
    assert "trial 3: +0.205" in found[1]


def test_what_was_trained_again_is_not_the_best(tmp_path: Path) -> None:
    lines(tmp_path, default=[0.95, 0.96], t3=[0.97, 0.98])
    assert load(tmp_path).best["trial"] == 0
