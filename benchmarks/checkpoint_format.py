"""What a checkpoint as data costs, beside the same state as one pickled file.

Run: `uv run python benchmarks/checkpoint_format.py [--times 100]`. It trains PPO and SAC with their defaults on `iquitos` for
a few updates, and then writes checkpoints in both forms by turns, each with its checksum, flushed to the disk and renamed.
"""

from __future__ import annotations

import argparse
import json
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from common.files import sync_folder, write_whole
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Trainer
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.runtime.ray_session import ray_session
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.checkpoint_files import TrialState, fingerprint
from tuning.trial.setup import trial_setup

UPDATES = 4


def write_pickled(folder: Path, trainer: Trainer, trial: TrialState) -> None:
    """Write a checkpoint as one pickled file and a manifest, and keep two."""
    new, target = folder / "new", folder / f"{trial.steps:012d}"
    new.mkdir(parents=True)
    write_whole(new / "state.pickle", lambda file: pickle.dump(trainer.get_state(), file, protocol=5))
    manifest = {"trial": asdict(trial), "files": {"state.pickle": fingerprint(new / "state.pickle")}}
    write_whole(new / "manifest.json", lambda file: file.write(json.dumps(manifest, indent=1).encode()))
    new.rename(target)
    sync_folder(folder)
    for old in sorted(folder.glob("[0-9]*"))[:-2]:
        json.loads((old / "manifest.json").read_text())
        shutil.rmtree(old)


def seconds(write: Callable[[], None]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    write()
    return time.perf_counter() - start


def compare(algo: str, times: int) -> None:
    """Print the medians of both forms, and their ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(algo=algo, scenario="iquitos", backend="batch", name=algo, dir=name)  # type: ignore[arg-type]
        experiment = create(settings)
        defaults = {parameter.name: parameter.default for parameter in algorithm(algo).space.parameters}
        trainer = algorithm(algo).build(trial_setup(experiment.settings, 0, defaults))
        for _ in range(UPDATES):
            trainer.update()
        checkpoints = Checkpoints(folder / "data")
        taken = np.array(
            [
                (
                    seconds(lambda: write_pickled(folder / "pickled", trainer, TrialState(steps=i))),  # noqa: B023
                    seconds(lambda: checkpoints.save(trainer, TrialState(steps=i))),  # noqa: B023
                )
                for i in range(1, times + 1)
            ]
        )
        pickled, data = 1000.0 * np.median(taken, axis=0)
        ratio = np.median(taken[:, 1] / taken[:, 0])
        print(f"{algo}: pickled {pickled:.2f} ms, as data {data:.2f} ms, median of the ratios {ratio:.2f}")
        trainer.stop()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    times = parser.parse_args().times
    with ray_session(num_cpus=1):
        for algo in ("ppo", "sac"):
            compare(algo, times)


if __name__ == "__main__":
    main()
