"""On a card: what is predicted is what is taken, several trials share it, and running out of it is survived."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch

from common.units import GIB
from envs.task import Task
from search_spaces import Assignment
from tests.search_spaces.draws import suggested
from tuning.algorithms.registry import algorithm, names
from tuning.experiment.settings import Settings
from tuning.memory.allocation import Budget, grant
from tuning.memory.gpus import cards
from tuning.memory.planner import Calibration, Planner
from tuning.memory.prediction import sizes_of
from tuning.runtime.ray_session import ENVIRONMENT

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no card")]

CONFIGURATIONS, STEPS, CAP = 30, 8192, 8 * GIB


def planner(algo: Any, folder: Path, site: str = "iquitos-38", card_bytes: int = CAP) -> Planner:
    settings = Settings(algo=algo, scenario=site, backend="batch", steps=STEPS)
    budget = Budget(1, card_bytes, 64 * GIB, 8)
    return Planner(settings, sizes_of(Task(site)), budget, cards()[0].name, Calibration(folder / "c"))


def start(algo: str, h: Assignment, limit: int, site: str = "iquitos-38") -> subprocess.Popen[str]:
    """One real trial in a process of its own, held to a number of bytes."""
    settings = {"algo": algo, "scenario": site, "backend": "batch", "steps": STEPS}
    given = {"settings": settings, "hyperparameters": h, "vram_limit": limit}
    return subprocess.Popen(
        [sys.executable, "-m", "tuning.diagnosis.examination", json.dumps(given)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT},
    )  # fmt: skip


def row_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    row: dict[str, Any] = json.loads(output.strip().rpartition("\n")[2])
    return row


def test_peaks_are_predicted_over_random_configurations(tmp_path: Path) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    ratios = []
    for i in range(CONFIGURATIONS):
        algo = names()[i % len(names())]
        plan = planner(algo, tmp_path)
        h = suggested(algorithm(algo).space, study, {}, {"steps": float(STEPS)})
        row = row_of(start(algo, h, CAP))
        predicted = plan.prediction(h).vram
        plan.calibration.add(plan.device, algo, "vram", plan.prediction(h).uncorrected("vram"), row["peak_process_vram_bytes"])
        ratios.append(predicted / row["peak_process_vram_bytes"])
        print(f"{algo} {h['hidden_sizes']}: {row['peak_process_vram_bytes']:,} B, {ratios[-1]:.3f} of it predicted")
    # The first of each algorithm teach what this card's context takes.
    assert all(0.9 < ratio < 1.1 for ratio in ratios[3 * 5 :])


def test_four_trials_share_eight_gibibytes(tmp_path: Path) -> None:
    plan = planner("ppo", tmp_path)
    h = algorithm("ppo").space.complete({}, {"steps": float(STEPS)})
    granted = grant(plan.prediction(h), plan.budget)
    assert 4 * granted.gpu_share <= 1.0
    rows = [row_of(process) for process in [start("ppo", h, granted.vram_bytes) for _ in range(4)]]
    assert sum(row["peak_process_vram_bytes"] for row in rows) <= CAP
    assert all(row["peak_process_vram_bytes"] <= granted.vram_bytes for row in rows)


def test_a_process_cannot_take_more_than_it_was_granted_and_says_so() -> None:
    h = algorithm("ppo").space.complete(
        {"n_steps": 2048, "batch_size": 2048, "hidden_sizes": "4096,4096"}, {"steps": float(STEPS)}
    )
    process = start("ppo", h, 700 * 2**20)
    _, errors = process.communicate(timeout=600)
    assert process.returncode != 0
    assert "OutOfMemoryError" in errors
