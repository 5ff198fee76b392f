"""A policy's run through one window: what environments give to evaluations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from envs.objective.reference import Reference
from envs.objective.series import Run
from envs.scenarios.scenario import Window

# Maps observations, shape (copies, observations), to actions, shape (copies, actions).
Policy = Callable[[np.ndarray], np.ndarray]

TRAINING_HOURS = 336  # length of a training episode: two weeks, so that few steps see many seasons
EVALUATION_SEED = 0  # of the vehicles' drift in evaluations


@dataclass(frozen=True)
class Episode:
    """A run through one window.

    Attributes:
        window: the window.
        reference: uncontrolled run of its year.
        reward: sum of the rewards.
        terms: sums of the weighted terms of the `improvement` reward, by name.
        run: energies of each hour.
        citylearn: CityLearn's own ratios by the names of its `evaluate()`; empty where the backend cannot tell them.
    """

    window: Window
    reference: Reference
    reward: float
    terms: dict[str, float]
    run: Run
    citylearn: dict[str, float]
