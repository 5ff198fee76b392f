"""A step is one real update in a process of its own, which prints what it took as JSON."""

import json
import subprocess
import sys
from pathlib import Path

from tuning.algorithms.registry import algorithm


def test_it_trains_and_prints_the_measured_row(small_schema: Path) -> None:
    settings = {
        "algo": "a2c", "scenario": str(small_schema), "backend": "batch", "steps": 256, "num_envs": 4, "train": ["0-14"],
        "validation": ["15-19"], "test": ["20-24"],
    }  # fmt: skip
    h = algorithm("a2c").space.complete({"n_steps": 64, "hidden_sizes": "8"}, {"steps": 256.0})
    given = json.dumps({"settings": settings, "hyperparameters": h, "vram_limit": 0})
    done = subprocess.run([sys.executable, "-m", "tuning.diagnosis.step", given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout.strip().splitlines()[-1])
    assert row["steps"] >= 256
    assert row["peak_rss_bytes"] > 0
    assert row["device"] == "cpu"
