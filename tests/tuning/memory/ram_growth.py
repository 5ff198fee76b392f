"""Run as a script: what one trial takes of host memory beyond what a process with all its code takes.

Prints the growth as JSON. The process first trains the same algorithm on a small site, which loads what there is to load.
"""

import json
import sys
import threading
import time
from dataclasses import replace
from typing import Any

import psutil

from tests.tuning.one_trial import train
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.runtime.ray_session import ray_session
from tuning.trial.protocol import Proposal

PROCESS = psutil.Process()


class Peak(threading.Thread):
    """Looks every few milliseconds at how much memory the process has."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.nbytes = 0

    def run(self) -> None:
        while True:
            self.nbytes = max(self.nbytes, PROCESS.memory_info().rss)
            time.sleep(0.003)


def main() -> None:
    given = json.loads(sys.argv[1])
    algo = given["settings"]["algo"]
    settings = Settings(**given["settings"], backend="batch", name="measured", evaluations=2)
    small = replace(settings, scenario=given["small"], name="small", steps=2048, num_envs=8)
    with ray_session(num_cpus=1):
        assignment: dict[str, Any] = {"n_steps": 512} if algo != "sac" else {"learning_starts": 100, "train_freq": 64}
        # What is compiled, or read from where that is kept, depends on it.
        assignment["learn_charging"] = given["hyperparameters"]["learn_charging"]
        train(create(small), Proposal(0, algorithm(algo).space.complete(assignment, {"steps": 2048.0})))
        before = PROCESS.memory_info().rss
        peak = Peak()
        peak.start()
        train(create(settings), Proposal(0, given["hyperparameters"]))
    print(json.dumps({"before": before, "growth": peak.nbytes - before}))


if __name__ == "__main__":
    main()
