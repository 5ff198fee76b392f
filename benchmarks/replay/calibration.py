"""How well freeze-thaw's model predicts the ends of recorded curves, and whether it knows how sure it is.

Run: `uv run python -m benchmarks.replay.calibration LANDSCAPE... [--seeds 16]`; landscapes as in `benchmarks.replay`.
"""

import os
from dataclasses import dataclass
from typing import Annotated

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import tyro
from numpy.typing import NDArray

from benchmarks.replay.__main__ import ReplayError, landscape
from benchmarks.replay.command import carry_out
from benchmarks.replay.landscape import Landscape
from tuning.search.models.curve_model import CurveModel, Evaluations, Scale, thinned
from tuning.search.models.freeze_thaw import EVALUATIONS, FIRST, FIT_EVALUATIONS

Array = NDArray[np.float64]
KNOWN = 40  # assignments of which the model sees a part
AHEAD = 8  # frozen ones with the highest ratings so far
WHOLE_PART, HALF_PART, CHANCE = 1 / 8, 1 / 3, 0.1  # of the known ones; chance of any other to be trained to its end
GROUPS = ("frozen", "frozen, the best eight", "not begun")


@dataclass(frozen=True)
class Options:
    """What to predict."""

    landscapes: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Files, or made:SEED."""
    seeds: int = 16
    """Draws of what the model sees."""


def surprises(land: Landscape, seed: int) -> dict[str, tuple[Array, Array]]:
    """Predict ends from parts of curves, as long as a search makes them: of the best early ones more is known.

    Args:
        land: the model sees parts of the curves of `KNOWN` assignments, and of two thirds of them where there are few.
        seed: decides which assignments the model sees, which seed of each, and which were trained to the end.

    Returns:
        By group: z, by how many predicted standard deviations an end differs; and these deviations, scaled.
    """
    rng = np.random.default_rng([seed, 5])
    ratings = land.of_one_seed(rng)
    order = rng.permutation(len(land))
    known = order[: min(KNOWN, 2 * len(land) // 3)]
    lengths = _lengths(ratings[known], rng)
    observed = [(row, at) for row, length in enumerate(lengths) for at in range(length)]
    rows, at = (np.array(each, dtype=np.int64) for each in zip(*observed, strict=True))
    seen = ratings[known[rows], at]
    scale = Scale.of(seen)
    data = Evaluations(rows, np.log(land.steps[at]), scale.scaled(seen))
    points = land.encoded[order]
    model = CurveModel(points, thinned(data, EVALUATIONS), CurveModel.fitted(points, data, FIT_EVALUATIONS).logs)
    mean, deviation = model.predict(np.arange(len(order)), np.full(len(order), np.log(land.steps[-1])))
    deviation = np.sqrt(deviation**2 + model.noise)
    z = (scale.scaled(ratings[order, -1]) - mean) / deviation
    frozen = np.flatnonzero(lengths < ratings.shape[1])
    ahead = frozen[np.argsort(-ratings[known[frozen], lengths[frozen] - 1], kind="stable")[:AHEAD]]
    groups = (frozen, ahead, np.arange(len(known), len(order)))
    return {name: (z[rows], deviation[rows]) for name, rows in zip(GROUPS, groups, strict=True)}


def _lengths(ratings: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many evaluations of each curve are known, by assignment; ratings are of shape (assignments, evaluations)."""
    evaluations = ratings.shape[1]
    first = max(1, round(FIRST * evaluations))
    place = np.argsort(np.argsort(-ratings[:, first - 1], kind="stable"))
    lengths = np.where(place < HALF_PART * len(ratings), max(first, evaluations // 2), first)
    whole = (place < WHOLE_PART * len(ratings)) | (rng.random(len(ratings)) < CHANCE)
    return np.where(whole, evaluations, lengths).astype(np.int64)


def main(options: Options) -> None:
    """Predict, and print a table in Markdown."""
    if options.seeds < 1:
        raise ReplayError(f"--seeds {options.seeds}: at least 1")
    lands = [landscape(name) for name in options.landscapes]
    print("| landscape | ends of | assignments | median z² | mean z² | log density |\n|---|---|---:|---:|---:|---:|")
    for land in lands:
        found = [surprises(land, seed) for seed in range(options.seeds)]
        for name in GROUPS:
            z, deviation = (np.concatenate([each[name][part] for each in found]) for part in (0, 1))
            density = np.mean(-0.5 * (z**2 + np.log(2 * np.pi)) - np.log(deviation))
            figures = f"{np.median(z**2):.2f} | {np.mean(z**2):.2f} | {density:.2f}"
            print(f"| {land.name} | {name} | {len(z) // options.seeds} | {figures} |", flush=True)


if __name__ == "__main__":
    carry_out(main, Options, __doc__)
