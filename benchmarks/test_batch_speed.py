"""Steps a second of CityLearn and of the batch backend, observations included, and what copying the observations takes.

Run: `uv run --group benchmarks python -m pytest benchmarks/test_batch_speed.py [--scenario PATH] -s`. The last lines are the
ratios of the medians of this one run; machines differ and are noisy, so quote those.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from envs.environments.vector_env import SiteVectorEnv
from envs.objective.evaluate import TRAINING_HOURS
from envs.scenarios.scenario import Scenario, scenario, training_starts

MEDIANS: dict[str, float] = {}  # seconds a step of one copy
OPEN = """
import time
start = time.perf_counter()
from envs.scenarios.scenario import scenario, training_starts
from envs.environments.vector_env import SiteVectorEnv
imported = time.perf_counter()
site = scenario({name!r})
env = SiteVectorEnv(site, training_starts(site.windows("validation"), 168), 64)
env.reset(seed=0)
print(imported - start, time.perf_counter() - imported)
"""


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest) -> Scenario:
    return scenario(request.config.getoption("--scenario"))


@pytest.fixture(scope="module", autouse=True)
def ratios() -> Iterator[None]:
    yield
    if {"CityLearn", "copy of 64"} <= MEDIANS.keys():
        for copies in (1, 64):
            print(f"\nbatch of {copies}: {MEDIANS['CityLearn'] / MEDIANS[f'batch of {copies}']:,.0f} times CityLearn's steps/s")
        print(f"batch of 64: {MEDIANS['batch of 64'] / MEDIANS['copy of 64']:.1f} times as long as copying its observations")


def measure(benchmark: Any, name: str, run: Callable[[], None], steps: int, rounds: int) -> None:
    benchmark.pedantic(run, rounds=rounds, warmup_rounds=1)
    MEDIANS[name] = benchmark.stats.stats.median / steps
    benchmark.extra_info["steps/s"] = 1.0 / MEDIANS[name]


def test_citylearn(benchmark: Any, site: Scenario) -> None:
    from citylearn.citylearn import CityLearnEnv

    env = CityLearnEnv(str(site.schema_path(site.years("train")[0])), central_agent=True)
    env.reset(seed=0)
    space, rng, steps = env.action_space[0], np.random.default_rng(0), 50

    def run() -> None:
        for _ in range(steps):
            env.step([rng.uniform(space.low, space.high).tolist()])

    measure(benchmark, "CityLearn", run, steps, rounds=15)


@pytest.mark.parametrize("copies", [1, 64])
def test_batch(benchmark: Any, site: Scenario, copies: int) -> None:
    env = SiteVectorEnv(site, training_starts(site.windows("train"), TRAINING_HOURS), copies, copy=False)
    env.reset(seed=0)
    steps = 2000 // copies
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (steps, copies, env.simulator.actions)).astype(np.float32)

    def run() -> None:
        for action in actions:
            env.step(action)

    measure(benchmark, f"batch of {copies}", run, steps * copies, rounds=31)


def test_copy(benchmark: Any, site: Scenario) -> None:
    env = SiteVectorEnv(site, training_starts(site.windows("train"), TRAINING_HOURS), 64, copy=False)
    observation, _ = env.reset(seed=0)
    other = np.empty_like(observation)

    def run() -> None:
        for _ in range(1000):
            np.copyto(other, observation)

    measure(benchmark, "copy of 64", run, 64 * 1000, rounds=31)


def test_opening(site: Scenario) -> None:
    times = []
    # As on a user's machine: with compiled files of what is imported, which the first process writes.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", OPEN.format(name=site.name)]
    subprocess.run(command, env=environment, capture_output=True, check=True)
    for _ in range(5):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        times.append([float(value) for value in done.stdout.split()])
    imports, opening = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"\nopening in a new process: {opening:.2f} s to the first observation of 64 copies, after {imports:.2f} s of imports"
    )
