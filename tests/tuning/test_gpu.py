"""On a card: what is predicted is what is taken, several trials share it, and running out of it is survived."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch

from common.units import GIB, MIB
from envs.task import SiteTask
from results import load
from search_spaces import Assignment
from tests.search_spaces.draws import suggested
from tuning.algorithms.registry import algorithm, names
from tuning.experiment.settings import Settings
from tuning.memory.allocation import Budget, grant
from tuning.memory.baseline import measured_apart
from tuning.memory.gpus import cards
from tuning.memory.planner import Calibration, Planner
from tuning.memory.prediction import ASSUMED, sizes_of
from tuning.runtime.ray_session import ENVIRONMENT

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no card")]

CONFIGURATIONS, STEPS, CAP = 30, 8192, 8 * GIB


def planner(algo: Any, folder: Path, site: str = "iquitos-38", card_bytes: int = CAP) -> Planner:
    settings = Settings(algo=algo, scenario=site, backend="batch", steps=STEPS)
    budget = Budget(1, card_bytes, 64 * GIB, 8, measured_apart() or ASSUMED)
    return Planner(settings, sizes_of(SiteTask(site)), budget, cards()[0].name, Calibration(folder / "c"))


def start(algo: str, h: Assignment, vram: tuple[int, int], site: str = "iquitos-38") -> subprocess.Popen[str]:
    """One real trial in a process of its own, held to a number of bytes, of which CUDA's context takes some."""
    settings = {"algo": algo, "scenario": site, "backend": "batch", "steps": STEPS}
    given = {"settings": settings, "hyperparameters": h, "vram": vram}
    return subprocess.Popen(
        [sys.executable, "-m", "tuning.diagnosis.examination", json.dumps(given)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT},
    )  # fmt: skip


def row_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    row: dict[str, Any] = json.loads(output.strip().rpartition("\n")[2])
    return row


def at_once() -> int:
    """Processes that fit on this machine's card and cores."""
    return max(1, min(cards()[0].total_bytes // CAP, (os.cpu_count() or 1) // 2))


def test_peaks_are_predicted_over_random_configurations(tmp_path: Path) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    algos = [names()[i % len(names())] for i in range(CONFIGURATIONS)]
    drawn = [suggested(algorithm(algo).space, study, {}, {"steps": float(STEPS)}) for algo in algos]
    context = planner("ppo", tmp_path).budget.baseline.context
    with ThreadPoolExecutor(at_once()) as pool:
        rows = list(pool.map(lambda algo, h: row_of(start(algo, h, (CAP, context))), algos, drawn))
    ratios: dict[str, list[float]] = {"vram": [], "ram": []}
    for algo, h, row in zip(algos, drawn, rows, strict=True):
        plan = planner(algo, tmp_path)
        prediction = plan.prediction(h)
        for place, measured in (("vram", row["peak_process_vram_bytes"]), ("ram", row["peak_rss_bytes"])):
            predicted = prediction.vram if place == "vram" else prediction.uncorrected("ram")
            ratios[place].append(predicted / measured)
            plan.calibration.add(plan.device, algo, place, prediction.uncorrected(place), measured)
            print(f"{algo} {h['hidden_sizes']} {place}: {measured:,} B, {ratios[place][-1]:.3f} of it predicted")
    assert all(0.85 < ratio < 1.15 for ratio in ratios["vram"])
    # The first of each algorithm teach by how much the step that was measured differs from trials.
    assert all(0.9 < ratio < 1.1 for ratio in ratios["vram"][3 * 5 :])
    # The first processes compile what steps the site.
    assert all(0.8 < ratio < 1.15 for ratio in ratios["ram"][2 * at_once() :])


def test_four_trials_share_eight_gibibytes(tmp_path: Path) -> None:
    plan = planner("ppo", tmp_path)
    h = algorithm("ppo").space.complete({}, {"steps": float(STEPS)})
    granted = grant(plan.prediction(h), plan.budget)
    assert 4 * granted.gpu_share <= 1.0
    rows = [row_of(process) for process in [start("ppo", h, (granted.vram_bytes, granted.context_bytes)) for _ in range(4)]]
    assert sum(row["peak_process_vram_bytes"] for row in rows) <= CAP
    assert all(row["peak_process_vram_bytes"] <= granted.vram_bytes for row in rows)


def test_a_process_cannot_take_more_than_it_was_granted_and_says_so(tmp_path: Path) -> None:
    h = algorithm("ppo").space.complete(
        {"n_steps": 2048, "batch_size": 2048, "hidden_sizes": "4096,4096"}, {"steps": float(STEPS)}
    )
    context = planner("ppo", tmp_path).budget.baseline.context
    process = start("ppo", h, (context + 250 * MIB, context))
    _, errors = process.communicate(timeout=600)
    assert process.returncode != 0
    assert "OutOfMemoryError" in errors


def test_a_search_learns_on_the_card_within_what_it_granted(small_schema: Path, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "tuning.run", "--algo", "ppo", "--scenario", str(small_schema), "--dir", str(tmp_path), "--name",
        "card", "--steps", "4096", "--trials", "6", "--scheduler", "none", "--validation-weeks", "1", "--gpu-memory", "8",
        "--set", "plan=none", "n_steps=512",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = load(tmp_path / "card")
    trials = results.trials
    assert trials["state"].tolist() == ["complete"] * 6
    assert set(trials["device"]) == {"cuda"}
    assert (trials["gpu_share"] < 1.0).all()
    assert (trials["peak_process_vram_bytes"] <= trials["granted_vram_bytes"]).all()
    # Updates are shorter than the monitor's interval, so some have no sample of the card.
    assert results.reports["gpu_memory_bytes"].notna().any()
