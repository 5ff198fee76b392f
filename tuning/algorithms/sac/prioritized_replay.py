"""Proportional prioritised replay (Schaul et al. 2016) over the places of a replay buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

EPSILON = 1e-6  # added to an error: what is predicted well is drawn now and then, too


@dataclass(frozen=True)
class Prioritization:
    """How much priorities count.

    Attributes:
        alpha: exponent of the error; 0 draws uniformly.
        beta: part of the bias of unequal drawing that the weights take back; 1 takes back all of it.
    """

    alpha: float
    beta: float


class SumTree:
    """Numbers that can be drawn in proportion to their value: a binary tree in which each node holds the sum of its children.

    Attributes:
        nodes: root at 1, children of `i` at `2 i` and `2 i + 1`, leaves in the second half, float64.
    """

    def __init__(self, count: int) -> None:
        """All leaves 0.

        Args:
            count: of leaves.
        """
        self._half = half_size(count)
        self._count = count
        self.nodes = np.zeros(2 * self._half)

    @property
    def leaves(self) -> np.ndarray:
        """The numbers, shape (count,)."""
        return self.nodes[self._half : self._half + self._count]

    @property
    def total(self) -> float:
        """Their sum."""
        return float(self.nodes[1])

    def set(self, places: np.ndarray, values: np.ndarray) -> None:
        """Replace numbers.

        Args:
            places: which, shape (n,), int64.
            values: the new ones, shape (n,), float64; where a place comes twice, the last counts.
        """
        _set(self.nodes, self._half, places, values)

    def find(self, masses: np.ndarray) -> np.ndarray:
        """Places where running sums of the numbers pass given ones.

        Args:
            masses: from 0 to below `total`, shape (n,), float64.

        Returns:
            Places, none of which holds 0, shape (n,), int64.
        """
        return _find(self.nodes, self._half, masses)


class Priorities:
    """Priorities of transitions: the greatest so far for a new one, then by the error that was last made on it."""

    def __init__(self, count: int, prioritization: Prioritization) -> None:
        """No transitions yet.

        Args:
            count: places of the buffer.
            prioritization: how much priorities count.
        """
        self.prioritization = prioritization
        self.tree = SumTree(count)
        self._greatest = 1.0

    def add(self, places: np.ndarray, held: np.ndarray) -> None:
        """Give new transitions the greatest priority.

        Args:
            places: that were written, shape (n,), int64.
            held: whether each holds a transition, shape (n,).
        """
        self.tree.set(places, np.where(held, self._greatest, 0.0))

    def drop(self, places: np.ndarray) -> None:
        """Let places not be drawn any more."""
        self.tree.set(places, np.zeros(len(places)))

    def update(self, places: np.ndarray, errors: np.ndarray) -> None:
        """Set priorities by errors.

        Args:
            places: of transitions, shape (n,), int64.
            errors: magnitudes, shape (n,).
        """
        values = (errors.astype(np.float64) + EPSILON) ** self.prioritization.alpha
        self._greatest = max(self._greatest, float(values.max()))
        self.tree.set(places, values)

    def sample(self, count: int, transitions: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw transitions in proportion to their priorities, one from each of `count` equal parts of the sum.

        Args:
            count: how many.
            transitions: that there are.
            random: source of random numbers.

        Returns:
            Places, shape (count,), int64, and weights of their losses, the greatest of them 1, shape (count,), float32.
        """
        total = self.tree.total
        masses = (np.arange(count) + random.random(count)) * (total / count)
        # Rounding may reach the sum itself.
        places = self.tree.find(np.minimum(masses, np.nextafter(total, 0.0)))
        chances = self.tree.leaves[places] / total
        weights = (transitions * chances) ** -self.prioritization.beta
        return places, (weights / weights.max()).astype(np.float32)

    def get_state(self) -> dict[str, Any]:
        """State for a checkpoint; the numbers are a view."""
        return {"leaves": self.tree.leaves, "greatest": self._greatest}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`."""
        self.tree.set(np.arange(len(state["leaves"])), state["leaves"])
        self._greatest = state["greatest"]


def half_size(count: int) -> int:
    """Leaves of a full binary tree that has at least `count` of them."""
    return 1 << max(count - 1, 0).bit_length()


@njit(cache=True)
def _set(nodes: np.ndarray, half: int, places: np.ndarray, values: np.ndarray) -> None:
    for i in range(len(places)):
        node = half + places[i]
        nodes[node] = values[i]
        node //= 2
        while node >= 1:
            # Not by the difference: its rounding errors would add up.
            nodes[node] = nodes[2 * node] + nodes[2 * node + 1]
            node //= 2


@njit(cache=True)
def _find(nodes: np.ndarray, half: int, masses: np.ndarray) -> np.ndarray:
    found = np.empty(len(masses), np.int64)
    for i in range(len(masses)):
        mass, node = masses[i], 1
        while node < half:
            node *= 2
            # A rest from rounding must not end in a leaf of 0.
            if nodes[node + 1] > 0.0 and (mass >= nodes[node] or nodes[node] == 0.0):
                mass -= nodes[node]
                node += 1
        found[i] = node - half
    return found
