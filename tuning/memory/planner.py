"""Predicted memory of one experiment's trials: corrected by what was measured, and what is granted for it."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from common.json_values import checked, read_json, write_json
from common.paths import cache_folder
from common.texts import note
from envs.cache import usable_cache
from envs.objective.weights import DEFAULT
from envs.seen import Seen
from search_spaces import Assignment
from tuning.algorithms.memory import PLACES, Place, Workload
from tuning.algorithms.registry import AlgorithmSpec, algorithm_of
from tuning.experiment.settings import Settings
from tuning.memory.allocation import Budget, Grant, Kind, grant, largest
from tuning.memory.prediction import CardBaseline, Prediction, Sizes, predict, problem_of

FILE = "memory-calibration-3.json"
# Of the ratios. One trial in ten may take more than its corrected prediction; its limit stays what it was granted.
QUANTILE = 0.9
LEAST = 5  # ratios, below which nothing is corrected
KEPT = 100  # newest ratios of each kind
# Bounds of a correction. A ratio beyond them is no inaccuracy of the model but a fault, which a correction should not hide.
LOWEST, HIGHEST = 0.5, 2.0


@dataclass(frozen=True)
class Correction:
    """How trials differed from their prediction."""

    factor: float
    trials: int  # that it was computed from; 0 where there were too few
    device: str  # where they ran: the card's name, or `cpu`


class Calibration:
    """Ratios of measured to predicted memory, by device, algorithm and place, in a file of the user's cache."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or cache_folder() / FILE

    def add(self, device: str, algo: str, place: Place, predicted: int, measured: int) -> None:
        """Add the peak of a trial; nothing where there is none, or none was predicted."""
        if predicted <= 0 or measured <= 0:
            return
        with usable_cache():
            self._path.parent.mkdir(parents=True, exist_ok=True)
        # Another experiment may end a trial at the same moment.
        with usable_cache(), FileLock(f"{self._path}.lock"):
            known = self._read()
            ratios = known.setdefault(_key(device, algo, place), [])
            ratios.append(round(measured / predicted, 4))
            del ratios[:-KEPT]
            write_json(self._path, known)

    def correction(self, device: str, algo: str, place: Place) -> Correction:
        """Factor of predictions: a quantile of the ratios, once there are enough of them."""
        ratios = sorted(self._read().get(_key(device, algo, place), []))
        if len(ratios) < LEAST:
            return Correction(1.0, 0, device)
        # The smallest ratio that at least so many of the trials do not exceed.
        ratio = ratios[math.ceil(QUANTILE * len(ratios)) - 1]
        return Correction(min(HIGHEST, max(LOWEST, ratio)), len(ratios), device)

    def _read(self) -> dict[str, list[float]]:
        """Ratios by key; none where there is no file. A damaged one is named and begun anew: it costs a correction only."""
        with usable_cache(), suppress(ValueError):
            if not self._path.exists():
                return {}
            known: dict[str, list[float]] = checked(read_json(self._path), dict[str, list[float]], "its content")
            if all(0.0 < value < math.inf for values in known.values() for value in values):
                return known
        note(f"{self._path} is damaged; the next trials begin a new one")
        return {}


def _key(device: str, algo: str, place: Place) -> str:
    return f"{device}/{algo}/{place}"


@dataclass(frozen=True)
class Fallback:
    """How a trial saves memory."""

    name: str  # for people and the `trials` table; empty where nothing is saved
    parts: int  # pieces that each minibatch's gradient is summed up from, which does not change the mathematics
    bf16: bool  # whether networks compute in bfloat16 against the hyperparameters, which changes them

    def apply(self, hyperparameters: Assignment) -> dict[str, Any]:
        """Hyperparameters of a trial with this fallback."""
        return {**hyperparameters, "bf16": True} if self.bf16 else dict(hyperparameters)


FALLBACKS = (
    Fallback("", 1, False),
    Fallback("half minibatches", 2, False),
    Fallback("half minibatches, bfloat16", 2, True),
)


CPU = "cpu"
PEAKS: dict[Place, str] = {"vram": "peak_process_vram_bytes", "ram": "peak_rss_bytes"}  # columns of what was measured


@dataclass(frozen=True)
class Planner:
    """Predicts the memory of trials and what they are granted."""

    settings: Settings  # of the experiment, of one algorithm
    sizes: Sizes
    budget: Budget
    device: str  # the card's name, or `cpu`
    calibration: Calibration  # from earlier trials of this user
    # Of the nodes on which trials are placed; budget and device are those of the one with the largest card.
    kinds: tuple[Kind, ...] = ()

    @classmethod
    def of(cls, settings: Settings, sizes: Sizes, kinds: tuple[Kind, ...], calibration: Calibration) -> Planner:
        """Planner of a cluster."""
        most = largest(kinds)
        # One prediction serves all kinds.
        baseline = max((kind.budget.baseline for kind in kinds), key=CardBaseline.vram)
        budget = replace(most.budget, baseline=baseline)
        return cls(settings, sizes, budget, most.key.device, calibration, kinds)

    @property
    def spec(self) -> AlgorithmSpec:
        """The algorithm."""
        return algorithm_of(self.settings)

    def workload(self, hyperparameters: Assignment, fallback: Fallback = FALLBACKS[0]) -> Workload:
        """What the memory model needs of a trial beside its hyperparameters."""
        s = self.settings
        most = s.num_envs if s.env or s.backend == "batch" else 1
        copies = self.spec.copies(hyperparameters, most)
        lessons = () if s.teacher == "none" else self.sizes.lessons
        windows = s.episodes if s.env else s.validation_weeks or 1
        return Workload(copies, s.steps, s.evaluations, windows, bool(self.budget.gpus), fallback.parts, lessons)

    def corrections(self) -> dict[Place, Correction]:
        """Corrections of the predictions, by place."""
        return {place: self.calibration.correction(self.device, self.settings.algo, place) for place in PLACES}

    def prediction(self, hyperparameters: Assignment, fallback: Fallback = FALLBACKS[0]) -> Prediction:
        """Memory of a trial, with the corrections."""
        h, run = fallback.apply(hyperparameters), self.workload(hyperparameters, fallback)
        prediction = predict(self.spec, h, run, self.sizes, self.budget.baseline)
        return replace(prediction, correction={place: correction.factor for place, correction in self.corrections().items()})

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
        """Bytes that a trial lacked which was expected to fit and ran out of memory; at least one."""
        vram, ram = (row[PEAKS[place]] or 0 for place in PLACES)
        over = max(vram - self.budget.card_bytes if self.budget.gpus else 0, ram - self.budget.ram_bytes)
        return max(1, over)

    def learn(self, row: dict[str, Any]) -> None:
        """Add the measured memory of a trial that ended."""
        for place, peak in PEAKS.items():
            self.calibration.add(self.device, self.settings.algo, place, row[f"predicted_{place}_bytes"] or 0, row[peak] or 0)
