"""Draws pictures of a generated year: `python -m envs.preview --scenario iquitos --year 1 --to preview`."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from common.command_line import Parser, status_of
from common.errors import ScenarioError
from common.paths import user_path
from common.texts import whole_number
from common.units import DAY, WEEK
from envs.scenarios.iquitos import SITES
from envs.scenarios.scenario import scenario

WEEK_START = 34 * WEEK  # a week in late August, when the sky is clearest
LAST_YEAR = 2**31 - 1  # any number is a year; the weekday of its first day is computed in 64 bits


def main() -> int:
    """Draw `week.png` and `year.png`; gives the exit status, and stderr says why nothing is drawn."""
    options = parser().parse_args()
    return status_of(lambda: _draw(options.scenario, _year_of(options.year), options.to))


def parser() -> Parser:
    """The options of the command."""
    made = Parser("python -m envs.preview", description="Draw one week and the whole of a generated year.")
    made.add_argument(
        "--scenario",
        metavar="NAME",
        default="iquitos",
        help="generated scenario: iquitos, iquitos-38, or one of them with an option, as in iquitos:pv_kwp=4162",
    )
    made.add_argument("--year", metavar="NUMBER", default="1", help="year number, 0 or more")
    made.add_argument("--to", metavar="FOLDER", default="preview", help="for the pictures")
    return made


def _year_of(text: str) -> int:
    try:
        year = whole_number(text)
    except ValueError as error:
        raise ScenarioError(f"--year: {error}") from None
    if not 0 <= year <= LAST_YEAR:
        raise ScenarioError(f"--year is {year}; it has to be a number from 0 to {LAST_YEAR:,}")
    return year


def _folder(to: str) -> Path:
    folder = user_path(to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ScenarioError(f"--to {to} cannot be made ({error.strerror}); name a folder that you may write to") from error
    return folder


def _draw(name: str, year: int, to: str) -> None:
    site = scenario(name).site
    if site is None:
        raise ScenarioError(f"--scenario {name} has its own data; a preview draws {' or '.join(SITES)}")
    folder = _folder(to)
    from envs.scenarios.iquitos.series import ac_power, calendar, mall_load, sessions, weather

    cal = calendar(year)
    sky = weather(year, cal)
    load, pv = mall_load(year, cal), ac_power(site.pv, sky, cal)
    plugged = np.zeros(len(load))
    for kind in site.sockets:
        for number in range(kind.count):
            for visit in sessions(site, kind, number, year):
                plugged[visit.start : visit.end] += 1
    title = f"{name}, year {year}"
    for path, figure in (
        (folder / "week.png", _week(title, load, pv, plugged)),
        (folder / "year.png", _year(title, load, pv, sky.ghi, plugged, cal.month)),
    ):
        figure.savefig(path, dpi=110)
        print(path)


def _week(title: str, load: np.ndarray, pv: np.ndarray, plugged: np.ndarray) -> Any:
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
    import matplotlib.pyplot as plt

    days = len(load) // 24
    load, pv, ghi, plugged = (series[: days * 24].reshape(days, 24).sum(axis=1) for series in (load, pv, ghi, plugged))
    figure, (energy, sun, vehicles) = plt.subplots(3, 1, sharex=True, figsize=(10, 8), layout="constrained")
    for name, values, colour in (("mall", load / 1000.0, "tab:blue"), ("PV", pv / 1000.0, "tab:orange")):
        energy.plot(values, label=f"{name}, {values.sum() / 1000:.2f} GWh", color=colour, linewidth=1)
    energy.set(ylabel="MWh a day", title=title, ylim=(0, None))
    energy.legend(loc="lower right", ncols=2)
    irradiation = ghi / 1000.0
    sun.plot(irradiation, color="goldenrod", linewidth=1, label=f"irradiation, {irradiation.sum():,.0f} kWh/m2")
    sun.set(ylabel="kWh/m2 a day", ylim=(0, None))
    sun.legend(loc="lower right")
    vehicles.plot(plugged, color="tab:green", linewidth=1)
    starts = np.flatnonzero(np.diff(month[: days * 24 : 24], prepend=-1))
    vehicles.set(ylabel="vehicle hours a day", xticks=starts, xticklabels=range(1, 13), xlabel="month", xlim=(0, days))
    return figure


if __name__ == "__main__":
    sys.exit(main())
