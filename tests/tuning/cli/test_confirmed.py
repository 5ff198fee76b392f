"""The end of a search says whether the best is better than the default, from trainings with fresh seeds alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.objective.aim import SCORE_ALONE, Aim, Outcome
from results import load
from results.statistics import paired_mean
from tests.tuning.cli.test_summary import write_gains, write_trial
from tuning.cli.confirmed import confirmation_lines, unpaid_lines
from tuning.experiment.settings import Settings


def lines(folder: Path, **scores: list[float]) -> list[str]:
    """What is said of trials that were trained again: `default` of trial 0, `t3` of trial 3, and so on."""
    write_trial(folder, 0, "complete", 0.9)
    number = 10
    for name, values in scores.items():
        of, role = (0, "default") if name == "default" else (int(name[1:]), "best")
        for run, score in enumerate(values):
            shortfall = 0.5 if Aim.is_missed(score) else None
            write_trial(
                folder, number, "complete", score, confirms=of, confirm_run=run, confirm_role=role, shortfall=shortfall
            )  # fmt: skip
            number += 1
    return confirmation_lines(load(folder), SCORE_ALONE)


pytestmark = pytest.mark.filterwarnings("ignore:.*lack")


def test_one_that_is_better_with_each_seed_is_better(tmp_path: Path) -> None:
    found = lines(tmp_path, default=[0.10, 0.11, 0.12], t3=[0.20, 0.21, 0.221])
    assert found[1].startswith("  the default (trial 0): +0.1100 (+0.0852 to +0.1348), 3 seeds")
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


def test_one_that_misses_a_requirement_with_one_seed_is_not_better(tmp_path: Path) -> None:
    missed = Aim.parse(require=("ev_served>=0.9",)).rating(Outcome(0.9, None, 0.5))
    found = lines(tmp_path, default=[0.10, 0.11, 0.12], t3=[0.20, missed, 0.221], t4=[0.30, 0.31, 0.321])
    assert found[2] == "  trial 3: 1 miss a requirement, 3 seeds"
    assert [line for line in found if "against" in line] == [found[4]]
    assert found[4].startswith("  trial 4 against the default: +0.200")
    assert found[-1] == "Better than the default: trial 4."


def test_where_the_default_misses_a_requirement_nothing_is_compared_with_it(tmp_path: Path) -> None:
    missed = Aim.parse(require=("ev_served>=0.9",)).rating(Outcome(0.9, None, 0.5))
    found = lines(tmp_path, default=[0.10, missed], t3=[0.20, 0.21])
    assert found[1] == "  the default (trial 0): 1 miss a requirement, 2 seeds"
    assert found[-1] == "The default misses a requirement, so no trial is compared with it."


def test_a_default_that_was_never_tried_has_no_number_and_what_did_not_end_does_not_count(tmp_path: Path) -> None:
    for number, (of, role, state) in enumerate(
        [(-1, "default", "complete")] * 2 + [(-1, "default", "frozen")] + [(3, "best", "complete")] * 2
    ):
        run = number if of < 0 else number - 3
        write_trial(tmp_path, number, state, 0.1, confirms=of, confirm_run=run, confirm_role=role)
    found = confirmation_lines(load(tmp_path), SCORE_ALONE)
    assert found[1].startswith("  the default: +0.100")
    assert found[1].endswith(", 2 seeds")


def test_pairs_without_a_seed_in_common_say_nothing(tmp_path: Path) -> None:
    for number, (of, run) in enumerate([(0, 0), (0, 1), (3, 1), (3, 2)]):
        role = "best" if of else "default"
        write_trial(tmp_path, number, "complete", 0.1 + 0.01 * number, confirms=of, confirm_run=run, confirm_role=role)
    found = confirmation_lines(load(tmp_path), SCORE_ALONE)
    assert len(found) == 3
    assert "against" not in "".join(found)


def test_one_of_which_a_training_did_not_reach_the_end_is_not_better(tmp_path: Path) -> None:
    write_trial(tmp_path, 50, "failed", None, confirms=3, confirm_run=3, confirm_role="best")
    found = lines(tmp_path, default=[0.10, 0.11, 0.12], t3=[0.20, 0.21, 0.221])
    assert found[2].endswith("3 seeds, and 1 that did not reach the end")
    assert found[-1] == "No trial is shown to be better than the default."
    assert not any("against" in line for line in found)


def test_one_whose_second_training_did_not_reach_the_end_is_told_and_was_paid_for(tmp_path: Path) -> None:
    write_trial(tmp_path, 50, "failed", None, confirms=3, confirm_run=1, confirm_role="best")
    found = lines(tmp_path, default=[0.10, 0.11], t3=[0.20])
    assert "  trial 3: no mean, 1 seed, and 1 that did not reach the end" in found
    assert found[-1] == "No trial is shown to be better than the default."
    assert unpaid_lines(Settings(budget="20m"), load(tmp_path)) == []


def test_where_trainings_of_the_default_did_not_reach_the_end_nothing_is_compared(tmp_path: Path) -> None:
    write_trial(tmp_path, 50, "failed", None, confirms=0, confirm_run=1, confirm_role="default")
    found = lines(tmp_path, default=[0.10], t3=[0.20, 0.21])
    assert "  the default (trial 0): no mean, 1 seed, and 1 that did not reach the end" in found
    assert found[-1] == "Trainings of the default did not reach the end, so no trial is compared with it."


def test_what_was_trained_for_fewer_steps_is_compared_with_nothing(tmp_path: Path) -> None:
    for number, (of, run, steps, score) in enumerate(
        [(0, run, 1000, 0.1 + 0.01 * run) for run in range(2)] + [(3, run, 2000, 0.3 + 0.01 * run) for run in range(2)]
    ):
        role = "best" if of else "default"
        write_trial(
            tmp_path, number, "complete", score, confirms=of, confirm_run=run, confirm_role=role, budget_steps=steps
        )  # fmt: skip
    found = confirmation_lines(load(tmp_path), SCORE_ALONE)
    assert len(found) == 2
    assert found[1].startswith("  trial 3: +0.305")


def test_the_best_mean_is_named_also_where_it_is_the_defaults(tmp_path: Path) -> None:
    assert "Best mean: trial 3." in lines(tmp_path / "one", default=[0.10, 0.11, 0.12], t3=[0.10, 0.25, 0.12])
    assert "Best mean: the default (trial 0)." in lines(tmp_path / "two", default=[0.2, 0.21], t3=[0.10, 0.11])


def test_what_was_trained_again_is_not_the_best(tmp_path: Path) -> None:
    lines(tmp_path, default=[0.95, 0.96], t3=[0.97, 0.98])
    assert load(tmp_path).best["trial"] == 0


def test_candidates_count_in_no_mean_and_are_told(tmp_path: Path) -> None:
    for number, of in enumerate((3, 4, 5), 50):
        write_trial(tmp_path, number, "complete", 9.0, confirms=of, confirm_run=0, confirm_role="candidate")
    found = lines(tmp_path, default=[0.10, 0.11, 0.12], t3=[0.20, 0.21, 0.221])
    assert found[0] == "The best 3 trials were each trained once more; the mean of both ratings chose from them."
    assert found[3].startswith("  trial 3: +0.210")
    assert found[-1] == "Better than the default: trial 3."
    assert not any("trial 4" in line or "trial 5" in line for line in found)


ONCE = (
    "The best was trained once: 20% of the budget pays for less than 2 trainings of it and of the default (--budget, --confirm)"
)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, True),  # four whole trials
        ({"budget": "20M", "steps": 100_000}, False),
        ({"budget": "20m"}, True),  # it is spent, and nothing was trained again
        ({"budget": "1.9M", "steps": 100_000, "scheduler": "asha"}, True),
        ({"scheduler": "asha"}, False),  # it has no budget of which a part could be kept
        ({"confirm": 0.0}, False),
        ({"preset": "default"}, False),
    ],
)
def test_where_the_budget_pays_for_no_training_again_a_line_says_so(
    tmp_path: Path, given: dict[str, object], told: bool
) -> None:
    for number in range(2):
        write_trial(tmp_path, number, "complete", 0.1)
    assert unpaid_lines(Settings(**given), load(tmp_path)) == ([ONCE] if told else [])  # type: ignore[arg-type]


def test_what_was_trained_again_in_a_budget_of_time_was_paid_for(tmp_path: Path) -> None:
    lines(tmp_path, default=[0.1, 0.2], t3=[0.2, 0.3])
    assert unpaid_lines(Settings(budget="20m"), load(tmp_path)) == []


def test_one_training_again_says_no_more_than_none(tmp_path: Path) -> None:
    lines(tmp_path, default=[0.1], t3=[0.2])
    write_trial(tmp_path, 3, "complete", 0.5)
    assert unpaid_lines(Settings(budget="20m"), load(tmp_path)) == [ONCE]


AIM = Aim.parse(objective="co2 bill")


def confirm(folder: Path, of: int, role: str, gains: list[tuple[float, float]], first: int, **more: Any) -> None:
    for run, pair in enumerate(gains):
        write_gains(folder, first + run, pair, confirms=of, confirm_run=run, confirm_role=role, **more)


def test_what_was_trained_again_is_better_in_one_objective_in_both_or_in_none(tmp_path: Path) -> None:
    confirm(tmp_path, 0, "default", [(0.10, 0.10), (0.11, 0.11), (0.12, 0.12)], 10)
    confirm(tmp_path, 3, "best", [(0.20, 0.20), (0.21, 0.21), (0.221, 0.22)], 20)
    confirm(tmp_path, 4, "best", [(0.20, 0.05), (0.21, 0.061), (0.22, 0.07)], 30)
    confirm(tmp_path, 5, "best", [(0.10, 0.10), (0.09, 0.13), (0.15, 0.10)], 40)
    lines = confirmation_lines(load(tmp_path), AIM)
    assert lines[1].startswith("  the default (trial 0): co2_kg +11.00% (+8.52% to +13.48%); bill +11.00%")
    # Three contenders in two objectives: all six intervals together hold with 95 %.
    pairs = np.array([0.20, 0.21, 0.221]), np.array([0.10, 0.11, 0.12])
    gain = paired_mean(*pairs, 1.0 - 0.05 / 6)
    assert lines[5].startswith(
        f"  trial 3 against the default, difference of gains: co2_kg +10.03% ({gain.low:+.2%} to {gain.high:+.2%}); bill"
    )
    assert lines[-1] == "Better than the default: trial 3 in co2_kg and bill; trial 4 in co2_kg."
