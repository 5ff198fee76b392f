"""Sizes of the algorithms' networks, and of what a backward pass keeps, from hyperparameters alone.

Formulas of the layers in `tuning.algorithms` (`networks.layers`, `on_policy.module`, `sac.module`), so that predicting needs no
torch; tests compare each with the networks themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from search_spaces import Assignment

FLOAT = 4  # bytes
HALF = 2  # of a bfloat16
CHARGER_UNITS = 16  # see `tuning.algorithms.networks.layers`, which a test compares


@dataclass(frozen=True)
class Problem:
    """What networks learn from and act on.

    Attributes:
        observations: features of an observation that is stored.
        actions: that are learned.
        inputs: features that the site's layers see.
        chargers: for which a network of their own acts; 0 where none is learned.
        charger_features: of each.
    """

    observations: int
    actions: int
    inputs: int
    chargers: int = 0
    charger_features: int = 0


def perceptron(inputs: int, sizes: Sequence[int]) -> int:
    """Numbers in linear layers with biases."""
    return sum((before + 1) * after for before, after in zip((inputs, *sizes), sizes, strict=False))


def hidden_sizes(hyperparameters: Assignment) -> tuple[int, ...]:
    """Units of the hidden layers."""
    return tuple(int(size) for size in str(hyperparameters["hidden_sizes"]).split(","))


def _charger_network(problem: Problem, features: int, outputs: int) -> int:
    """Numbers in a `ChargerNetwork`."""
    own = CHARGER_UNITS * problem.chargers
    return own + CHARGER_UNITS * features + (problem.inputs + 1) * CHARGER_UNITS + (CHARGER_UNITS + 1) * outputs


def _head(problem: Problem, units: int, outputs: int) -> int:
    """Numbers in the policy's last layer, with a `ChargerNetwork` beside it where chargers are learned."""
    if not problem.chargers:
        return (units + 1) * outputs * problem.actions
    others = problem.actions - problem.chargers
    return (units + 1) * outputs * others + _charger_network(problem, problem.charger_features, outputs)


def actor_critic_parameters(h: Assignment, problem: Problem) -> int:
    """Numbers in an `ActorCriticModule`."""
    sizes = hidden_sizes(h)
    layers = perceptron(problem.inputs, sizes) * (1 if h["shared_layers"] else 2)
    outputs = 2 if h["state_dependent_std"] else 1
    deviations = 0 if h["state_dependent_std"] else problem.actions
    return layers + sizes[-1] + 1 + _head(problem, sizes[-1], outputs) + deviations


def policy_parameters(h: Assignment, problem: Problem) -> int:
    """Numbers in the policy of a `SACModule`."""
    sizes = hidden_sizes(h)
    return perceptron(problem.inputs, sizes) + _head(problem, sizes[-1], 2)


def critic_parameters(h: Assignment, problem: Problem) -> int:
    """Numbers in both critics of a `SACModule`."""
    sizes = hidden_sizes(h)
    if not problem.chargers:
        return 2 * (perceptron(problem.inputs + problem.actions, sizes) + sizes[-1] + 1)
    # `SiteCritics`: the site's other actions and the mean of the chargers' beside the site's features.
    site = problem.inputs + problem.actions - problem.chargers + 1
    charger = _charger_network(problem, problem.charger_features + 2, 1)
    return 2 * (perceptron(site, sizes) + sizes[-1] + 1 + charger)


@dataclass(frozen=True)
class Arithmetic:
    """How a backward pass's arrays are stored.

    Attributes:
        layer: bytes of a number that layers reckon with.
        cast: whether inputs and weights are copied into that precision first.
        compiled_chargers: whether a `ChargerNetwork` goes through its own compiled function, which reckons its hidden layer
            twice instead of keeping it: on the CPU, in float32.
    """

    layer: int
    cast: bool
    compiled_chargers: bool

    @classmethod
    def of(cls, h: Assignment, gpu: bool) -> Arithmetic:
        """That of hyperparameters on a device."""
        bf16 = bool(h["bf16"])
        return cls(HALF if bf16 else FLOAT, bf16, not gpu and not bf16 and not h["torch_compile"])


def _matrices(sizes: Sequence[int], outputs: int) -> int:
    """Numbers in the weights behind the first hidden layer: those that a gradient passes on its way back."""
    return sum(before * after for before, after in pairwise(sizes)) + sizes[-1] * outputs


def _activations(h: Assignment) -> int:
    """Arrays of a hidden layer that its gradient needs: what comes out, and of SiLU what went in too."""
    return 2 if h["activation"] == "silu" else 1


