"""What the terminal shows at the end, from results alone."""

import io
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from envs.objective.aim import SCORE_ALONE, Aim
from envs.objective.columns import evaluation_columns
from results import load
from results.schema import FOLDER, schema
from results.table_files import add_rows, write_rows
from tuning.cli.summary import MOST_OF_FRONT, front_table, print_comparison, print_summary
from tuning.cli.tables import Fitted

KINDS = {"learning_rate": float, "target_kl": float}


def shown(folder: Path, aim: Aim = SCORE_ALONE, validation: str = "") -> str:
    output = io.StringIO()
    print_summary(load(folder), Console(file=output, width=140), aim, validation)
    return output.getvalue()


def write_trial(folder: Path, number: int, state: str, score: float | None = None, **columns: Any) -> None:
    row = {
        "trial": number, "state": state, "score": score, "steps": 1000, "seconds": 100.0, "environment_seconds": 50.0,
        "learner_seconds": 10.0, "evaluation_seconds": 20.0, "hp_learning_rate": 1e-3, "hp_target_kl": None, **columns,
    }  # fmt: skip
    write_rows(folder, "trials", number, [row], KINDS)


def write_evaluation(folder: Path, number: int, year: int, **columns: float) -> None:
    names = [field.name for field in schema("evaluations", measures=evaluation_columns()) if not pa.types.is_string(field.type)]
    row: dict[str, Any] = {**dict.fromkeys(names, 100), "trial": number, "steps": 1000, "year": year, **columns}
    add_rows(folder, "evaluations", number, [row], measures=evaluation_columns())


def cells_of(text: str) -> dict[str, list[str]]:
    """Cells of a table by their first one; columns are at least two blanks apart."""
    rows = (re.split(r" {2,}", line.strip()) for line in text.splitlines())
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_tables_fit_with_columns_that_line_up_and_units_of_the_sites_size(tmp_path: Path, width: int) -> None:
    write_trial(tmp_path, 0, "complete", 0.1)
    write_trial(tmp_path, 11, "complete", 0.05, steps=1_251_061)
    imports = {"import_kwh": 1_482_847.0, "uncontrolled_import_kwh": 1_583_718.0}
    write_evaluation(tmp_path, 0, 2, hours=8760, co2_kg=670_395.0, uncontrolled_co2_kg=715_999.0, peak_kw=7.351, **imports)
    output = io.StringIO()
    print_summary(load(tmp_path), Console(file=output, width=width))
    lines = output.getvalue().splitlines()
    (head,) = (line for line in lines if line.split()[:2] == ["trial", "score"])
    steps = ("1,000 ", "1,251,061 ")
    ends = [line.index(own) + len(own) - 1 for own in steps for line in lines if own in line]
    assert set(ends) == {head.index("steps") + 5}
    cells = cells_of(output.getvalue())
    assert cells["import, MWh"][:2] == ["1,483", "1,584"]
    assert cells["CO2, t"][0] == "670"
    assert cells["peak, kW"][0] == "7.35"
    table = [line for line in lines if "Parquet" not in line and "Load" not in line]
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
    values = [line.strip() for line in output.splitlines() if "learning_rate=" in line]
    if lucky:
        assert values == ["learning_rate=0.002  target_kl=none", "learning_rate=0.003  target_kl=none"]
        assert output.index("Hyperparameters with the best mean, of trial 2:") < output.index(values[1])
    else:
        assert values == ["learning_rate=0.003  target_kl=none"]


def test_failures_are_named_and_nothing_is_compared_where_nothing_is_complete(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "failed", error="Traceback\nValueError: [bad] luck")
    output = shown(tmp_path)
    assert "trial 0 failed: ValueError: [bad] luck" in output
    assert "no trial is complete" in output
    assert str(tmp_path / FOLDER) in output


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
    assert cells["vehicle energy served"] == ["90.0%", "80.0%", "+10.0 pp"]


def test_experiments_are_compared_by_their_best_trials(tmp_path: Path) -> None:
    for name, score in (("ppo", 0.1), ("a2c", 0.05)):
        folder = tmp_path / name
        write_trial(folder, 0, "complete", score - 1.0, algorithm=name)
        write_trial(folder, 1, "complete", score, algorithm=name)
        write_evaluation(folder, 1, 2, co2_kg=90.0, bill=80.0, ev_required_kwh=50.0, ev_served=0.9)
    write_trial(tmp_path / "sac", 0, "failed", error="no luck", algorithm="sac")
    output = io.StringIO()
    print_comparison([load(tmp_path / name) for name in ("ppo", "a2c", "sac")], Console(file=output, width=140))
    cells = cells_of(output.getvalue())
    assert cells["ppo"] == ["+0.1000", "-10.0%", "-20.0%", "90.0%", "1", "1.7", "ppo"]
    assert cells["a2c"][0] == "+0.0500"
    assert cells["sac"] == ["none", "sac"]


def test_a_stated_validation_split_is_in_the_title(tmp_path: Path) -> None:
    write_trial(tmp_path, 0, "complete", 0.04)
    write_evaluation(tmp_path, 0, 2, hours=100)
    assert "Validation, 100 hours; amounts of a year of 8,760 h" in shown(tmp_path)
    assert "Validation (days 10-19 of [red]), 100 hours" in shown(tmp_path, validation="days 10-19 of [red]")


AIM = Aim.parse(objective="co2 bill")
OF_TWO: dict[str, type] = {**KINDS, "reward_share": float}


def write_gains(folder: Path, number: int, gains: tuple[float, float], **more: Any) -> None:
    row = {
        "trial": number, "state": "complete", "score": 0.1, "steps": 1000, "seconds": 100.0, "evaluation_seconds": 1.0,
        "hp_learning_rate": 1e-3, "hp_target_kl": None, "hp_reward_share": 0.25, "algorithm": "ppo",
        "objective": 1000.0 * (1 - gains[0]), "objective_2": 500.0 * (1 - gains[1]),
        "gain": gains[0], "gain_2": gains[1], "rating": sum(gains) / 2, **more,
    }  # fmt: skip
    write_rows(folder, "trials", number, [row], OF_TWO)


def front(folder: Path, width: int = 80) -> str:
    output = io.StringIO()
    Console(file=output, width=width).print(Fitted(front_table(load(folder), AIM)))
    return output.getvalue()


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
    output = io.StringIO()
    console = Console(file=output, width=300)
    print_summary(load(tmp_path), console, AIM)
    assert "Best of both by mean gain: trial 1, co2_kg 700 kg; the uncontrolled site has 100 kg; bill 400" in output.getvalue()
    print_comparison([load(tmp_path)], console, AIM)
    assert "co2, kg" in output.getvalue().partition("Best trial of each algorithm")[2]
