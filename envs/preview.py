"""Draws pictures of a generated year: `python -m envs.preview --scenario iquitos --year 1 --to preview`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

from common.units import DAY, WEEK

WEEK_START = 34 * WEEK  # a week in late August, when the sky is clearest


@dataclass(frozen=True)
class Options:
    """Draw one week and the whole of a generated year."""

    scenario: Literal["iquitos", "iquitos-38"] = "iquitos"
    """Generated scenario."""
    year: int = 1
    """Year number."""
    to: Path = Path("preview")
    """Folder for the pictures."""


def main() -> None:
    """Draw `week.png` and `year.png`."""
    options = tyro.cli(Options, prog="python -m envs.preview")
    from envs.scenarios.iquitos.calendar import calendar
    from envs.scenarios.iquitos.load import mall_load
    from envs.scenarios.iquitos.site import SITES
    from envs.scenarios.iquitos.solar import ac_power
    from envs.scenarios.iquitos.vehicles import sessions
    from envs.scenarios.iquitos.weather import weather

    site = SITES[options.scenario]
    cal = calendar(options.year)
    sky = weather(options.year, cal)
    load, pv = mall_load(options.year, cal), ac_power(site.pv, sky, cal)
    plugged = np.zeros(len(load))
    for kind in site.sockets:
        for number in range(kind.count):
            for visit in sessions(site, kind, number, options.year):
                plugged[visit.start : visit.end] += 1
    options.to.mkdir(parents=True, exist_ok=True)
    title = f"{options.scenario}, year {options.year}"
    for path, figure in (
        (options.to / "week.png", _week(title, load, pv, plugged)),
        (options.to / "year.png", _year(title, load, pv, sky.ghi, plugged, cal.month)),
    ):
        figure.savefig(path, dpi=110)
        print(path)


def _week(title: str, load: np.ndarray, pv: np.ndarray, plugged: np.ndarray) -> Any:
    """Load, PV, net load and plugged-in vehicles of a week."""
    import matplotlib.pyplot as plt

    from envs.scenarios.iquitos.site import PEAK_HOURS

    part = slice(WEEK_START, WEEK_START + WEEK)
    days = np.arange(WEEK) / 24.0
    figure, (power, vehicles) = plt.subplots(2, 1, sharex=True, figsize=(10, 6), height_ratios=(3, 1), layout="constrained")
    power.plot(days, load[part], label="mall", color="tab:blue")
    power.plot(days, pv[part], label="PV", color="tab:orange")
    power.plot(days, (load - pv)[part], label="mall less PV", color="tab:gray", linewidth=1)
    power.axhline(0.0, color="black", linewidth=0.5)
    for day in range(WEEK // DAY):
        first, last = PEAK_HOURS[0] / 24.0, (PEAK_HOURS[-1] + 1) / 24.0
        power.axvspan(day + first, day + last, color="tab:red", alpha=0.08, label="peak hours" if day == 0 else None)
    power.set(ylabel="kW", title=f"{title}: a week from day {WEEK_START // 24 + 1}")
    power.legend(loc="upper right", ncols=4)
    vehicles.step(days, plugged[part], where="post", color="tab:green")
    vehicles.set(ylabel="plugged in", xlabel="day", xlim=(0, 7))
    return figure


def _year(title: str, load: np.ndarray, pv: np.ndarray, ghi: np.ndarray, plugged: np.ndarray, month: np.ndarray) -> Any:
    """Daily energies of a year, and its hours of plugged-in vehicles."""
    import matplotlib.pyplot as plt

    days = len(load) // 24
    daily = {name: series[: days * 24].reshape(days, 24).sum(axis=1) / 1000.0 for name, series in (("mall", load), ("PV", pv))}
    figure, (energy, sun, vehicles) = plt.subplots(3, 1, sharex=True, figsize=(10, 8), layout="constrained")
    for (name, values), colour in zip(daily.items(), ("tab:blue", "tab:orange"), strict=True):
        energy.plot(values, label=f"{name}, {values.sum() / 1000:.2f} GWh", color=colour, linewidth=1)
    energy.set(ylabel="MWh a day", title=title, ylim=(0, None))
    energy.legend(loc="lower right", ncols=2)
    irradiation = ghi[: days * 24].reshape(days, 24).sum(axis=1) / 1000.0
    sun.plot(irradiation, color="goldenrod", linewidth=1, label=f"irradiation, {irradiation.sum():,.0f} kWh/m2")
    sun.set(ylabel="kWh/m2 a day", ylim=(0, None))
    sun.legend(loc="lower right")
    vehicles.plot(plugged[: days * 24].reshape(days, 24).sum(axis=1), color="tab:green", linewidth=1)
    starts = np.flatnonzero(np.diff(month[: days * 24 : 24], prepend=-1))
    vehicles.set(ylabel="vehicle hours a day", xticks=starts, xticklabels=range(1, 13), xlabel="month", xlim=(0, days))
    return figure


if __name__ == "__main__":
    main()
