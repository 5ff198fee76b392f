"""The hours of one run, as a table with units, and a picture of a week of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from common.units import WEEK

if TYPE_CHECKING:
    import pyarrow as pa

ROLLOUT_VERSION = 1
# name: (unit, meaning); all float64 but the calendar's.
COLUMNS: Mapping[str, tuple[str, str]] = {
    "step": ("h", "step of the year, from 0"),
    "month": ("", "1 to 12"),
    "hour": ("", "of the day, 0 to 23"),
    "load_kwh": ("kWh", "consumption before battery and vehicles"),
    "pv_kwh": ("kWh", "PV generation"),
    "battery_kwh": ("kWh", "what stationary batteries took, or gave where it is negative"),
    "charging_kwh": ("kWh", "what the sockets took"),
    "other_kwh": ("kWh", "what other devices took, such as heat pumps: the rest of net_kwh"),
    "net_kwh": ("kWh", "import less export of the site"),
    "import_kwh": ("kWh", "drawn from the grid, every building metered by itself"),
    "export_kwh": ("kWh", "fed into the grid"),
    "price": ("currency/kWh", "of energy, mean over buildings"),
    "carbon": ("kg/kWh", "carbon intensity, mean over buildings"),
    "uncontrolled_net_kwh": ("kWh", "net import of the uncontrolled site in the same hour"),
}
WHOLE = ("step", "month", "hour")
# The same hours under other controllers, where they are known.
BESIDE: Mapping[str, tuple[str, str]] = {
    "mpc_net_kwh": ("kWh", "net import under model predictive control with learned forecasts"),
    "bound_net_kwh": ("kWh", "net import with the highest score, as only who knows the future reaches it"),
}


def table(series: Mapping[str, np.ndarray], about: Mapping[str, str]) -> pa.Table:
    """A run's hours as an Arrow table; of `BESIDE` it may lack some. Raises ValueError if others are missing or unknown."""
    import pyarrow as pa

    if series.keys() - BESIDE.keys() != COLUMNS.keys():
        raise ValueError(f"columns of a rollout are {', '.join(COLUMNS)}; not {', '.join(series)}")
    fields = [
        pa.field(name, pa.int64() if name in WHOLE else pa.float64(), metadata={"unit": unit, "meaning": meaning})
        for name, (unit, meaning) in {**COLUMNS, **BESIDE}.items()
        if name in series
    ]
    metadata = {"table": "rollout", "schema_version": str(ROLLOUT_VERSION), **about}
    return pa.table([series[each.name] for each in fields], schema=pa.schema(fields, metadata=metadata))


def draw_week(series: Mapping[str, np.ndarray], start: int, title: str) -> Any:
    """Figure of a week: the parts of the site's net import, and net import beside the uncontrolled site's."""
    import matplotlib.pyplot as plt

    part = slice(start, start + WEEK)
    week = {name: np.asarray(values)[part] for name, values in series.items()}
    days = np.arange(len(week["step"])) / 24.0
    figure, (power, flows) = plt.subplots(2, 1, sharex=True, figsize=(10, 6.5), height_ratios=(3, 2), layout="constrained")
    power.plot(days, week["load_kwh"], label="load", color="tab:blue", linewidth=1)
    power.plot(days, week["pv_kwh"], label="PV", color="tab:orange", linewidth=1)
    power.plot(days, week["uncontrolled_net_kwh"], label="net, uncontrolled", color="tab:gray", linewidth=1, linestyle="--")
    power.plot(days, week["net_kwh"], label="net", color="black", linewidth=1.5)
    power.axhline(0.0, color="black", linewidth=0.5)
    # Above the legend, as a title may be as long as the picture is wide. A name may have dollar signs, which are no formula.
    figure.suptitle(title, x=0.02, ha="left", fontsize="large", parse_math=False)
    power.set(ylabel="kW")
    power.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, frameon=False)
    flows.fill_between(days, week["battery_kwh"], step="post", label="battery", color="tab:green", alpha=0.6)
    flows.step(days, week["charging_kwh"], where="post", label="sockets", color="tab:purple")
    flows.axhline(0.0, color="black", linewidth=0.5)
    flows.set(ylabel="kW", xlabel="day", xlim=(0, max(days[-1], 1.0)))
    flows.legend(loc="lower right", bbox_to_anchor=(1.0, 0.97), ncols=2, frameon=False)
    return figure
