"""Charging sessions of a year."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from envs.scenarios.iquitos.calendar import stream
from envs.scenarios.iquitos.site import ARRIVAL_FACTOR, CLOSING_HOUR, DAYS, Site, SocketType

ARRIVAL_SOC = (0.245, 0.12)  # mean and standard deviation, clipped to 0-1
TARGET_SOC = (0.78, 0.15)  # likewise, and above the arrival's
SHORT_STAY = (1, 2)  # hours, both ends included
LONG_STAY = (4, 8)


@dataclass(frozen=True)
class Session:
    """One vehicle at one socket: plugged in during rows `start` to `end - 1` of the year."""

    start: int
    end: int
    arrival_soc: float
    target_soc: float


def sessions(site: Site, kind: SocketType, number: int, year: int) -> list[Session]:
    """Sessions of socket `number` of a kind in a year, in order of time.

    Every row a free socket sees a Poisson arrival with the kind's rate times the hour's factor.
    After a departure the socket stays empty for one row: CityLearn shows a stale state of charge where one session follows
    another immediately.
    """
    rng = stream(year, site.name, kind.name, str(number))
    visits = []
    for day in range(DAYS):
        free_from = 0
        for hour, factor in ARRIVAL_FACTOR.items():
            if hour < free_from or rng.random() >= -np.expm1(-kind.arrival_rate * factor):
                continue
            longest = LONG_STAY if rng.random() < site.long_stay_share else SHORT_STAY
            leaves = min(hour + int(rng.integers(longest[0], longest[1] + 1)), CLOSING_HOUR)
            arrival_soc, target_soc = _states_of_charge(rng)
            visits.append(Session(day * 24 + hour, day * 24 + leaves, arrival_soc, target_soc))
            free_from = leaves + 1
    return visits


def _states_of_charge(rng: np.random.Generator) -> tuple[float, float]:
    while True:
        arrival, target = np.clip(rng.normal(*np.transpose([ARRIVAL_SOC, TARGET_SOC])), 0.0, 1.0)
        # Rounded as in the files, so that reading them gives the drawn values.
        arrival, target = round(float(arrival), 4), round(float(target), 4)
        if target > arrival:
            return arrival, target
