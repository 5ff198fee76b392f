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
        confirms: number of the trial with the same assignment that this one trains again; None in the search itself.
        confirm_run: number of its seed, which trials that are compared share.
        confirm_role: `default`, `best` for one that is compared with it, or `candidate` for one that chooses these.
    """

    number: int
    hyperparameters: Assignment
    same_as: int | None = None
    refused: str | None = None
    confirms: int | None = None
    confirm_run: int | None = None
    confirm_role: str | None = None
