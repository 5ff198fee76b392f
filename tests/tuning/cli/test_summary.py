"""What the terminal shows at the end, from results alone."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from common.measure import Measure
from envs.objective.aim import SCORE_ALONE, Aim, Outcome
from envs.objective.columns import evaluation_columns, measures
from results import load
from results.schema import FOLDER, schema
from results.statistics import paired_mean
from results.table_files import add_rows, write_rows
from tests.tuning.cli.printing import text_of
from tuning.cli import summary
from tuning.cli.console import Fitted
from tuning.cli.summary import (
    MOST_OF_FRONT,
    _yardsticks,
    checkpoint_lines,
    confirmation_lines,
    front_table,
    print_comparison,
    print_summary,
    unpaid_lines,
)
from tuning.experiment.settings import Settings

KINDS = {"learning_rate": float, "target_kl": float}


def shown(folder: Path, aim: Aim = SCORE_ALONE, validation: str = "", width: int = 140, **again: Any) -> str:
    return text_of(lambda own: print_summary(load(folder), own, aim, validation, again=again), width)


def compared(*folders: Path, aim: Aim = SCORE_ALONE) -> str:
    return text_of(lambda own: print_comparison([load(folder) for folder in folders], own, aim), 140)


def write_trial(folder: Path, number: int, state: str, score: float | None = None, **columns: Any) -> None:
    row = {
        "trial": number, "state": state, "score": score, "kept_steps": 1000, "steps": 1000, "seconds": 100.0,
        "environment_seconds": 50.0, "learner_seconds": 10.0, "evaluation_seconds": 20.0,
        "hp_learning_rate": 1e-3, "hp_target_kl": None, **columns,
    }  # fmt: skip
    write_rows(folder, "trials", number, [row], KINDS | ({"reward_share": float} if "hp_reward_share" in columns else {}))


def write_evaluation(folder: Path, number: int, year: int, **columns: float) -> None:
    fields = schema("evaluations", measures=evaluation_columns())
    names = [field.name for field in fields if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)]
    nobody = dict.fromkeys(("discomfort", "uncontrolled_discomfort"), math.nan)
    about = {"trial": number, "steps": 1000, "year": year}
    row: dict[str, Any] = {**dict.fromkeys(names, 100), **nobody, **about, **columns}
    add_rows(folder, "evaluations", number, [row], measures=evaluation_columns())


def cells_of(text: str) -> dict[str, list[str]]:
    """Cells of a table by their first one; columns are at least two blanks apart."""
    rows = (re.split(r" {2,}", line.strip()) for line in text.splitlines())
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("width", [72, 80, 120])
def test_the_tables_fit_with_columns_that_line_up_and_units_of_the_sites_size(tmp_path: Path, width: int) -> None:
    write_trial(tmp_path, 0, "complete", 0.1)
    write_trial(tmp_path, 11, "complete", 0.05, kept_steps=1_251_061)
    imports = {"import_kwh": 1_482_847.0, "uncontrolled_import_kwh": 1_583_718.0}
    write_evaluation(tmp_path, 0, 2, hours=8760, co2_kg=670_395.0, uncontrolled_co2_kg=715_999.0, peak_kw=7.351, **imports)
    output = shown(tmp_path, width=width)
    lines = output.splitlines()
    (head,) = (line for line in lines if line.split()[:2] == ["trial", "score"])
    steps = ("1,000 ", "1,251,061 ")
    ends = [line.index(own) + len(own) - 1 for own in steps for line in lines if own in line]
    assert set(ends) == {head.index(" step ") + 5}
    cells = cells_of(output)
    assert cells["import, MWh"][:2] == ["1,483", "1,584"]
    assert cells["CO2, t"][0] == "670"
    assert cells["peak, kW"][0] == "7.35"
    table = [line for line in lines if not line.startswith(("Parquet", "Load", "Judge"))]
    assert max(map(len, table)) <= width


@pytest.mark.parametrize("lucky", [True, False])
def test_the_hyperparameters_of_the_best_mean_are_told_where_another_trial_is_the_best(tmp_path: Path, lucky: bool) -> None:
    for number, score in enumerate((0.1, 0.5 if lucky else 0.3, 0.4)):
        write_trial(tmp_path, number, "complete", score, hp_learning_rate=0.001 * (number + 1))
        write_evaluation(tmp_path, number, 2)
    for number, (of, score) in enumerate([(0, 0.1), (1, 0.2), (2, 0.39), (0, 0.11), (1, 0.22), (2, 0.38)], 3):
        role = "best" if of else "default"
        learned = {"hp_learning_rate": 0.001 * (of + 1), "confirms": of, "confirm_run": (number - 3) // 3, "confirm_role": role}
        write_trial(tmp_path, number, "complete", score, **learned)
    output = shown(tmp_path)
    assert "Best mean: trial 2." in output
    values = [line.removeprefix("  ") for line in output.splitlines() if "learning_rate=" in line]
    if lucky:
        assert values == ["learning_rate=0.002  target_kl=none", "learning_rate=0.003  target_kl=none"]
        assert output.index("Hyperparameters with the best mean, of trial 2:") < output.index(values[1])
    else:
        assert values == ["learning_rate=0.003  target_kl=none"]


def test_failures_are_named_and_nothing_is_compared_where_nothing_is_complete(tmp_path: Path) -> None:
    error = 'Traceback:\n  File "pump.py", line 3, in step\n    valve()\nValueError: [bad] luck\n  of two lines'
    write_trial(tmp_path, 0, "failed", error=error)
    output = shown(tmp_path, trust_scenario=True)
    assert "trial 0 failed: ValueError: [bad] luck" in output
    assert "no trial is complete" in output
    assert f"python -m tuning.run --resume {tmp_path} --retry-failed --trust-scenario" in output
    assert str(tmp_path / FOLDER) in output


def test_trainings_that_confirm_and_failed_are_not_said_to_be_tried_once_more(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "failed", error="ValueError: no luck", confirms=1)
    assert "trial 0 failed: ValueError: no luck" in (output := shown(tmp_path))
    assert "--retry-failed" not in output


def test_what_rows_and_paths_hold_is_shown_as_it_is_and_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "runs[old]"
    write_trial(folder, 0, "failed", error="Traceback\n\x1b[2J[red]forged")
    write_trial(folder, 1, "failed")
    write_trial(folder, 2, "complete", 0.1, hp_target_kl=0.5)
    write_evaluation(folder, 2, 2)
    output = shown(folder)
    assert r"trial 0 failed: \x1b[2J[red]forged" in output
    assert "trial 1 failed: its row has no error" in output
    assert f"Parquet: {folder / FOLDER}" in output
    assert f'load(r"{folder}")' in output
    assert "\x1b" not in output


def test_the_objective_decides_which_trial_is_best_and_is_shown_beside_the_score(tmp_path: Path) -> None:
    aim = Aim.parse(objective="peak_kw", require=("ev_served>=0.9",))
    write_trial(tmp_path, 0, "complete", 0.3, objective=70.0, shortfall=0.1, rating=-1.1e15)
    write_trial(tmp_path, 1, "complete", 0.1, objective=80.0, shortfall=0.0, rating=-80.0)
    write_evaluation(tmp_path, 1, 2, ev_served=0.95, uncontrolled_peak_kw=99.0)
    output = shown(tmp_path, aim)
    assert "Best: trial 1, peak_kw 80.0 kW; the uncontrolled site has 99.0 kW; score +0.1000" in output
    assert "objective: peak_kw (less is better); requirements: ev_served >= 0.9" in output
    assert [cell in output for cell in ("peak_kw", "required", "missed", "met")] == [True] * 4
    assert "no trial meets" not in output


def test_a_best_trial_whose_evaluations_cannot_be_read_is_told_without_its_kpis(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "complete", 0.1, objective=80.0, shortfall=0.0, rating=-80.0)
    output = shown(tmp_path, Aim.parse(objective="peak_kw", require=("peak_kw<=90",)))
    assert "Best: trial 0, peak_kw 80.0 kW; score +0.1000" in output
    assert "KPIs of trial 0 cannot be shown: its evaluations cannot be read" in output
    assert "no trial meets" not in output


def test_where_no_trial_meets_the_requirements_one_line_says_by_what(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "complete", 0.3, shortfall=0.1, rating=-1.1e15)
    write_trial(tmp_path, 1, "complete", 0.1, shortfall=0.05, rating=-1.05e15)
    write_evaluation(tmp_path, 1, 2, ev_served=0.85, uncontrolled_ev_served=0.8)
    (line,) = (line for line in shown(tmp_path, Aim.parse(require=("ev_served>=0.9",))).splitlines() if "no trial" in line)
    assert line == (
        "no trial meets the requirements; trial 1 is nearest and misses ev_served >= 0.9 (it has 0.8500; the uncontrolled site "
        "0.8000)"
    )


def test_the_best_is_compared_with_the_uncontrolled_site_over_all_its_years(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "complete", -0.2)
    write_trial(tmp_path, 1, "complete", 0.1)
    service = {"ev_required_kwh": 50.0, "ev_served": 0.9, "uncontrolled_ev_served": 0.8}
    for year in (2, 3):
        write_evaluation(tmp_path, 1, year, co2_kg=90.0, peak_kw=80.0 + year, **service)
    output = shown(tmp_path)
    assert "Best: trial 1, score +0.1000" in output
    assert "learning_rate=0.001  target_kl=none" in output
    cells = cells_of(output)
    assert cells["CO2, kg"] == ["7,884", "8,760", "-10.0%"]  # two years of 100 h, as one of 8,760 h
    assert cells["peak, kW"] == ["83.0", "100.0", "-17.0%"]
    assert cells["vehicle energy served"] == ["90.0%", "80.0%", "+10.0 points"]
    assert "Vehicles pay for it" not in output


def test_a_change_that_rounds_to_none_has_no_minus(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "complete", 0.1)
    served = {"ev_required_kwh": 50.0, "ev_served": 0.79999, "uncontrolled_ev_served": 0.8}
    write_evaluation(tmp_path, 0, 2, co2_kg=99.999, **served)
    cells = cells_of(shown(tmp_path))
    assert (cells["CO2, kg"][-1], cells["vehicle energy served"][-1]) == ("+0.0%", "+0.0 points")


def test_by_the_schemas_own_reward_no_control_does_not_score_0(tmp_path: Path) -> None:
    write_trial(tmp_path, 1, "complete", -3.0, reward="schema")
    write_evaluation(tmp_path, 1, 2, score=-3.0)
    output = shown(tmp_path)
    assert "Best: trial 1, score -3.0000" in output
    assert "scores 0" not in output


def test_vehicles_that_pay_for_the_savings_are_named_beside_them(tmp_path: Path) -> None:
    write_trial(tmp_path, 1, "complete", 0.1)
    service = {"ev_required_kwh": 50.0, "ev_served": 0.5, "uncontrolled_ev_served": 0.8, "departures": 9, "departures_met": 3}
    write_evaluation(tmp_path, 1, 2, co2_kg=90.0, **service)
    assert "Trial 1: Vehicles pay for it: 3 of 9 left with what they asked for" in shown(tmp_path)


def test_experiments_are_compared_by_their_best_trials(tmp_path: Path) -> None:
    for name, score in (("ppo", 0.1), ("a2c", 0.05)):
        folder = tmp_path / name
        write_trial(folder, 0, "complete", score - 1.0, algorithm=name)
        write_trial(folder, 1, "complete", score, algorithm=name)
        write_evaluation(folder, 1, 2, co2_kg=90.0, bill=80.0, ev_required_kwh=50.0, ev_served=0.9)
    write_trial(tmp_path / "sac", 0, "failed", error="no luck", algorithm="sac")
    cells = cells_of(compared(*(tmp_path / name for name in ("ppo", "a2c", "sac"))))
    assert cells["ppo"] == ["+0.1000", "-10.0%", "-20.0%", "90.0%", "1", "1.7", "ppo"]
    assert cells["a2c"][0] == "+0.0500"
    assert cells["sac"] == ["none", "sac"]


def test_what_costs_nothing_without_control_has_no_change(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "complete", 0.1, algorithm="ppo")
    write_evaluation(tmp_path, 0, 2, co2_kg=0.0, bill=80.0, uncontrolled_co2_kg=0.0)
    output = compared(tmp_path)
    assert "-20.0%" in cells_of(output)["ppo"]
    assert "inf" not in output


@pytest.mark.parametrize("hours", [0.0, 5.0])
def test_an_amount_of_which_a_site_has_nothing_has_no_row(tmp_path: Path, hours: float) -> None:
    write_trial(tmp_path, 0, "complete", 0.1)
    write_evaluation(tmp_path, 0, 2, unmet_degree_hours=0.0, uncontrolled_unmet_degree_hours=hours)
    assert ("unmet comfort" in shown(tmp_path)) == (hours > 0.0)


def test_a_stated_validation_split_is_in_the_title(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "complete", 0.04)
    write_evaluation(tmp_path, 0, 2, hours=100)
    assert "Validation, 100 hours; amounts of a year of 8,760 h" in shown(tmp_path)
    assert "Validation (days 10-19 of [red]), 100 hours" in shown(tmp_path, validation="days 10-19 of [red]")


AIM = Aim.parse(objective="co2 bill")


def write_gains(folder: Path, number: int, gains: tuple[float, float], **more: Any) -> None:
    values = {"objective": 1000.0 * (1 - gains[0]), "objective_2": 500.0 * (1 - gains[1]), "rating": sum(gains) / 2}
    given = {"algorithm": "ppo", "hp_reward_share": 0.25, "gain": gains[0], "gain_2": gains[1], **values, **more}
    write_trial(folder, number, "complete", 0.1, **given)


def front(folder: Path, width: int = 80) -> str:
    return text_of(lambda own: own.print(Fitted(front_table(load(folder), AIM))), width)


def test_the_table_has_the_front_alone_with_both_gains_and_each_member_a_line(tmp_path: Path) -> None:
    write_gains(tmp_path, 0, (0.1, 0.3))
    write_gains(tmp_path, 1, (0.3, 0.1))
    write_gains(tmp_path, 2, (0.0, 0.0))
    lines = front(tmp_path).splitlines()
    assert lines[0].strip() == "Front: 2 of 3 trials; amounts of a year of 8,760 h"
    cells = [line.split() for line in lines if "%" in line]
    assert cells == [
        ["1", "700", "+30.0%", "450", "+10.0%", "+0.1000", "0.25", "1,000"],
        ["0", "900", "+10.0%", "350", "+30.0%", "+0.1000", "0.25", "1,000"],
    ]
    narrow = front(tmp_path, width=60).splitlines()
    assert [line.split()[:2] for line in narrow if "%" in line] == [["1", "700"], ["0", "900"]]
    assert max(map(len, narrow)) <= 60


def test_of_many_members_those_farthest_apart_are_shown(tmp_path: Path) -> None:
    for number in range(MOST_OF_FRONT + 5):
        write_gains(tmp_path, number, (number / 100, 0.2 - number / 100))
    found = front(tmp_path)
    assert f"{MOST_OF_FRONT + 5} of {MOST_OF_FRONT + 5} trials, {MOST_OF_FRONT} of them shown" in " ".join(found.split())
    assert found.count("+0.1000") == MOST_OF_FRONT
    assert "+14.0%" in found


def test_the_end_of_a_search_names_the_balanced_member_and_both_objectives(tmp_path: Path) -> None:
    write_gains(tmp_path, 0, (0.1, 0.3))
    write_gains(tmp_path, 1, (0.3, 0.2))
    for number in range(2):
        write_evaluation(tmp_path, number, 2, hours=8760)
    told = "Best of both by mean gain: trial 1, co2_kg 700 kg; the uncontrolled site has 100 kg; bill 400"
    found = shown(tmp_path, AIM, width=300)
    assert told in found
    assert f"tuning.judge {tmp_path} --objective co2_kg" in found, "two objectives are refused"
    assert "CO2, kg" in compared(tmp_path, aim=AIM)


def confirm(folder: Path, first: int, of: int, scores: Sequence[float], role: str = "", state: str = "complete") -> None:
    """Trainings of a trial again, those of trial 0 are the default's."""
    for run, score in enumerate(scores):
        columns = {"confirms": of, "confirm_run": run, "confirm_role": role or ("best" if of > 0 else "default")}
        write_trial(folder, first + run, state, score, shortfall=0.5 if Aim.is_missed(score) else None, **columns)


