"""What PPO and A2C take of memory: networks, one rollout, and what a gradient keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from common.units import FLOAT
from search_spaces import Assignment
from tuning.algorithms.memory_terms import Term, Workload, checkpoint_term, network_terms
from tuning.algorithms.networks.sizes import (
    Arithmetic,
    Problem,
    activations,
    charger_rows,
    head,
    hidden_sizes,
    matrices,
    perceptron,
    working,
)

# Observations of which values are computed at once: the activations of a whole rollout may not fit on a card.
VALUE_ROWS: Final = 2048

# Copies of a policy's weights between learner and env runner, on the host. RLlib makes some on their way, a checkpoint another,
# and they leave gaps in the heap. Measured over random configurations: seeds 0 to 2 of tests/tuning/test_host_memory.py, which
# checks the prediction with other seeds.
WEIGHT_COPIES: Final = 12


@dataclass(frozen=True)
class GradientStep:
    """In what the gradient steps of PPO and A2C differ.

    Attributes:
        slots: numbers that the optimizer keeps for each parameter.
        minibatch: transitions of which a gradient step computes the gradient at once.
        copied: whether a minibatch is copied from the rollout.
        of_actions: arrays of the actions' shape that the gradient keeps.
        of_rows: arrays of the rows' shape that the gradient keeps.
    """

    slots: int
    minibatch: int
    copied: bool
    of_actions: int
    of_rows: int


def ppo_memory(h: Assignment, run: Workload, problem: Problem) -> list[Term]:
    """Terms of PPO; see `AlgorithmSpec.memory`."""
    return _terms(h, run, problem, ppo_step(h, run, problem))


def a2c_memory(h: Assignment, run: Workload, problem: Problem) -> list[Term]:
    """Terms of A2C; see `AlgorithmSpec.memory`."""
    return _terms(h, run, problem, a2c_step(h, run, problem))


def ppo_step(h: Any, run: Workload, problem: Problem) -> GradientStep:
    """PPO's gradient step. Of the distribution it keeps log-probability, entropy and divergence."""
    rows = rollout_rows(h, run, problem)
    # Pieces of nearly equal size.
    minibatch = -(-rows // max(1, round(rows / h["batch_size"])))
    return GradientStep(2, minibatch, True, 9, 5 + (h["clip_range_vf"] is not None))


def a2c_step(h: Any, run: Workload, problem: Problem) -> GradientStep:
    """A2C's gradient step. It goes through the rollout in pieces of `batch_size`."""
    rows = rollout_rows(h, run, problem)
    return GradientStep(1 if h["optimizer"] == "rmsprop" else 2, min(rows, h["batch_size"] or rows), False, 4, 1)


def rollout_rows(h: Any, run: Workload, problem: Problem) -> int:
    """Transitions of a rollout at most: all of the hour in which the last one is due."""
    rows: int = (h["n_steps"] + run.num_envs) * problem.agents
    return rows


def _terms(h: Any, run: Workload, problem: Problem, step: GradientStep) -> list[Term]:
    place, parameters, rows = run.learner, actor_critic_parameters(h, problem), rollout_rows(h, run, problem)
    # Observation, action, its distribution, its log-probability.
    numbers = problem.observations + 3 * problem.actions + 1
    terms = network_terms(parameters, parameters, step.slots, 0, place)
    # Beside these value, target and advantage.
    rollout, words = FLOAT * rows * (numbers + 3), f"{rows:,} transitions x {numbers + 3} x 4 B"
    terms.append(Term("rollout to learn from", place, rollout, words, "n_steps"))
    if step.copied:
        copied, words = FLOAT * step.minibatch * (numbers + 3), f"{step.minibatch:,} transitions x {numbers + 3} x 4 B, copied"
        terms.append(Term("minibatch", place, copied, words, "batch_size", passing=True))
    part = -(-step.minibatch // run.parts)
    kept = gradient_bytes(h, problem, part, run.gpu, step)
    words = f"what the gradient of {part:,} rows keeps of the forward pass"
    terms.append(Term("activations", place, kept, words, "batch_size", passing=True))
    # Values of the whole rollout, block by block, come before the gradients: the larger of both.
    widest = max(problem.inputs, *hidden_sizes(h))
    values = FLOAT * min(rows, VALUE_ROWS) * 3 * widest
    words = "the larger of two layers' gradients, and of three layers of up to 2,048 rows whose values are computed at once"
    terms.append(Term("working memory", place, max(working(h, part, 1), values - kept), words, "batch_size", passing=True))
    # Two clocks of 8 B, two rewards of 8 B and two flags beside the numbers; the learner's arrays are joined from these.
    collected = FLOAT * rows * numbers + 34 * rows
    terms.append(Term("rollout as collected", "ram", collected, f"{rows:,} transitions x ({numbers} x 4 B + 34 B)", "n_steps"))
    if run.gpu:
        words = "joined on the host before it moves"
        terms.append(Term("rollout on its way", "ram", FLOAT * rows * numbers, words, "n_steps"))
    words = f"{WEIGHT_COPIES} x {parameters:,} x 4 B: its own, copies on their way, gaps between them; measured"
    terms.append(Term("weights of the env runner", "ram", WEIGHT_COPIES * FLOAT * parameters, words))
    terms.append(checkpoint_term(parameters * (1 + step.slots), 0, terms))
    return terms


def actor_critic_parameters(h: Assignment, problem: Problem) -> int:
    """Numbers in an `ActorCriticModule`."""
    hidden = hidden_sizes(h)
    layers = perceptron(problem.inputs, hidden) * (1 if h["shared_layers"] else 2)
    outputs = 2 if h["state_dependent_std"] else 1
    deviations = 0 if h["state_dependent_std"] else problem.actions
    return layers + hidden[-1] + 1 + head(problem, hidden[-1], outputs) + deviations


def gradient_bytes(h: Assignment, problem: Problem, rows: int, gpu: bool, step: GradientStep) -> int:
    """Bytes that a gradient of PPO or A2C keeps of its forward pass, beside parameters and the minibatch itself.

    Policy and value function each go through their layers, also where they share them.

    Args:
        h: full assignment.
        problem: what is learned.
        rows: of a minibatch.
        gpu: whether the learner uses the GPU.
        step: of the algorithm.
    """
    arithmetic, hidden = Arithmetic.of(h, gpu), hidden_sizes(h)
    each = 2 * sum(hidden) * activations(h) * arithmetic.layer
    each += FLOAT * (step.of_actions * problem.actions + step.of_rows)
    weights = 0
    if arithmetic.cast:
        each += 2 * problem.inputs * arithmetic.layer
        outputs = (2 if h["state_dependent_std"] else 1) * (problem.actions - problem.chargers)
        weights = arithmetic.layer * (2 * matrices(hidden, 0) + hidden[-1] * (outputs + 1))
    if problem.chargers:
        # The site's features of both passes, and the chargers' as they come in where nothing copies them.
        each += FLOAT * 2 * problem.inputs + charger_rows(problem, problem.charger_features, arithmetic)
        each += FLOAT * problem.charger_features * problem.chargers if arithmetic.compiled_chargers else 0
    return rows * each + weights
