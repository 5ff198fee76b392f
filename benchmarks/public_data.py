"""What becomes of sites given as CityLearn's schemas: a row of a Markdown table for each, with scores on its validation split.

Run: `python benchmarks/public_data.py FOLDER... [--steps 500000]`. The speed is the processor's, of 64 copies against untouched
CityLearn, median of rounds in turns in this process.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from rich.console import Console

from common.errors import UserError
from envs.environments.backend import beyond_batch
from envs.environments.vector_env import SiteVectorEnv
from envs.objective.evaluate import TRAINING_HOURS
from envs.scenarios.scenario import Scenario, scenario, training_starts
from results.judgement import BOUND
from tuning import Settings, tune
from tuning.judging.headroom import find_headroom
from tuning.judging.settings import HeadroomSettings

COPIES, ROUNDS, STEPS = 64, 5, 30
QUIET = Console(quiet=True)


def rate(step: Callable[[], object], copies: int) -> float:
    """Steps a second of the processor."""
    begun = time.process_time()
    for _ in range(STEPS):
        step()
    return STEPS * copies / (time.process_time() - begun)


def speed(site: Scenario) -> float:
    """Steps a second of the batch backend over those of CityLearn."""
    from citylearn.citylearn import CityLearnEnv

    plain = CityLearnEnv(str(site.schema_path(0)), central_agent=True, interface="flat", offline=True)
    plain.reset(seed=0)
    batch = SiteVectorEnv(site, training_starts(site.windows("train"), TRAINING_HOURS), COPIES, reward="schema", copy=False)
    batch.reset(seed=0)
    space, rng = plain.action_space[0], np.random.default_rng(0)
    one = rng.uniform(space.low, space.high).tolist()
    many = rng.uniform(-1.0, 1.0, (COPIES, batch.simulator.actions))
    batch.step(many)  # compiled
    pairs = [(rate(lambda: plain.step([one]), 1), rate(lambda: batch.step(many), COPIES)) for _ in range(ROUNDS)]
    return statistics.median(many / one for one, many in pairs)


def shown(score: float | None) -> str:
    """A score, or nothing."""
    return "" if score is None else f"{score:+.4f}"


def row(path: Path, steps: int) -> list[str]:
    """Cells of a site."""
    site = scenario(str(path))
    missing = beyond_batch(site)
    cells = [path.name, f"CityLearn: {', '.join(missing)}" if missing else f"batch, {speed(site):,.0f} times"]
    rows = find_headroom(HeadroomSettings(scenario=str(path), split="validation", mpc=("learned",)), QUIET).rows
    scores = {one.name: one.score for one in rows if one.score is not None}
    rules = [score for name, score in scores.items() if name.startswith("rule")]
    planned = [score for name, score in scores.items() if name.startswith("MPC")]
    cells += [shown(max(rules, default=None)), shown(max(planned, default=None)), shown(scores.get(BOUND))]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(scenario=str(path), preset="default", trials=1, steps=steps, dir=folder, name="one")
        return [*cells, shown(tune(settings, console=QUIET).best["score"])]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--steps", type=int, default=500_000)
    given = parser.parse_args()
    print("| site | stepped by | best rule | MPC | bound | PPO's default |\n|---|---|---|---|---|---|", flush=True)
    for path in given.folders:
        try:
            cells = row(path, given.steps)
        except UserError as error:
            cells = [path.name, str(error).splitlines()[0]]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
