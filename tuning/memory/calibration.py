"""Ratios of measured to predicted memory, kept for this user, and the correction of predictions that follows from them."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from common.cache_folder import cache_folder
from common.files import write_whole
from envs.cache import usable_cache
from tuning.memory.prediction import Place

FILE = "memory-calibration.json"
# Of the ratios. One trial in ten may take more than its corrected prediction; its limit stays what it was granted.
QUANTILE = 0.9
LEAST = 5  # ratios, below which nothing is corrected
KEPT = 100  # newest ratios of each kind
# Bounds of a correction. A ratio beyond them is no inaccuracy of the model but a fault, which a correction should not hide.
LOWEST, HIGHEST = 0.5, 2.0


@dataclass(frozen=True)
class Correction:
    """How trials differed from their prediction.

    Attributes:
        factor: of the prediction.
        trials: that it was computed from; 0 where there were too few.
        device: where they ran: the card's name, or `cpu`.
    """

    factor: float
    trials: int
    device: str


class Calibration:
    """Ratios of measured to predicted memory, by device, algorithm and place, in a file of the user's cache.

    Args:
        path: of the file; the user's by default.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or cache_folder() / FILE

    def add(self, device: str, algo: str, place: Place, predicted: int, measured: int) -> None:
        """Add the peak of a trial.

        Args:
            device: the card's name, or `cpu`.
            algo: algorithm.
            place: of the memory.
            predicted: bytes, without correction.
            measured: bytes.
        """
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
            write_whole(self._path, lambda file: file.write(json.dumps(known, indent=1).encode()))

    def correction(self, device: str, algo: str, place: Place) -> Correction:
        """Factor of predictions: a quantile of the ratios, once there are enough of them."""
        ratios = sorted(self._read().get(_key(device, algo, place), []))
        if len(ratios) < LEAST:
            return Correction(1.0, 0, device)
        # The smallest ratio that at least so many of the trials do not exceed.
        found = ratios[math.ceil(QUANTILE * len(ratios)) - 1]
        return Correction(min(HIGHEST, max(LOWEST, found)), len(ratios), device)

    def _read(self) -> dict[str, list[float]]:
        """Ratios by key; none where there is no file. A damaged one is named and begun anew: it costs a correction only."""
        with usable_cache():
            if not self._path.exists():
                return {}
            content = self._path.read_bytes()
        try:
            known = json.loads(content)
        except (ValueError, RecursionError):  # wrong encodings too
            known = None
        if not isinstance(known, dict) or not all(map(_are_ratios, known.values())):
            print(f"note: {self._path} is damaged; the next trials begin a new one", file=sys.stderr)
            return {}
        return known


def _are_ratios(values: object) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < math.inf for value in values
    )


def _key(device: str, algo: str, place: Place) -> str:
    return f"{device}/{algo}/{place}"
