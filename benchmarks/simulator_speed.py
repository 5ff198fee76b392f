"""Steps a second of CityLearn as it is and as `CityLearnSimulator` runs it, in turns in one process.

Run: `python benchmarks/simulator_speed.py [SCENARIO]`. Quote the ratio; machines differ and are noisy.
"""

import os
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from citylearn.citylearn import CityLearnEnv

from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.scenarios.scenario import scenario

ROUNDS = 7
STEPS = 60


def main() -> None:
    path = scenario(sys.argv[1] if len(sys.argv) > 1 else "iquitos").schema_path(1)
    start = time.perf_counter()
    plain = CityLearnEnv(str(path), central_agent=True)
    plain_build = time.perf_counter() - start
    start = time.perf_counter()
    simulator = CityLearnSimulator(path, with_reward=False)
    simulator_build = time.perf_counter() - start
    hours = ROUNDS * STEPS + 1
    plain.episode_time_steps = [(0, hours)]
    plain.reset(seed=0)
    simulator.begin(0, hours, 0)
    rng = np.random.default_rng(0)
    rates: dict[str, list[float]] = {"CityLearn": [], "simulator": []}
    for _ in range(ROUNDS):
        actions = [rng.uniform(simulator.action_low, simulator.action_high) for _ in range(STEPS)]
        for name, step in (("CityLearn", lambda a: plain.step([a.tolist()])), ("simulator", simulator.step)):
            start = time.perf_counter()
            for action in actions:
                step(action)
            rates[name].append(STEPS / (time.perf_counter() - start))
    ratios = [new / old for new, old in zip(rates["simulator"], rates["CityLearn"], strict=True)]
    print(f"build: CityLearn {plain_build:.1f} s, simulator {simulator_build:.1f} s, ratio {plain_build / simulator_build:.1f}")
    for name, values in rates.items():
        print(f"{name}: median {statistics.median(values):.0f} steps/s ({min(values):.0f} to {max(values):.0f})")
    print(f"ratio: median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
