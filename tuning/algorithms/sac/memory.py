"""What SAC takes of memory: networks, the replay buffer, the batches that are drawn, and what a gradient keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from common.units import FLOAT, MIB
from search_spaces import Assignment
from tuning.algorithms.memory_terms import Term, Workload, checkpoint_term, network_terms
from tuning.algorithms.networks.sizes import (
    Arithmetic,
    Problem,
    activations,
    charger_network,
    charger_rows,
    head,
    hidden_sizes,
    matrices,
    perceptron,
    working,
)
from tuning.algorithms.sac.replay_buffer import REPLAY_FILE_BYTES

SAMPLE_BYTES: Final = 16 * MIB  # of observations that are drawn at once: to draw and move each batch by itself takes longer


def sac_memory(h: Any, run: Workload, problem: Problem) -> list[Term]:
    """Terms of SAC; see `AlgorithmSpec.memory`."""
    place, policy, critics = run.learner, policy_parameters(h, problem), critic_parameters(h, problem)
    learned = 1 if h["ent_coef"] is None else 0
    batch, trained = h["batch_size"], policy + critics + learned
    terms = network_terms(trained, trained, 2, critics, place)
    per_batch = 2 * FLOAT * batch * problem.observations
    at_once = max(1, min(h["gradient_steps"], SAMPLE_BYTES // per_batch))
    numbers = 2 * problem.observations + problem.actions + 2
    drawn, words = FLOAT * at_once * batch * numbers, f"{at_once} at once x {batch:,} transitions x {numbers} x 4 B"
    terms.append(Term("batches", place, drawn, words, "batch_size", passing=True))
    part = -(-batch // run.parts)
    kept, words = (
        gradient_bytes(h, problem, part, run.gpu),
        f"what the larger gradient of {part:,} rows keeps of the forward pass",
    )
    terms.append(Term("activations", place, kept, words, "batch_size", passing=True))
    words = "gradients of two layers of both critics"
    terms.append(Term("working memory", place, working(h, part, 2), words, "batch_size", passing=True))
    if run.gpu:
        words = "as drawn, and in memory that the card reads"
        terms.append(Term("batches on their way", "ram", 2 * drawn, words, "batch_size"))
    copies = run.num_envs * problem.agents
    taught = lesson_places(run.lessons, run.num_envs, problem.agents)
    held = min(h["buffer_size"], run.steps * problem.agents + copies + taught)
    buffer = replay_bytes(held, copies, problem.observations, problem.actions)
    words = f"{held:,} transitions x ({problem.observations} + {problem.actions} + 1) x 4 B, in host memory"
    terms.append(Term("replay buffer", "ram", buffer, words, "buffer_size"))
    # Rows since the last evaluation are copied to be written, a file of them at a time.
    new = min(held, run.steps * problem.agents // run.reports + taught)
    new = replay_bytes(new, copies, problem.observations, problem.actions)
    terms.append(checkpoint_term(3 * trained + critics, min(new, REPLAY_FILE_BYTES), terms))
    return terms


def lesson_places(hours: Sequence[int], num_envs: int, agents: int) -> int:
    """Places of a `ReplayBuffer` that a teacher's lessons take: rows of all copies, as many runs side by side as there are.

    Args:
        hours: of each run.
        num_envs: copies of the site.
        agents: that act in each.
    """
    rows = sum(max(hours[first : first + num_envs]) + 1 for first in range(0, len(hours), num_envs))
    return rows * num_envs * agents


def replay_bytes(size: int, copies: int, observations: int, actions: int) -> int:
    """Memory of a full `ReplayBuffer`, bytes: a row more than the transitions need, in whole rows of all copies.

    Args:
        size: transitions.
        copies: of the environment.
        observations: features of an observation.
        actions: of an action.
    """
    places = (-(-size // copies) + 1) * copies
    return places * (FLOAT * (observations + actions + 1) + 1)


def policy_parameters(h: Assignment, problem: Problem) -> int:
    """Numbers in the policy of a `SACModule`."""
    hidden = hidden_sizes(h)
    return perceptron(problem.inputs, hidden) + head(problem, hidden[-1], 2)


def critic_parameters(h: Assignment, problem: Problem) -> int:
    """Numbers in both critics of a `SACModule`."""
    hidden = hidden_sizes(h)
    numbers = perceptron(_critic_inputs(problem), hidden) + hidden[-1] + 1
    return 2 * (numbers + (charger_network(problem, problem.charger_features + 2, 1) if problem.chargers else 0))


def _critic_inputs(problem: Problem) -> int:
    """Features and actions that a critic's layers see: with `SiteCritics` the mean of the chargers' actions is one of them."""
    return problem.inputs + (problem.actions - problem.chargers + 1 if problem.chargers else problem.actions)


def gradient_bytes(h: Assignment, problem: Problem, rows: int, gpu: bool) -> int:
    """Bytes that SAC's larger gradient, that of the critics or of the policy, keeps of its forward pass.

    Args:
        h: full assignment.
        problem: what is learned.
        rows: of a batch.
        gpu: whether the learner uses the GPU.
    """
    return max(_critic_bytes(h, problem, rows, gpu), _actor_bytes(h, problem, rows, gpu))


def _critic_bytes(h: Assignment, problem: Problem, rows: int, gpu: bool) -> int:
    arithmetic, hidden = Arithmetic.of(h, gpu), hidden_sizes(h)
    each = 2 * arithmetic.layer * (_critic_inputs(problem) + sum(hidden) * activations(h)) + 2 * FLOAT
    weights = 2 * arithmetic.layer * matrices(hidden, 1) if arithmetic.cast else 0
    if problem.chargers:
        features = problem.charger_features + 2
        each += FLOAT * problem.inputs + 2 * charger_rows(problem, features, arithmetic)
        each += FLOAT * features * problem.chargers if arithmetic.compiled_chargers else 0
    return rows * each + weights


def _actor_bytes(h: Assignment, problem: Problem, rows: int, gpu: bool) -> int:
    """Of the critics only what leads to their inputs: they are not moved here."""
    arithmetic, hidden = Arithmetic.of(h, gpu), hidden_sizes(h)
    each = arithmetic.layer * sum(hidden) * (activations(h) + 2) + FLOAT * (5 * problem.actions + 3)
    weights = 0
    if arithmetic.cast:
        each += arithmetic.layer * problem.inputs
        outputs = 2 * (problem.actions - problem.chargers)
        weights = arithmetic.layer * (
            matrices(hidden, outputs) + 2 * (matrices(hidden, 1) + _critic_inputs(problem) * hidden[0])
        )
    if problem.chargers:
        features, chargers = problem.charger_features, problem.chargers
        # The site's features, deviations beside means, of each charger its action and both values.
        each += FLOAT * (problem.inputs + problem.actions + 3 * chargers)
        each += charger_rows(problem, features, arithmetic)
        each += 2 * charger_rows(problem, features + 2, arithmetic, trained=False)
        # The observation in order and what critics see of each charger, where nothing copies them.
        each += FLOAT * (problem.observations + (features + 2) * chargers) if arithmetic.compiled_chargers else 0
    return rows * each + weights
