"""The reward `improvement`, building by building.

Emission, cost of energy and PV use are sums over buildings, so each building's own gain is known. Ramps belong to the district:
a building is paid what its own deviation from the uncontrolled run changes of the ramp. What remains (demand charge, peaks,
vehicles) goes to all alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from envs.objective.reference import Reference
from envs.objective.reward import TERMS, coefficients
from envs.objective.series import solar_use_kwh
from envs.objective.weights import Weights

_GRID = TERMS.index("grid")


@dataclass(frozen=True)
class BuildingSeries:
    """What the gains of N buildings are computed from, by row of the years, one year after another."""

    import_worth: np.ndarray  # what a kilowatt-hour of import costs of the reward, shape (rows, N)
    pv_kwh: np.ndarray  # generation, shape (rows, N)
    solar_worth: np.ndarray  # what a kilowatt-hour of PV use brings, shape (rows, 1)
    ramp_worth: np.ndarray  # what a kilowatt-hour of the ramp costs, shape (rows,)
    uncontrolled: np.ndarray  # worth of the uncontrolled run, shape (rows, N)
    net_kwh: np.ndarray  # of the uncontrolled run, shape (rows, N)

    @classmethod
    def of(cls, references: Sequence[Reference], weights: Weights) -> BuildingSeries:
        """Series of years, each with as many rows as its data have; the last one of each is no step."""
        parts = [_of_year(reference, weights) for reference in references]
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def worth(self, rows: np.ndarray, net_kwh: np.ndarray) -> np.ndarray:
        """Reward of emission, energy cost and PV use, before the uncontrolled run's is taken off; shape (copies, N)."""
        solar = solar_use_kwh(net_kwh, self.pv_kwh[rows]) * self.solar_worth[rows]
        return np.asarray(solar - np.maximum(net_kwh, 0.0) * self.import_worth[rows])


def _of_year(reference: Reference, weights: Weights) -> tuple[np.ndarray, ...]:
    factor, series = coefficients(reference.scale, weights), reference.exogenous
    rows = len(series.hour)
    worth = (factor["co2"] * series.carbon + factor["cost"] * series.price).T
    net = np.zeros((rows, len(series.pv_kwh)))
    net[: reference.run.net_kwh.shape[1]] = reference.run.net_kwh.T
    plain = (worth, series.pv_kwh.T, np.full((rows, 1), factor["solar"]), np.full(rows, factor["grid"]))
    alone = BuildingSeries(*plain, np.zeros((0, 0)), net)
    return (*plain, alone.worth(np.arange(rows), net), net)


@dataclass(frozen=True)
class Before:
    """The hour before a step, for C copies of a site with N buildings."""

    net_kwh: np.ndarray  # of each building, shape (C, N); without meaning at an episode's first step
    site_net_kwh: np.ndarray  # of the site, NaN at a year's start, shape (C,)
    first: np.ndarray  # whether the step is the episode's first, shape (C,)


def building_rewards(
    series: BuildingSeries, rows: np.ndarray, before: Before, net_kwh: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """Rewards of the buildings in an hour, shape (C, N), from rows (C,), net import (C, N) and the site's terms (C, terms).

    With g_n a building's own gain in emission, cost of energy and PV use, G the site's net import, d_n a building's deviation
    from the uncontrolled run and D the change since the hour before, it is

        N (g_n + w (|DG - D d_n| - |DG|)) + rest.

    The second term is what the ramp is worth beside the one that were if this building had been uncontrolled, a difference
    reward (Wolpert and Tumer 2002). Its gradient by the building's actions is that of the site's ramp, with less noise from the
    others. N makes the numbers as large as those of the site. The rest is of the whole site.
    """
    own = series.worth(rows, net_kwh) - series.uncontrolled[rows]
    deviation = net_kwh - series.net_kwh[rows]
    earlier = np.where(before.first[:, np.newaxis], 0.0, before.net_kwh - series.net_kwh[rows - 1])
    change = net_kwh.sum(axis=1) - before.site_net_kwh
    # A year's first hour has no ramp.
    change = np.where(np.isnan(change), 0.0, change)[:, np.newaxis]
    moved = np.where(np.isnan(before.site_net_kwh)[:, np.newaxis], 0.0, deviation - earlier)
    ramp = series.ramp_worth[rows][:, np.newaxis] * (np.abs(change - moved) - np.abs(change))
    rest = terms.sum(axis=1) - terms[:, _GRID] - own.sum(axis=1)
    return np.asarray(net_kwh.shape[1] * (own + ramp) + rest[:, np.newaxis])