def lines(folder: Path, again: dict[int, list[float]]) -> list[str]:
    """What is said of trials that were trained again, by their numbers."""
    write_trial(folder, 0, "complete", 0.9)
    for place, (of, scores) in enumerate(again.items(), 1):
        confirm(folder, 10 * place, of, scores)
    return confirmation_lines(load(folder), SCORE_ALONE)


pytestmark = pytest.mark.filterwarnings("ignore:.*lack")
MISSED = Aim.parse(require=("ev_served>=0.9",)).rating(Outcome(0.9, None, 0.5))
DEFAULT, BETTER, LUCKY = [0.10, 0.11, 0.12], [0.20, 0.21, 0.221], [0.10, 0.25, 0.12]


@pytest.mark.parametrize(
    ("again", "told"),
    [
        (
            {0: DEFAULT, 3: BETTER},
            {
                1: "  the default (trial 0): +0.1100 (+0.0852 to +0.1348), 3 seeds",
                3: "  trial 3 against the default: +0.1003 (+0.0989 to +0.1018)",
                -1: "Better than the default: trial 3.",
            },
        ),
        (
            {0: DEFAULT, 3: LUCKY},
            {
                3: "  trial 3 against the default: +0.0467 (-0.1541 to +0.2475)",
                -2: "Best mean: trial 3.", -1: "No trial is shown to be better than the default.",
            },
        ),
        ({0: [0.2, 0.21], 3: [0.10, 0.11]}, {-2: "Best mean: the default (trial 0)."}),
        # One seed says nothing, and without the default a mean stands alone.
        ({0: [0.1], 3: [0.2]}, {}),
        ({3: [0.2, 0.21]}, {1: "  trial 3: +0.205", -1: "  trial 3: +0.205"}),
        (
            {0: DEFAULT, 3: [0.20, MISSED, 0.221], 4: [0.30, 0.31, 0.321]},
            {
                2: "  trial 3: 1 miss a requirement, 3 seeds", 4: "  trial 4 against the default: +0.200",
                5: "Best mean: trial 4.", 6: "Better than the default: trial 4.",
            },
        ),
        (
            {0: [0.10, MISSED], 3: [0.20, 0.21]},
            {
                1: "  the default (trial 0): 1 miss a requirement, 2 seeds",
                -1: "The default misses a requirement, so no trial is compared with it.",
            },
        ),
    ],
)  # fmt: skip
def test_what_was_trained_again_is_told_with_its_verdict(
    tmp_path: Path, again: dict[int, list[float]], told: dict[int, str]
) -> None:
    found = lines(tmp_path, again)
    assert bool(found) == bool(told)
    for place, begin in told.items():
        assert found[place].startswith(begin)


