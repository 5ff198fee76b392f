"""Host memory of the driver's process over many short trials under the real Ray Tune. Prints Markdown.

Run: `uv run python -m benchmarks.scaling.driver_memory [--trials 4000] [--every 500]`.

`run_trials` runs with its own tuner, two trials at once, each of one evaluation. What the process holds is read after a
collection of what is not used any more.
"""

import argparse
import gc
import io
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from ray import tune
from ray.tune import Callback
from rich.console import Console

from common.units import MIB
from tests.tuning.made_up import evaluated
from tests.tuning.roomy import roomy
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.runtime.ray_session import ray_session
from tuning.search.proposals.plan import Plan
from tuning.search.run.driver import run_trials
from tuning.trial.protocol import DriverOnly, Report, handout_in

STEPS = 1000


def trainable(config: dict[str, Any]) -> None:
    """A trial of one evaluation."""
    number = handout_in(config).number
    tune.report(Report(0, restored=True).for_tune())
    tune.report(evaluated(number, 1, STEPS, number % 97 / 1000).for_tune())


class Watch(DriverOnly, Callback):
    """Prints what the driver holds after so many trials."""

    def __init__(self, every: int) -> None:
        self._every, self._ended, self._begun = every, 0, time.monotonic()

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Count a trial."""
        self._ended += 1
        if self._ended % self._every == 0 or self._ended == 100:
            gc.collect()
            held = psutil.Process().memory_info().rss / MIB
            seconds, self._begun = time.monotonic() - self._begun, time.monotonic()
            print(f"| {self._ended:,} | {held:,.0f} | {seconds:,.0f} | {len(trials):,} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--every", type=int, default=500)
    given = parser.parse_args()
    print("| trials | MiB | seconds since | trials that Tune lists |\n|---:|---:|---:|---:|")
    watch = Watch(given.every)
    with tempfile.TemporaryDirectory() as folder, ray_session(num_cpus=2, object_store_memory=100 * MIB):
        settings = Settings(
            name="short", dir=folder, trials=given.trials, steps=STEPS, evaluations=1, concurrency=2, sampler="random",
            scheduler="none", confirm=0,
        )  # fmt: skip
        experiment = create(settings)
        from tuning.search.run import driver

        driver.callbacks_named = lambda names: iter([watch])  # type: ignore[assignment]
        run_trials(experiment, Plan(algorithm("ppo").space, {}, ()), roomy(experiment), Console(file=io.StringIO()), trainable)
        held = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        print(f"files: {held / MIB:,.0f} MiB")


if __name__ == "__main__":
    main()
