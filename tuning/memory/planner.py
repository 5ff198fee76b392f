"""Predicted memory and grants of the trials of one experiment on this machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from envs.objective.weights import DEFAULT
from envs.seen import Seen
from search_spaces import Assignment
from tuning.algorithms.memory import Workload
from tuning.algorithms.registry import algorithm
from tuning.algorithms.spec import AlgorithmSpec
from tuning.experiment.settings import Settings
from tuning.memory.allocation import Budget, Grant, grant
from tuning.memory.calibration import Calibration, Correction
from tuning.memory.fallbacks import FALLBACKS, Fallback
from tuning.memory.kinds import Kind
from tuning.memory.prediction import PLACES, Prediction, predict, problem_of
from tuning.memory.scenario_sizes import Sizes

CPU = "cpu"


@dataclass(frozen=True)
class Planner:
    """Predicts the memory of trials and what they are granted.

    Attributes:
        settings: of the experiment, of one algorithm.
        sizes: of its scenario.
        budget: of the machine.
        device: the card's name, or `cpu`.
        calibration: from earlier trials of this user.
        kinds: of the cluster's nodes, for `tuning.memory.placement`; budget and device are those of the one with the largest
            card. Empty for one machine of this budget.
    """

    settings: Settings
    sizes: Sizes
    budget: Budget
    device: str
    calibration: Calibration
    kinds: tuple[Kind, ...] = ()

    @classmethod
    def of(cls, settings: Settings, sizes: Sizes, kinds: tuple[Kind, ...], calibration: Calibration) -> Planner:
        """Planner of a cluster.

        Args:
            settings: see `Planner`.
            sizes: likewise.
            kinds: of the cluster's nodes, at least one.
            calibration: see `Planner`.
        """
        largest = max(kinds, key=lambda kind: (kind.key.card_bytes, kind.budget.ram_bytes))
        return cls(settings, sizes, largest.budget, largest.key.device, calibration, kinds)

    @property
    def spec(self) -> AlgorithmSpec:
        """The algorithm."""
        return algorithm(self.settings.algo)

    def workload(self, hyperparameters: Assignment, fallback: Fallback = FALLBACKS[0]) -> Workload:
        """What the memory model needs of a trial beside its hyperparameters."""
        s = self.settings
        most = s.num_envs if s.backend == "batch" else 1
        copies = self.spec.copies(hyperparameters, most)
        lessons = () if s.teacher == "none" else self.sizes.lessons
        return Workload(copies, s.steps, s.reports, s.validation_weeks or 1, bool(self.budget.gpus), fallback.parts, lessons)

    def corrections(self) -> tuple[Correction, Correction]:
        """Of the predictions of GPU memory and of host memory."""
        vram, ram = (self.calibration.correction(self.device, self.settings.algo, place) for place in PLACES)
        return vram, ram

    def prediction(self, hyperparameters: Assignment, fallback: Fallback = FALLBACKS[0]) -> Prediction:
        """Memory of a trial, with the corrections."""
        found = predict(self.spec, fallback.apply(hyperparameters), self.workload(hyperparameters, fallback), self.sizes)
        vram, ram = self.corrections()
        return replace(found, correction=(vram.factor, ram.factor))

    def excess(self, hyperparameters: Assignment) -> tuple[int, str]:
        """Bytes by which a trial exceeds the budget, below 0 where it fits, and the reason."""
        prediction = self.prediction(hyperparameters)
        excess = self.budget.excess(prediction)
        return excess, self.budget.why_not(prediction) if excess > 0 else ""

    def cost(self, hyperparameters: Assignment) -> float:
        """Expected seconds of a step of a trial in units of the default's, above 0."""
        seconds = self.spec.seconds
        default = self.spec.space.complete({})
        of_default = seconds(default, problem_of(default, self.sizes))
        seen = self.sizes.seeing(Seen.of(DEFAULT, hyperparameters))
        return seconds(hyperparameters, problem_of(hyperparameters, seen)) / of_default

    def grant(self, hyperparameters: Assignment, fallback: Fallback = FALLBACKS[0], alone: bool = False) -> Grant:
        """What a trial is granted."""
        return grant(self.prediction(hyperparameters, fallback), self.budget, alone)

    def missing(self, row: dict[str, Any]) -> int:
        """Bytes that a trial lacked which was expected to fit and ran out of memory; at least one.

        Args:
            row: of the `trials` table.
        """
        vram, ram = (row["peak_process_vram_bytes"] or 0), (row["peak_rss_bytes"] or 0)
        over = max(vram - self.budget.card_bytes if self.budget.gpus else 0, ram - self.budget.ram_bytes)
        return max(1, over)

    def learn(self, row: dict[str, Any]) -> None:
        """Add the measured memory of a trial that ended.

        Args:
            row: of the `trials` table.
        """
        for place, measured in (("vram", row["peak_process_vram_bytes"]), ("ram", row["peak_rss_bytes"])):
            predicted = row[f"predicted_{place}_bytes"]
            if predicted and measured:
                self.calibration.add(self.device, self.settings.algo, place, predicted, measured)  # type: ignore[arg-type]
