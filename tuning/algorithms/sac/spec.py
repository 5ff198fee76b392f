"""SAC as the registry lists it, and what it takes: copies of the site, time of a step, memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from common.units import FLOAT, MIB
from search_spaces import Assignment, sac
from tuning.algorithms.memory import (
    Problem,
    Term,
    Workload,
    activations,
    charger_network,
    equal_parts,
    floats,
    head,
    hidden_sizes,
    networks,
    perceptron,
    product,
    total,
    with_room,
)
from tuning.algorithms.registry import AlgorithmSpec
from tuning.algorithms.sac.replay_buffer import REPLAY_FILE_BYTES, batches_at_once, replay_places

if TYPE_CHECKING:
    from tuning.algorithms.trainer import Setup, Trainer

# See `tuning.algorithms.on_policy.spec`.
SAMPLING_SECONDS: Final = 1e-4  # of a step
GRADIENT_SECONDS: Final = 4e-3  # of a gradient step of critics and policy, however few its rows
NUMBER_SECONDS: Final = 2e-10  # of a number of the networks and a row
PASSES: Final = 2  # in which a gradient step goes through a network: to learn it, and to learn from it

WRITE_BYTES: Final = 16 * MIB  # of an array that NumPy copies at once on its way to a file


def copies(hyperparameters: Assignment, most: int) -> int:
    """Copies of the site, `most` at most: each collects equally many of `train_freq`."""
    return equal_parts(hyperparameters["train_freq"], most)


def sac_seconds(h: Any, problem: Problem) -> float:
    """See `AlgorithmSpec.seconds`."""
    numbers = PASSES * (policy_parameters(h, problem) + critic_parameters(h, problem))
    gradients = h["gradient_steps"] / h["train_freq"]
    return SAMPLING_SECONDS + gradients * (GRADIENT_SECONDS + NUMBER_SECONDS * h["batch_size"] * numbers)


def sac_memory(h: Any, run: Workload, problem: Problem) -> list[Term]:
    """See `AlgorithmSpec.memory`."""
    place, batch, critics = run.learner, h["batch_size"], critic_parameters(h, problem)
    trained = policy_parameters(h, problem) + critics + (h["ent_coef"] is None)
    at_once = min(h["gradient_steps"], batches_at_once(batch, problem.observations))
    drawn = (at_once, "batches"), (batch, "transitions"), (2 * problem.observations + problem.actions + 2, "numbers")
    # Both critics and the policy.
    kept = activations(h, problem, run, batch, 3, 3 * problem.inputs + 7 * problem.actions)
    numbers = 2 * problem.observations + 3 * problem.actions + 2
    room = floats("recorded batch", place, "batch_size", (with_room(h, run, batch) - batch, "rows"), (numbers, "numbers"))
    passing = [floats("batches", place, "batch_size", *drawn), *([room] if room.nbytes else []), kept]
    terms = [networks(place, trained, 2, critics), *passing, *_replay(h, run, problem, total(passing, "ram"))]
    if run.gpu:
        terms.append(floats("batches on their way", "ram", "batch_size", (2, "times"), *drawn))
    return terms


def _replay(h: Any, run: Workload, problem: Problem, passing: int) -> list[Term]:
    """The buffer, in host memory, and what a checkpoint copies of it, which never comes together with `passing` bytes."""
    copies, row = run.num_envs * problem.agents, row_bytes(problem.observations, problem.actions)
    taught = lesson_places(run.lessons, run.num_envs, problem.agents)
    held = min(h["buffer_size"], run.steps * problem.agents + copies + taught)
    new = min(held, run.steps * problem.agents // run.evaluations + taught) * row
    copied = min(new, REPLAY_FILE_BYTES) + min(new, WRITE_BYTES)
    return [
        product("replay buffer", "ram", "buffer_size", (replay_places(held, copies), "transitions"), (row, "B")),
        Term("checkpoint", "ram", max(0, copied - passing), f"{copied:,} B of new transitions, above batches and activations"),
    ]


def lesson_places(hours: Sequence[int], num_envs: int, agents: int) -> int:
    """Places of a `ReplayBuffer` that a teacher's runs of so many hours take: as many side by side as there are copies."""
    rows = sum(max(hours[first : first + num_envs]) + 1 for first in range(0, len(hours), num_envs))
    return rows * num_envs * agents


def row_bytes(observations: int, actions: int) -> int:
    """Bytes of a place: observation, action, reward, and a byte for its kind."""
    return FLOAT * (observations + actions + 1) + 1


def policy_parameters(h: Assignment, problem: Problem) -> int:
    """Numbers in the policy of a `SACModule`."""
    hidden = hidden_sizes(h)
    return perceptron(problem.inputs, hidden) + head(problem, hidden[-1], 2)


def critic_parameters(h: Assignment, problem: Problem) -> int:
    """Numbers in both critics of a `SACModule`; with chargers, the mean of their actions is one input of the site's layers."""
    hidden, chargers = hidden_sizes(h), problem.chargers
    inputs = problem.inputs + problem.actions - chargers + (chargers > 0)
    each = perceptron(inputs, hidden) + hidden[-1] + 1
    return 2 * (each + (charger_network(problem, problem.charger_features + 2, 1) if chargers else 0))


def _sac(setup: Setup) -> Trainer:
    from tuning.algorithms.sac.trainer import SACTrainer

    return SACTrainer(setup)


SAC = AlgorithmSpec(
    "sac", sac.SAC, sac.SAC_PRESETS, _sac, copies, sac_memory, sac_seconds, ("bounded numbers",), can_be_taught=True
)  # fmt: skip
