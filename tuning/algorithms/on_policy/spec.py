"""PPO and A2C as the registry lists them, and what they take: copies of the site, time of a step, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from search_spaces import Assignment
from search_spaces import on_policy as spaces
from tuning.algorithms.memory import (
    Problem,
    Term,
    Workload,
    activations,
    equal_parts,
    floats,
    head,
    hidden_sizes,
    networks,
    perceptron,
    with_room,
)
from tuning.algorithms.registry import AlgorithmSpec

if TYPE_CHECKING:
    from tuning.algorithms.trainer import Setup, Trainer

LEAST_ROLLOUT: Final = 16  # hours of each copy between two updates; with fewer the value function has to predict all the rest

# Measured on one core over recorded trials; docs/search.md says how well the sums fit. Only their ratios matter.
SAMPLING_SECONDS: Final = 5e-5  # of a step: environments, forward pass, evaluations
UPDATE_SECONDS: Final = 2e-2  # of RLlib around an update
GRADIENT_SECONDS: Final = 1.5e-3  # of a gradient step, however few its rows
NUMBER_SECONDS: Final = 2e-10  # of a number of the networks and a row

# Copies of a policy's weights between learner, env runner and checkpoints, on the host, with the gaps that they leave in the
# heap: an upper bound, measured when RLlib carried weights and rollouts between both. It was over random configurations: seeds
# 0 to 2 of tests/tuning/test_host_memory.py, which checks the prediction with other seeds.
WEIGHT_COPIES: Final = 12


def copies(hyperparameters: Assignment, most: int) -> int:
    """Copies of the site, `most` at most: each collects equally many of `n_steps`, and at least `LEAST_ROLLOUT`."""
    n_steps: Any = hyperparameters["n_steps"]
    return equal_parts(n_steps, min(most, n_steps // LEAST_ROLLOUT))


def ppo_seconds(h: Any, problem: Problem) -> float:
    """See `AlgorithmSpec.seconds`."""
    return _seconds(h, problem, h["n_epochs"], min(h["batch_size"], h["n_steps"] * problem.agents))


def a2c_seconds(h: Any, problem: Problem) -> float:
    """See `AlgorithmSpec.seconds`."""
    rows = h["n_steps"] * problem.agents
    return _seconds(h, problem, 1, min(rows, h["batch_size"] or rows))


def _seconds(h: Assignment, problem: Problem, epochs: int, rows: int) -> float:
    n_steps: Any = h["n_steps"]
    numbers = perceptron(problem.inputs, hidden_sizes(h)) * (1 if h["shared_layers"] else 2)
    each = GRADIENT_SECONDS / rows + NUMBER_SECONDS * numbers
    return SAMPLING_SECONDS + UPDATE_SECONDS / n_steps + problem.agents * epochs * each


def ppo_memory(h: Any, run: Workload, problem: Problem) -> list[Term]:
    """See `AlgorithmSpec.memory`. A minibatch is a copy; of the distribution its gradient keeps nine arrays."""
    rows = _rollout_rows(h, run, problem)
    # Pieces of nearly equal size.
    minibatch = -(-rows // max(1, round(rows / h["batch_size"])))
    kept = activations(h, problem, run, minibatch, 2, 9 * problem.actions)
    return [*_terms(h, run, problem, 2, rows + with_room(h, run, minibatch), 2 * problem.actions + 1), kept]


def a2c_memory(h: Any, run: Workload, problem: Problem) -> list[Term]:
    """See `AlgorithmSpec.memory`. It goes through the rollout in pieces of `batch_size`."""
    rows = _rollout_rows(h, run, problem)
    kept = activations(h, problem, run, min(rows, h["batch_size"] or rows), 2, 4 * problem.actions)
    return [*_terms(h, run, problem, 1 if h["optimizer"] == "rmsprop" else 2, with_room(h, run, rows), 0), kept]


def _rollout_rows(h: Any, run: Workload, problem: Problem) -> int:
    """Transitions of a rollout at most: all of the hour in which the last one is due."""
    return (h["n_steps"] + run.num_envs) * problem.agents


def _terms(h: Any, run: Workload, problem: Problem, slots: int, learned_rows: int, drawn: int) -> list[Term]:
    parameters, collected = actor_critic_parameters(h, problem), (_rollout_rows(h, run, problem), "transitions")
    # Observation, action, and for PPO how it was drawn: distribution and log-probability. The learner adds value, target and
    # advantage. What is collected has distribution, rewards and flags; gaps in the heap are counted with it.
    learned = problem.observations + problem.actions + drawn
    terms = [
        networks(run.learner, parameters, slots),
        floats("rollout to learn from", run.learner, "n_steps", (learned_rows, "transitions"), (learned + 3, "numbers")),
        floats(
            "rollout as collected", "ram", "n_steps", collected, (problem.observations + 3 * problem.actions + 10, "numbers")
        ),
        floats("weights of the env runner", "ram", "", (WEIGHT_COPIES, "copies with gaps"), (parameters, "numbers")),
    ]
    if run.gpu:
        terms.append(floats("rollout on its way", "ram", "n_steps", collected, (learned, "numbers")))
    return terms


def actor_critic_parameters(h: Assignment, problem: Problem) -> int:
    """Numbers in an `ActorCriticModule`."""
    hidden = hidden_sizes(h)
    layers = perceptron(problem.inputs, hidden) * (1 if h["shared_layers"] else 2)
    outputs = 2 if h["state_dependent_std"] else 1
    deviations = 0 if h["state_dependent_std"] else problem.actions
    return layers + hidden[-1] + 1 + head(problem, hidden[-1], outputs) + deviations


def _ppo(setup: Setup) -> Trainer:
    from tuning.algorithms.on_policy.trainer import PPOTrainer

    return PPOTrainer(setup)


def _a2c(setup: Setup) -> Trainer:
    from tuning.algorithms.on_policy.trainer import A2CTrainer

    return A2CTrainer(setup)


_ACTIONS = ("bounded numbers", "numbers without bounds", "choices")
PPO = AlgorithmSpec("ppo", spaces.PPO, spaces.PPO_PRESETS, _ppo, copies, ppo_memory, ppo_seconds, _ACTIONS, can_be_taught=True)
A2C = AlgorithmSpec("a2c", spaces.A2C, spaces.A2C_PRESETS, _a2c, copies, a2c_memory, a2c_seconds, _ACTIONS, can_be_taught=True)
