"""A linear programme that grows by blocks of variables and rows."""

from __future__ import annotations

from typing import Any

import numpy as np


class LinearProgramme:
    """Minimises `cost` times the variables, within their bounds and the rows.

    Attributes:
        cost: factor of each variable in what is minimised, shape (variables,).
    """

    def __init__(self) -> None:
        self._size = 0
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []
        self._rows: dict[bool, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {True: [], False: []}
        self._right: dict[bool, list[np.ndarray]] = {True: [], False: []}
        self._count = {True: 0, False: 0}
        self.cost = np.zeros(0)

    def variables(self, *shape: int, low: Any = 0.0, high: Any = np.inf) -> np.ndarray:
        """Add variables within bounds and return their indices, of the given shape."""
        count = int(np.prod(shape))
        indices = np.arange(self._size, self._size + count).reshape(shape)
        self._size += count
        self._low.append(np.broadcast_to(low, shape).ravel().astype(float))
        self._high.append(np.broadcast_to(high, shape).ravel().astype(float))
        self.cost = np.concatenate([self.cost, np.zeros(count)])
        return indices

    def rows(self, equal: bool, right: np.ndarray, *terms: tuple[np.ndarray, np.ndarray, Any]) -> np.ndarray:
        """Add rows `sum of factor * variable = right`, or `<= right`; each term is row, variable and factor, broadcast.

        Returns:
            Numbers of the rows, among the equations or among the others, shape (rows,).
        """
        for row, variable, factor in terms:
            row, variable, factor = np.broadcast_arrays(row, variable, np.asarray(factor, dtype=float))
            self._rows[equal].append((row.ravel() + self._count[equal], variable.ravel(), factor.ravel()))
        self._right[equal].append(np.asarray(right, dtype=float))
        self._count[equal] += len(right)
        return np.arange(self._count[equal] - len(right), self._count[equal])

    def arguments(self) -> dict[str, Any]:
        """Arguments of `scipy.optimize.linprog`, but for the method."""
        from scipy.sparse import csr_array

        arguments: dict[str, Any] = {
            "c": self.cost,
            "bounds": np.stack([np.concatenate(self._low), np.concatenate(self._high)], 1),
        }
        for equal, name in ((True, "eq"), (False, "ub")):
            if not self._rows[equal]:
                continue
            row, column, value = (np.concatenate(parts) for parts in zip(*self._rows[equal], strict=True))
            arguments[f"A_{name}"] = csr_array((value, (row, column)), shape=(self._count[equal], self._size))
            arguments[f"b_{name}"] = np.concatenate(self._right[equal])
        return arguments
