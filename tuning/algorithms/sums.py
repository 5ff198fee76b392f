"""What gradient steps report, summed up as they go."""

from __future__ import annotations

from collections.abc import Mapping

import torch


class Sums:
    """Running sums of what gradient steps report, on their device.

    Nothing of a single step is kept. A list of small tensors would keep places of the heap between the arrays that each step
    frees, so that the allocator could not use these again. The process then grew with every step, by up to a gibibyte.

    Attributes:
        steps: that were added.
    """

    def __init__(self) -> None:
        self.steps = 0
        self._names: tuple[str, ...] = ()
        self._sums = torch.empty(0)

    def add(self, terms: Mapping[str, torch.Tensor]) -> None:
        """Add one step's.

        Args:
            terms: each with shape (); of all steps by the same names, in the same order.
        """
        row = torch.stack(tuple(terms.values())).double()
        if self.steps:
            self._sums += row
        else:
            self._names, self._sums = tuple(terms), row
        self.steps += 1

    def totals(self) -> dict[str, float]:
        """Sums by name; empty before the first step. This waits for the device."""
        return dict(zip(self._names, self._sums.tolist(), strict=True))

    def means(self) -> dict[str, float]:
        """Means over the steps by name; empty before the first step. This waits for the device."""
        return {name: total / self.steps for name, total in self.totals().items()}
