"""An algorithm of another package, without RLlib: it tries actions that never change, and keeps the best."""

from collections.abc import Callable
from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution

from search_spaces import Assignment, Kind, SearchSpace
from search_spaces.parameter import Parameter
from tuning.algorithms.memory import Problem, Term, Workload
from tuning.algorithms.registry import AlgorithmSpec
from tuning.algorithms.trainer import Rows, Setup, Trainer, Update
from tuning.runtime.stopwatch import Stopwatch

HOURS = 32  # of each copy, with one choice of actions


class ToyTrainer(Trainer):
    def __init__(self, setup: Setup) -> None:
        self.num_envs = copies(setup.hyperparameters, setup.most_envs)
        self._env: Any = setup.make_envs(self.num_envs)
        self._radius: Any = setup.hyperparameters["radius"]
        self._random = np.random.default_rng(setup.seed)
        self._best, self._reward, self._steps = np.zeros(self._env.single_action_space.shape, np.float32), -np.inf, 0
        self._stopwatch = Stopwatch()
        self._env.reset(seed=setup.seed)

    def update(self) -> Update:
        drawn = self._best + self._radius * self._random.standard_normal(self._best.shape, np.float32)
        space = self._env.single_action_space
        actions, rewards = np.clip(drawn, space.low, space.high), []
        for _ in range(HOURS):
            with self._stopwatch.running():
                rewards.append(self._env.step(np.tile(actions, (self.num_envs, 1)))[1])
        if np.mean(rewards) > self._reward:
            self._best, self._reward = actions, float(np.mean(rewards))
        self._steps += HOURS * self.num_envs
        return Update(self._steps, {"value_loss": -self._reward})

    def used(self) -> Assignment:
        return {"radius": self._radius}

    def policy(self) -> Callable[[np.ndarray], np.ndarray]:
        best = self._best.copy()
        return lambda observations: np.tile(best, (len(observations), 1))

    def mode_network(self) -> Any:
        import torch

        class Constant(torch.nn.Module):
            def forward(self, observations: torch.Tensor) -> torch.Tensor:
                return best.expand(len(observations), -1)

        best = torch.from_numpy(self._best)
        return Constant()

    def get_state(self) -> dict[str, Any]:
        names = ("_best", "_reward", "_steps")
        own = {name: getattr(self, name) for name in names}
        return {"own": own, "random": self._random.bit_generator.state, "environment": self._env.get_state()}

    def set_state(self, state: dict[str, Any], rows: Rows) -> None:
        vars(self).update(state["own"])
        self._random.bit_generator.state = state["random"]
        self._env.set_state(state["environment"])

    def watch(self, environment: Stopwatch, learner: Stopwatch) -> None:
        self._stopwatch = environment

    def stop(self) -> None:
        self._env.close()


def copies(hyperparameters: Assignment, most: int) -> int:
    return min(4, most)


def memory(h: Assignment, run: Workload, problem: Problem) -> list[Term]:
    return [Term("actions", "ram", 4 * problem.actions, f"{problem.actions} x 4 B")]


SPACE = SearchSpace(
    (Parameter("radius", Kind.NUMBER, 0.1, "how far it looks", low=0.0, high=2.0, search=FloatDistribution(0.01, 1.0)),)
)
TOY = AlgorithmSpec("toy", SPACE, {"default": {}, "far": {"radius": 1.0}}, ToyTrainer, copies, memory)
