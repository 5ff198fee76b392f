"""Host memory as it is predicted, against what processes really took."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest

from common.units import GIB, MIB
from envs.environments.year_cache import is_prepared, prepare_year
from envs.scenarios.scenario import scenario
from envs.task import SiteTask
from tests.districts import write_district
from tests.search_spaces.draws import suggested
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings
from tuning.memory.allocation import Budget
from tuning.memory.planner import CPU, Calibration, Planner
from tuning.memory.prediction import PROCESS_BYTES, sizes_of
from tuning.runtime.ray_session import ENVIRONMENT

STEPS, CONFIGURATIONS, TOLERANCE = 40_000, 21, 0.1
SITES = ("iquitos", "iquitos-38")
# Below this, growth is the allocator's noise.
LEAST_BYTES = 60 * MIB


def measure(settings: dict[str, Any], h: dict[str, Any], small_schema: Path) -> dict[str, int]:
    """What `ram_growth.py` prints of a trial, bytes, from a process of its own."""
    # Processes that make years take what CityLearn takes.
    for site in map(scenario, (settings["scenario"], str(small_schema))):
        for year in {*site.years("train"), *site.years("validation")}:
            if not is_prepared(site, year):
                prepare_year(site, year)
    given = {"settings": settings, "hyperparameters": h, "small": str(small_schema)}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "memory" / "ram_growth.py"), json.dumps(given)],
        capture_output=True, text=True, check=False, env={**os.environ, **ENVIRONMENT},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    measured: dict[str, int] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return measured


@pytest.mark.slow
def test_growth_is_predicted_over_random_configurations(small_schema: Path, tmp_path: Path) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
    lines = []
    for i in range(CONFIGURATIONS):
        algo = ("ppo", "sac", "a2c")[i % 3]
        site = SITES[i % 2]
        settings = Settings(algo=algo, scenario=site, backend="batch", steps=STEPS, num_envs=(16, 32, 64)[i % 3], evaluations=2)  # type: ignore[arg-type]
        # Few gradient steps, for the time that they take; the following test is of many.
        brief = {"sac": {"gradient_steps": 1, "train_freq": 128}, "ppo": {"n_epochs": 1}}.get(algo, {})
        h = suggested(algorithm(algo).space, study, brief, {"steps": float(STEPS)})
        own = {"algo": algo, "scenario": site, "steps": STEPS, "num_envs": settings.num_envs, "dir": str(tmp_path / str(i))}
        measured = measure(own, h, small_schema)
        none = Calibration(tmp_path / "none")
        planner = Planner(settings, sizes_of(SiteTask(site)), Budget(0, 0, GIB, 1), CPU, none)
        ram, grew = planner.prediction(h).ram, measured["growth"]
        lines.append((algo, site, (ram - PROCESS_BYTES) / grew, ram / (measured["before"] + grew), grew))
        print("{} {}: predicted {:.3f} of the growth, {:.3f} of all; {:,} B".format(*lines[-1]))
    assert all(grew > LEAST_BYTES for *_, grew in lines)
    off = [(algo, site, ratio) for algo, site, _, ratio, _ in lines if abs(ratio - 1.0) > TOLERANCE]
    assert not off


@pytest.mark.slow
def test_many_gradient_steps_take_no_more_than_is_predicted_but_for_noise(small_schema: Path, tmp_path: Path) -> None:
    # 288 minibatches in an update. If the learner keeps a few bytes of each, the process grows by 870 MB instead of 77 MB.
    home = {"battery": (10.0, 5.0), "pv": 5.0, "chargers": []}
    site = write_district(small_schema, tmp_path / "nine", {f"home_{i}": {"load": 0.1 * i, **home} for i in range(1, 10)})
    assignment = {"shared_policy": True, "n_steps": 16384, "batch_size": 512, "n_epochs": 9, "hidden_sizes": "256,256"}
    h = algorithm("ppo").space.complete(assignment, {"steps": 66_000.0})
    own = {"algo": "ppo", "scenario": str(site), "steps": 66_000, "num_envs": 32, "dir": str(tmp_path)}
    grew = measure(own, h, small_schema)["growth"]
    settings, sizes = Settings(**own, backend="batch"), sizes_of(SiteTask(str(site)))  # type: ignore[arg-type]
    planner = Planner(settings, sizes, Budget(0, 0, GIB, 1), CPU, Calibration(tmp_path / "none"))
    predicted = planner.prediction(h).ram - PROCESS_BYTES
    print(f"{grew:,} B of {predicted:,} B predicted")
    assert grew < predicted + LEAST_BYTES