def _charger_rows(problem: Problem, features: int, arithmetic: Arithmetic, trained: bool = True) -> int:
    """Bytes of a row that a `ChargerNetwork` keeps of what it reckons itself.

    Its own compiled function keeps what the hidden layer has in common; layers keep the hidden layer in float32, and where
    their weights are trained once more as the product takes it, in float32 with the inputs.
    """
    if arithmetic.compiled_chargers:
        return FLOAT * CHARGER_UNITS
    hidden = CHARGER_UNITS * problem.chargers
    if not trained:
        return FLOAT * hidden
    return (FLOAT + HALF) * hidden if arithmetic.cast else FLOAT * (2 * hidden + features * problem.chargers)


def on_policy_kept(algo: str, h: Assignment, problem: Problem, rows: int, gpu: bool) -> int:
    """Bytes that a gradient of PPO or A2C keeps of its forward pass, beside parameters and the minibatch itself.

    Policy and value function each go through their layers, also where they share them. Of the distribution PPO keeps nine
    arrays of the actions' shape (log-probability, entropy, divergence) and five of the rows', A2C four and one.

    Args:
        algo: `ppo` or `a2c`.
        h: full assignment.
        problem: what is learned.
        rows: of a minibatch.
        gpu: whether the learner uses the GPU.
    """
    arithmetic, sizes = Arithmetic.of(h, gpu), hidden_sizes(h)
    of_actions, of_rows = (9, 5 + (h["clip_range_vf"] is not None)) if algo == "ppo" else (4, 1)
    each = 2 * sum(sizes) * _activations(h) * arithmetic.layer
    each += FLOAT * (of_actions * problem.actions + of_rows)
    weights = 0
    if arithmetic.cast:
        each += 2 * problem.inputs * arithmetic.layer
        outputs = (2 if h["state_dependent_std"] else 1) * (problem.actions - problem.chargers)
        weights = arithmetic.layer * (2 * _matrices(sizes, 0) + sizes[-1] * (outputs + 1))
    if problem.chargers:
        # The site's features of both passes, and the chargers' as they come in where nothing copies them.
        each += FLOAT * 2 * problem.inputs + _charger_rows(problem, problem.charger_features, arithmetic)
        each += FLOAT * problem.charger_features * problem.chargers if arithmetic.compiled_chargers else 0
    return rows * each + weights


def sac_kept(h: Assignment, problem: Problem, rows: int, gpu: bool) -> int:
    """Bytes that SAC's larger gradient, that of the critics or of the policy, keeps of its forward pass.

    Args:
        h: full assignment.
        problem: what is learned.
        rows: of a batch.
        gpu: whether the learner uses the GPU.
    """
    return max(_critic_kept(h, problem, rows, gpu), _actor_kept(h, problem, rows, gpu))


def _critic_inputs(problem: Problem) -> int:
    """Features and actions that the stacked critics see."""
    return problem.inputs + (problem.actions - problem.chargers + 1 if problem.chargers else problem.actions)


def _critic_kept(h: Assignment, problem: Problem, rows: int, gpu: bool) -> int:
    arithmetic, sizes = Arithmetic.of(h, gpu), hidden_sizes(h)
    each = 2 * arithmetic.layer * (_critic_inputs(problem) + sum(sizes) * _activations(h)) + 2 * FLOAT
    weights = 2 * arithmetic.layer * _matrices(sizes, 1) if arithmetic.cast else 0
    if problem.chargers:
        features = problem.charger_features + 2
        each += FLOAT * problem.inputs + 2 * _charger_rows(problem, features, arithmetic)
        each += FLOAT * features * problem.chargers if arithmetic.compiled_chargers else 0
    return rows * each + weights


def _actor_kept(h: Assignment, problem: Problem, rows: int, gpu: bool) -> int:
    """Of the critics only what leads to their inputs: they are not moved here."""
    arithmetic, sizes = Arithmetic.of(h, gpu), hidden_sizes(h)
    each = arithmetic.layer * sum(sizes) * (_activations(h) + 2) + FLOAT * (5 * problem.actions + 3)
    weights = 0
    if arithmetic.cast:
        each += arithmetic.layer * problem.inputs
        outputs = 2 * (problem.actions - problem.chargers)
        weights = arithmetic.layer * (
            _matrices(sizes, outputs) + 2 * (_matrices(sizes, 1) + _critic_inputs(problem) * sizes[0])
        )
    if problem.chargers:
        features, chargers = problem.charger_features, problem.chargers
        # The site's features, deviations beside means, of each charger its action and both values.
        each += FLOAT * (problem.inputs + problem.actions + 3 * chargers)
        each += _charger_rows(problem, features, arithmetic)
        each += 2 * _charger_rows(problem, features + 2, arithmetic, trained=False)
        # The observation in order and what critics see of each charger, where nothing copies them.
        each += FLOAT * (problem.observations + (features + 2) * chargers) if arithmetic.compiled_chargers else 0
    return rows * each + weights


def working(h: Assignment, rows: int, networks: int) -> int:
    """Bytes that a backward pass takes for itself at its worst: gradients of two layers, of so many networks at once."""
    return 2 * networks * rows * max(hidden_sizes(h)) * (HALF if h["bf16"] else FLOAT)
