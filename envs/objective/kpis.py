"""Key performance indicators of a run: plain functions over its series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from envs.objective.series import Exogenous, Run, Sessions, export_kwh, import_kwh, solar_use_kwh
from envs.scenarios.tariff import DemandCharge, demand_costs


@dataclass(frozen=True)
class Part:
    """A run and the step of its year at which it starts."""

    start: int
    run: Run


@dataclass(frozen=True)
class Kpis:
    """KPIs of a policy over one or more windows of a year; a part of nothing is NaN.

    Attributes:
        hours: that were run.
        consumption_kwh: load, thermal devices and vehicles.
        pv_kwh: PV generation.
        import_kwh: drawn from the grid, every building metered by itself.
        export_kwh: fed into the grid, likewise.
        co2_kg: emission of the import.
        energy_cost: of the import [currency].
        demand_charge: monthly charge on the highest imports of the site [currency].
        bill: both together [currency].
        peak_kw: highest import of the site.
        ramping_kwh: sum of the hourly changes of the site's net import.
        self_consumption: part of the PV energy used on site.
        self_sufficiency: part of the consumption that was not imported.
        battery_cycles: energy discharged over capacity.
        ev_required_kwh: energy that departing vehicles asked for.
        ev_missing_kwh: of it not delivered.
        ev_served: of it delivered, as a part.
        departures: vehicles that left.
        departures_met: of them with what they asked for.
    """

    hours: int
    consumption_kwh: float
    pv_kwh: float
    import_kwh: float
    export_kwh: float
    co2_kg: float
    energy_cost: float
    demand_charge: float
    bill: float
    peak_kw: float
    ramping_kwh: float
    self_consumption: float
    self_sufficiency: float
    battery_cycles: float
    ev_required_kwh: float
    ev_missing_kwh: float
    ev_served: float
    departures: int
    departures_met: int


def kpis(
    parts: Sequence[Part],
    series: Exogenous,
    sessions: Sessions,
    tariff: DemandCharge | None,
) -> Kpis:
    """KPIs of a policy; energy and money add up over the windows.

    Args:
        parts: the runs, one per window.
        series: of the year.
        sessions: of the year; those that lie within a window count.
        tariff: its demand charge.
    """
    rows = [slice(part.start, part.start + part.run.net_kwh.shape[1]) for part in parts]
    net = np.concatenate([part.run.net_kwh for part in parts], axis=1)
    battery = np.concatenate([part.run.battery_kwh for part in parts], axis=1)
    pv, price, carbon = (
        np.concatenate([values[:, part] for part in rows], axis=1) for values in (series.pv_kwh, series.price, series.carbon)
    )
    drawn, site_net = import_kwh(net), [part.run.net_kwh.sum(axis=0) for part in parts]
    # What is neither battery nor PV: load, thermal devices and vehicles.
    consumption = float((net - battery + pv).sum())
    energy_cost = float((drawn * price).sum())
    demand_charge = sum(
        float(demand_costs(tariff, series.month[:-1], series.hour[:-1], import_kwh(site), part.start).sum())
        for part, site in zip(parts, site_net, strict=True)
    )
    inside = [sessions.within(part.start, part.run.net_kwh.shape[1]) for part in parts]
    required = float(sum(sessions.required_kwh[here].sum() for here in inside))
    missing_each = np.concatenate([part.run.missing_kwh[here] for part, here in zip(parts, inside, strict=True)])
    missing = float(missing_each.sum())
    return Kpis(
        hours=net.shape[1],
        consumption_kwh=consumption,
        pv_kwh=float(pv.sum()),
        import_kwh=float(drawn.sum()),
        export_kwh=float(export_kwh(net).sum()),
        co2_kg=float((drawn * carbon).sum()),
        energy_cost=energy_cost,
        demand_charge=demand_charge,
        bill=energy_cost + demand_charge,
        peak_kw=max(float(import_kwh(site).max()) for site in site_net),
        ramping_kwh=float(sum(np.abs(np.diff(site)).sum() for site in site_net)),
        self_consumption=_ratio(float(solar_use_kwh(net, pv).sum()), float(pv.sum())),
        self_sufficiency=1.0 - _ratio(float(drawn.sum()), consumption),
        battery_cycles=_ratio(float(np.maximum(-battery, 0.0).sum()), series.battery_capacity_kwh),
        ev_required_kwh=required,
        ev_missing_kwh=missing,
        ev_served=1.0 - _ratio(missing, required),
        departures=len(missing_each),
        departures_met=int((missing_each == 0.0).sum()),
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else float("nan")