def test_a_default_that_was_never_tried_has_no_number_and_what_did_not_end_does_not_count(tmp_path: Path) -> None:
    confirm(tmp_path, 0, -1, [0.1, 0.1])
    confirm(tmp_path, 2, -1, [0.1], state="frozen")
    confirm(tmp_path, 3, 3, [0.1, 0.1])
    found = confirmation_lines(load(tmp_path), SCORE_ALONE)
    assert found[1].startswith("  the default: +0.100")
    assert found[1].endswith(", 2 seeds")


@pytest.mark.parametrize(
    ("failed", "again", "name", "verdict"),
    [
        (3, {0: [0.10, 0.11], 3: [0.20]}, "trial 3", "No trial is shown to be better than the default."),
        (
            0, {0: [0.10], 3: [0.20, 0.21]}, "the default (trial 0)",
            "Trainings of the default did not reach the end, so no trial is compared with it.",
        ),
    ],
)  # fmt: skip
def test_one_whose_second_training_did_not_reach_the_end_is_told_and_was_paid_for(
    tmp_path: Path, failed: int, again: dict[int, list[float]], name: str, verdict: str
) -> None:
    confirm(tmp_path, 50, failed, [math.nan], state="failed")
    found = lines(tmp_path, again)
    assert f"  {name}: no mean, 1 seed, and 1 that did not reach the end" in found
    assert found[-1] == verdict
    assert unpaid_lines(Settings(budget="20m"), load(tmp_path)) == []


