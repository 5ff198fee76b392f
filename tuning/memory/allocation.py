"""From the predicted memory of a trial to what Ray grants it, which is also its limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from common.units import GIB, MIB
from tuning.memory.prediction import Place, Prediction, size

DEFAULT_CARD_BYTES = 8 * GIB  # budget of a card that has at least that
SHARES = 10_000  # Ray counts shares of a GPU in ten-thousandths

# A process is kept for the next trial if that is granted the same; a new one takes ten seconds to get ready. Nearly all trials
# of a search on the CPU fall into one or two of these steps. Shares of a card are finer, because cards are scarce.
RAM_STEP_BYTES = 512 * MIB
VRAM_STEPS = 256  # of a card's budget
# What a trial may take above its prediction before it is stopped; granted to it from the start.
RAM_HEADROOM = 1.15
VRAM_HEADROOM = 1.1


@dataclass(frozen=True)
class Budget:
    """What all trials of a machine may take together.

    Attributes:
        gpus: cards.
        card_bytes: GPU memory of each card that trials may take; 0 without a card.
        ram_bytes: host memory of the largest node.
        cores: of all nodes.
    """

    gpus: int
    card_bytes: int
    ram_bytes: int
    cores: int

    @classmethod
    def of(cls, resources: Mapping[str, float], card_bytes: int, node_ram_bytes: int) -> Budget:
        """Budget of a cluster.

        Args:
            resources: of Ray's cluster: `CPU` and `GPU`.
            card_bytes: see `Budget`.
            node_ram_bytes: memory that the largest node gives to trials.
        """
        gpus = int(resources.get("GPU", 0))
        return cls(gpus, card_bytes if gpus else 0, node_ram_bytes, max(1, int(resources.get("CPU", 1))))

    def excess(self, prediction: Prediction) -> int:
        """Bytes by which a trial alone on the machine exceeds the budget: above 0 it cannot run, below 0 that much is free."""
        vram = vram_need(prediction) - self.card_bytes if self.gpus else -self.ram_bytes
        return max(vram, ram_grant(prediction) - self.ram_bytes)

    def why_not(self, prediction: Prediction) -> str:
        """Which memory is exceeded and what takes most of it, for a prediction with an excess."""
        place: Place = "vram" if self.gpus and vram_need(prediction) > self.card_bytes else "ram"
        kind, budget = ("GPU memory", self.card_bytes) if place == "vram" else ("memory", self.ram_bytes)
        most = prediction.largest(place)
        return (
            f"does not fit: it would take {size(prediction.nbytes(place))} of {size(budget)} of {kind}, "
            f"{size(most.nbytes)} of them for the {most.name} ({most.formula})"
            + (f"; lower {most.lever}" if most.lever else "")
        )


@dataclass(frozen=True)
class Grant:
    """What Ray reserves for a trial, and the trial's limits.

    Attributes:
        gpu_share: of a card; 0 for a trial on the CPU.
        vram_bytes: GPU memory, CUDA's context included; 0 likewise.
        ram_bytes: host memory.
        cores: for its process.
    """

    gpu_share: float
    vram_bytes: int
    ram_bytes: int
    cores: int = 1

    @property
    def bundle(self) -> dict[str, float]:
        """What a placement group of Ray asks for."""
        gpu = {"GPU": self.gpu_share} if self.gpu_share else {}
        return {"CPU": float(self.cores), "memory": float(self.ram_bytes), **gpu}


def ram_grant(prediction: Prediction) -> int:
    """Host memory that is granted for a prediction, bytes: with headroom, in whole steps."""
    return math.ceil(prediction.ram * RAM_HEADROOM / RAM_STEP_BYTES) * RAM_STEP_BYTES


def vram_need(prediction: Prediction) -> int:
    """GPU memory that a trial needs room for, bytes: with headroom."""
    return math.ceil(prediction.vram * VRAM_HEADROOM)


def grant(prediction: Prediction, budget: Budget, alone: bool = False) -> Grant:
    """What a trial that fits is granted.

    Args:
        prediction: of it.
        budget: of the machine.
        alone: whether it gets a whole card, and may take all memory of a node.
    """
    ram = budget.ram_bytes if alone else ram_grant(prediction)
    if not budget.gpus:
        return Grant(0.0, 0, ram, prediction.cores)
    steps = VRAM_STEPS if alone else min(VRAM_STEPS, math.ceil(vram_need(prediction) * VRAM_STEPS / budget.card_bytes))
    # Rounded down to what Ray counts: 256 steps rounded up are more than a card.
    share = math.floor(steps * SHARES / VRAM_STEPS) / SHARES
    return Grant(share, steps * budget.card_bytes // VRAM_STEPS, ram, prediction.cores)


def concurrency(prediction: Prediction, budget: Budget) -> int:
    """Trials like this one that run at once; at least one.

    Waiting trials are drawn before the running ones are known, so there should not be more trials than fit.
    """
    bounds = [budget.cores // prediction.cores, budget.ram_bytes // ram_grant(prediction)]
    if budget.gpus:
        each = grant(prediction, budget).gpu_share
        bounds.append(budget.gpus * math.floor(1.0 / each))
    return max(1, min(bounds))


def card_budget(card_bytes: int, given_gib: float) -> int:
    """GPU memory of a card that trials may take, bytes.

    Args:
        card_bytes: that it has; 0 without a card.
        given_gib: given by the user, GiB; 0 for the smaller of 8 GiB and the card's.
    """
    return min(card_bytes, round(given_gib * GIB) if given_gib else DEFAULT_CARD_BYTES)
