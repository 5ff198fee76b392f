"""A trial before it is trained: what the search proposes."""

from __future__ import annotations

from dataclasses import dataclass

from search_spaces import Assignment


@dataclass(frozen=True)
class Proposal:
    """A trial: its number for ever, and its assignment.

    Attributes:
        number: from 0.
        hyperparameters: the assignment.
        same_as: number of an ended trial with the same assignment, so that there is nothing to run; None where it is new.
        refused: why it cannot fit into the machine's memory, so that there is nothing to run; None where it can.
    """

    number: int
    hyperparameters: Assignment
    same_as: int | None = None
    refused: str | None = None