def test_candidates_count_in_no_mean_and_are_told(tmp_path: Path) -> None:
    for number in (3, 4, 5):
        confirm(tmp_path, 50 + number, number, [9.0], "candidate")
    found = lines(tmp_path, {0: DEFAULT, 3: BETTER})
    assert found[0] == "The best 3 trials were each trained once more; the mean of both ratings chose from them."
    assert found[3].startswith("  trial 3: +0.210")
    assert found[-1] == "Better than the default: trial 3."
    assert not any("trial 4" in line or "trial 5" in line for line in found)


ONCE = (
    "The best was trained once, so its lead may be luck: with about --budget {} in all the best and the default would be "
    "trained again for {:,} steps, with 2 fresh seeds or more"
)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "5M"),  # four whole trials
        ({"budget": "20M", "steps": 100_000}, ""),
        # It is spent, and nothing was trained again: 100,000 steps took 20 minutes, and 4 trainings are to be a fifth.
        ({"budget": "20m"}, "1000m"),
        ({"budget": "1.9M", "steps": 100_000, "scheduler": "asha"}, "2M"),
        ({"budget": "10k", "steps": 1_000}, "20k"),
        ({"trials": 2, "steps": 50_000, "budget": "100k"}, "1M"),  # less keeps no part for it, whatever its trials leave
        ({"scheduler": "asha"}, ""),  # it has no budget of which a part could be kept
        ({"confirm": 0.0}, ""),
        ({"preset": "default"}, ""),
    ],
)
def test_where_the_budget_pays_for_no_training_again_a_line_says_so(
    tmp_path: Path, given: dict[str, object], told: str
) -> None:
    for number in range(2):
        write_trial(tmp_path, number, "complete", 0.1, steps=50_000)
    settings = Settings(**given)  # type: ignore[arg-type]
    assert unpaid_lines(settings, load(tmp_path)) == ([ONCE.format(told, settings.steps)] if told else [])


