"""What the terminal shows of a search with two objectives."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from envs.objective.aim import Aim
from results import load
from results.table_files import write_rows
from tests.tuning.cli.test_summary import KINDS, write_evaluation
from tuning.cli.front import MOST_SHOWN, front_confirmation_lines, front_table
from tuning.cli.summary import print_comparison, print_summary
from tuning.cli.tables import Fitted

AIM = Aim.parse(objective="co2 bill")
OF_TWO: dict[str, type] = {**KINDS, "reward_share": float}
pytestmark = pytest.mark.filterwarnings("ignore:.*lack")


def write(folder: Path, number: int, gains: tuple[float, float], **more: Any) -> None:
    row = {
        "trial": number, "state": "complete", "score": 0.1, "steps": 1000, "seconds": 100.0, "evaluation_seconds": 1.0,
        "hp_learning_rate": 1e-3, "hp_target_kl": None, "hp_reward_share": 0.25, "algorithm": "ppo",
        "objective": 1000.0 * (1 - gains[0]), "objective_2": 500.0 * (1 - gains[1]),
        "gain": gains[0], "gain_2": gains[1], "rating": sum(gains) / 2, **more,
    }  # fmt: skip
    write_rows(folder, "trials", number, [row], OF_TWO)


def table(folder: Path, width: int = 80) -> str:
    output = io.StringIO()
    Console(file=output, width=width).print(Fitted(front_table(load(folder), AIM)))
    return output.getvalue()


def test_the_table_has_the_front_alone_with_both_gains_and_fits_80_columns(tmp_path: Path) -> None:
    write(tmp_path, 0, (0.1, 0.3))
    write(tmp_path, 1, (0.3, 0.1))
    write(tmp_path, 2, (0.0, 0.0))
    lines = table(tmp_path).splitlines()
    assert lines[0].strip() == "Front: 2 of 3 trials; amounts of a year of 8,760 h"
    cells = [line.split() for line in lines if "%" in line]
    assert cells == [
        ["1", "700", "+30.0%", "450", "+10.0%", "+0.1000", "0.25", "1,000"],
        ["0", "900", "+10.0%", "350", "+30.0%", "+0.1000", "0.25", "1,000"],
    ]


def test_on_60_columns_the_table_has_no_frame_and_each_member_a_line(tmp_path: Path) -> None:
    write(tmp_path, 0, (0.1, 0.3))
    write(tmp_path, 1, (0.3, 0.1))
    lines = table(tmp_path, width=60).splitlines()
    assert [line.split()[:2] for line in lines if "%" in line] == [["1", "700"], ["0", "900"]]
    assert max(map(len, lines)) <= 60


def test_of_many_members_those_farthest_apart_are_shown(tmp_path: Path) -> None:
    for number in range(MOST_SHOWN + 5):
        write(tmp_path, number, (number / 100, 0.2 - number / 100))
    found = table(tmp_path)
    assert f"{MOST_SHOWN + 5} of {MOST_SHOWN + 5} trials, {MOST_SHOWN} of them shown" in " ".join(found.split())
    assert found.count("+0.1000") == MOST_SHOWN
    assert "+14.0%" in found


def test_the_end_of_a_search_names_the_balanced_member_and_both_objectives(tmp_path: Path) -> None:
    write(tmp_path, 0, (0.1, 0.3))
    write(tmp_path, 1, (0.3, 0.2))
    for number in range(2):
        write_evaluation(tmp_path, number, 2, hours=8760)
    output = io.StringIO()
    console = Console(file=output, width=300)
    print_summary(load(tmp_path), console, AIM)
    assert "Best of both by mean gain: trial 1, co2_kg 700 kg; the uncontrolled site has 100 kg; bill 400" in output.getvalue()
    print_comparison([load(tmp_path)], console, AIM)
    assert "co2, kg" in output.getvalue().partition("Best trial of each algorithm")[2]


def confirm(folder: Path, of: int, role: str, gains: list[tuple[float, float]], first: int, **more: Any) -> None:
    for run, pair in enumerate(gains):
        write(folder, first + run, pair, confirms=of, confirm_run=run, confirm_role=role, **more)


def test_what_was_trained_again_is_better_in_one_objective_in_both_or_in_none(tmp_path: Path) -> None:
    confirm(tmp_path, 0, "default", [(0.10, 0.10), (0.11, 0.11), (0.12, 0.12)], 10)
    confirm(tmp_path, 3, "best", [(0.20, 0.20), (0.21, 0.21), (0.221, 0.22)], 20)
    confirm(tmp_path, 4, "best", [(0.20, 0.05), (0.21, 0.061), (0.22, 0.07)], 30)
    confirm(tmp_path, 5, "best", [(0.10, 0.10), (0.09, 0.13), (0.15, 0.10)], 40)
    lines = front_confirmation_lines(load(tmp_path), AIM)
    assert lines[1].startswith("  the default (trial 0): co2_kg +11.00% (+8.52% to +13.48%); bill +11.00%")
    assert lines[-1] == "Better than the default: trial 3 in co2_kg and bill; trial 4 in co2_kg."


def test_more_that_is_compared_makes_wider_intervals(tmp_path: Path) -> None:
    for name, others in (("one", (3,)), ("two", (3, 4))):
        confirm(tmp_path / name, 0, "default", [(0.10, 0.10), (0.11, 0.11), (0.12, 0.12)], 10)
        for other in others:
            confirm(tmp_path / name, other, "best", [(0.11, 0.10), (0.13, 0.11), (0.14, 0.13)], 10 * other)
    own = [front_confirmation_lines(load(tmp_path / name), AIM)[number] for name, number in (("one", 3), ("two", 4))]
    assert own[0].partition(" (")[0] == own[1].partition(" (")[0]
    assert own[0] != own[1]


def test_what_misses_a_requirement_is_not_better(tmp_path: Path) -> None:
    confirm(tmp_path, 0, "default", [(0.10, 0.10), (0.11, 0.11)], 10)
    confirm(tmp_path, 3, "best", [(0.20, 0.20), (0.21, 0.21)], 20, shortfall=0.1)
    lines = front_confirmation_lines(load(tmp_path), AIM)
    assert lines[2] == "  trial 3: 2 miss a requirement, 2 seeds"
    assert not any("Better" in line for line in lines)


def test_one_seed_says_nothing(tmp_path: Path) -> None:
    confirm(tmp_path, 3, "best", [(0.2, 0.2)], 20)
    assert front_confirmation_lines(load(tmp_path), AIM) == []
