"""A year of two buildings and four hours, made by hand."""

import numpy as np

from envs.objective.kpis import Part
from envs.objective.reference import Reference
from envs.objective.series import Exogenous, Run, Sessions, cut
from envs.scenarios.tariff import DemandCharge

SERIES = Exogenous(
    month=np.array([1, 1, 1, 1, 1]),
    hour=np.array([17, 18, 19, 20, 21]),
    load_kwh=np.full((2, 5), 3.0),
    pv_kwh=np.array([[4.0, 2.0, 0.0, 0.0, 0.0], [0.0] * 5]),
    price=np.array([[1.0, 2.0, 2.0, 1.0, 1.0]] * 2),
    carbon=np.full((2, 5), 0.5),
    battery_capacity_kwh=10.0,
)
RUN = Run(
    net_kwh=np.array([[-1.0, 0.0, 5.0, 3.0], [3.0, 3.0, 1.0, 3.0]]),
    battery_kwh=np.array([[0.0, -1.0, 2.0, 0.0], [0.0, 0.0, -2.0, 0.0]]),
    charging_kwh=np.zeros((2, 4)),
    missing_kwh=np.array([1.0, 0.0, 1.5, 0.0]),
    owed_kwh=np.zeros(4),
    off_grid=np.zeros((2, 4), dtype=bool),
    baseline_kwh=np.array([[-1.0, 1.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]),
    indoor_c=np.full((2, 4), np.nan),
    asked_kwh=np.zeros((2, 4)),
    unserved_kwh=np.zeros((2, 4)),
)
SESSIONS = Sessions(
    charger=np.array([0, 1, 0, 1]),
    building=np.array([0, 1, 0, 1]),
    gives=np.zeros(4, dtype=bool),
    vehicle=np.array([0, 1, 0, 1]),
    start=np.array([0, 2, 2, 3]),
    end=np.array([1, 3, 3, 4]),
    arrival_soc=np.array([0.1, 0.2, 0.5, 0.0]),
    required_soc=np.array([0.5, 0.5, 0.8, 1.0]),
    capacity_kwh=np.array([10.0, 10.0, 10.0, 10.0]),
    efficiency=np.ones(4),
)
HELD = np.array([0.1, 0.3, 0.2, 0.35, 0.5, 0.65, 0.0, 0.2])  # of each session in each of its two hours
TARIFF = DemandCharge((18, 19), peak_price=10.0, off_peak_excess_price=4.0)


def reference(
    run: Run = RUN, series: Exogenous = SERIES, sessions: Sessions = SESSIONS, tariff: DemandCharge | None = None
) -> Reference:
    """A year's uncontrolled run."""
    return Reference(run, series, sessions, tariff, HELD)


def part(start: int, end: int) -> Part:
    """Some hours of the run."""
    return Part.of(start, cut(RUN, start, end - start), SESSIONS)