def test_where_one_trial_alone_is_rated_no_lead_is_doubted(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "complete", 0.1)
    assert unpaid_lines(Settings(trials=1), load(tmp_path)) == []


def test_one_training_again_says_no_more_than_none(tmp_path: Path) -> None:
    lines(tmp_path, {0: [0.1], 3: [0.2]})
    write_trial(tmp_path, 3, "complete", 0.5)
    assert unpaid_lines(Settings(budget="20m"), load(tmp_path)) == [ONCE.format("25000m", 250_000)]


def test_what_was_trained_again_is_better_in_one_objective_in_both_or_in_none(tmp_path: Path) -> None:
    again = {
        0: [(0.10, 0.10), (0.11, 0.11), (0.12, 0.12)], 3: [(0.20, 0.20), (0.21, 0.21), (0.221, 0.22)],
        4: [(0.20, 0.05), (0.21, 0.061), (0.22, 0.07)], 5: [(0.10, 0.10), (0.09, 0.13), (0.15, 0.10)],
    }  # fmt: skip
    for of, gains in again.items():
        for run, pair in enumerate(gains):
            role = "best" if of else "default"
            write_gains(tmp_path, 10 + 10 * of + run, pair, confirms=of, confirm_run=run, confirm_role=role)
    lines = confirmation_lines(load(tmp_path), AIM)
    assert lines[1].startswith("  the default (trial 0): co2_kg +11.00% (+8.52% to +13.48%); bill +11.00%")
    # Three contenders in two objectives: all six intervals together hold with 95 %.
    pairs = np.array([0.20, 0.21, 0.221]), np.array([0.10, 0.11, 0.12])
    gain = paired_mean(*pairs, 1.0 - 0.05 / 6)
    assert lines[5].startswith(
        f"  trial 3 against the default, difference of gains: co2_kg +10.03% ({gain.low:+.2%} to {gain.high:+.2%}); bill"
    )
    assert lines[-1] == "Better than the default: trial 3 in co2_kg and bill; trial 4 in co2_kg."


