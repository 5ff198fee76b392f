"""Sizes of layers, and of what a backward pass keeps of them, from hyperparameters alone.

Formulas of `tuning.algorithms.networks.layers`, so that a prediction needs no torch. Tests compare them with the networks
themselves. Each algorithm puts its own networks together from these, see `on_policy.memory` and `sac.memory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from common.units import FLOAT
from search_spaces import Assignment

HALF = 2  # bytes of a bfloat16
CHARGER_UNITS = 16  # of the network that acts for one charger: it has some four features


@dataclass(frozen=True)
class Problem:
    """What networks learn from and act on.

    Attributes:
        observations: features of an observation that is stored.
        actions: that are learned.
        inputs: features that the site's layers see.
        chargers: for which a network of their own acts; 0 where none is learned.
        charger_features: of each.
        agents: transitions of a step of a copy of the site: one for each building where one policy acts for each.
    """

    observations: int
    actions: int
    inputs: int
    chargers: int = 0
    charger_features: int = 0
    agents: int = 1


def perceptron(inputs: int, sizes: Sequence[int]) -> int:
    """Numbers in linear layers with biases."""
    return sum((before + 1) * after for before, after in zip((inputs, *sizes), sizes, strict=False))


def hidden_sizes(hyperparameters: Assignment) -> tuple[int, ...]:
    """Units of the hidden layers."""
    return tuple(int(size) for size in str(hyperparameters["hidden_sizes"]).split(","))


def charger_network(problem: Problem, features: int, outputs: int) -> int:
    """Numbers in a `ChargerNetwork`."""
    own = CHARGER_UNITS * problem.chargers
    return own + CHARGER_UNITS * features + (problem.inputs + 1) * CHARGER_UNITS + (CHARGER_UNITS + 1) * outputs


def head(problem: Problem, units: int, outputs: int) -> int:
    """Numbers in the policy's last layer, with a `ChargerNetwork` beside it where chargers are learned."""
    if not problem.chargers:
        return (units + 1) * outputs * problem.actions
    others = problem.actions - problem.chargers
    return (units + 1) * outputs * others + charger_network(problem, problem.charger_features, outputs)


@dataclass(frozen=True)
class Arithmetic:
    """How a backward pass's arrays are stored.

    Attributes:
        layer: bytes of a number that layers compute with.
        cast: whether inputs and weights are copied into that precision first.
        compiled_chargers: whether a `ChargerNetwork` goes through its own compiled function, on the CPU and in float32. This
            computes its hidden layer twice instead of keeping it.
    """

    layer: int
    cast: bool
    compiled_chargers: bool

    @classmethod
    def of(cls, h: Assignment, gpu: bool) -> Arithmetic:
        """That of hyperparameters on a device."""
        bf16 = bool(h["bf16"])
        return cls(HALF if bf16 else FLOAT, bf16, not gpu and not bf16 and not h["torch_compile"])


def matrices(sizes: Sequence[int], outputs: int) -> int:
    """Numbers in the weights behind the first hidden layer: those that a gradient passes on its way back."""
    return sum(before * after for before, after in pairwise(sizes)) + sizes[-1] * outputs


def activations(h: Assignment) -> int:
    """Arrays of a hidden layer that its gradient needs: its output, and of SiLU its input too."""
    return 2 if h["activation"] == "silu" else 1


def charger_rows(problem: Problem, features: int, arithmetic: Arithmetic, trained: bool = True) -> int:
    """Bytes of a row that a `ChargerNetwork` keeps of what it computes itself.

    Its own compiled function keeps what the hidden layer has in common. Layers keep the hidden layer in float32. Where their
    weights are trained, they keep it once more as the product takes it, in float32 with the inputs.
    """
    if arithmetic.compiled_chargers:
        return FLOAT * CHARGER_UNITS
    hidden = CHARGER_UNITS * problem.chargers
    if not trained:
        return FLOAT * hidden
    return (FLOAT + HALF) * hidden if arithmetic.cast else FLOAT * (2 * hidden + features * problem.chargers)


def working(h: Assignment, rows: int, networks: int) -> int:
    """Bytes that a backward pass takes for itself at its worst: gradients of two layers, of so many networks at once."""
    return 2 * networks * rows * max(hidden_sizes(h)) * (HALF if h["bf16"] else FLOAT)