def test_episodes_have_means_with_intervals_and_large_returns_their_unit() -> None:
    rows = pd.DataFrame({"score": [-4e5, -6e5], "length": [7, 9], "info:return": [1.0, 3.0]})
    measures = {name: Measure(name, label=label) for name, label in (("length", "steps"), ("info:return", "return"))}
    table = summary._of_episodes(rows, measures)
    cells = [list(column.cells) for column in table.columns]
    assert cells[0] == ["return, thousand", "steps", "return"]
    assert cells[1] == ["-500", "8.00", "2.00"]
    assert cells[3] == ["-600", "7.00", "1.00"]
    # Student's interval of two numbers at a distance of 2: 2 -+ 12.7.
    assert cells[2][2] == "-10.71 to 14.71"


@pytest.mark.parametrize(
    ("aim", "headings"),
    [("bill", ["score", "bill", "of bound", "served"]), ("ev_served", ["score", "ev_served", "of bound"])],
)
def test_what_is_aimed_at_stands_once_beside_the_scores_of_controllers(aim: str, headings: list[str]) -> None:
    rows = {"name": ["a"], "score": [-1e-8], "of_bound": [-1e-7], "served": [0.9], "discomfort": [np.nan], aim: [0.9]}
    table = _yardsticks(pd.DataFrame(rows), [measures()[aim]])
    assert [str(column.header) for column in table.columns] == ["", *headings]
    assert "0%" in table.columns[headings.index("of bound") + 1].cells


def test_checkpoints_are_told_where_there_are_some() -> None:
    assert checkpoint_lines([2**20, 0], "best:10") == ["Checkpoints: 1.0 MiB of 1 trial (--keep-checkpoints best:10)"]
    assert "of 2 trials" in checkpoint_lines([2**20, 2**20], "all")[0]
    assert checkpoint_lines([0], "all") == []
