"""What the hours of one policy say: a rollout as tables, each against the uncontrolled site.

The uncontrolled site is known by its net import alone, so both count as sites with one meter: import is net import above 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.units import DAY, WEEK, YEAR
from results.rollout import COLUMNS, ROLLOUT_VERSION
from results.table_files import ResultsError, size_fault

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Hours:
    """A rollout.

    Attributes:
        path: of its file.
        about: facts of the file: experiment, trial, steps, scenario, year, backend.
        table: a row an hour; see `results.rollout.COLUMNS`.
    """

    path: Path
    about: dict[str, str]
    table: pd.DataFrame


def read(path: Path) -> Hours:
    """Read a rollout.

    Args:
        path: of a Parquet file that `python -m tuning.rollout` wrote.

    Raises:
        ResultsError: if it is damaged, none of ours, or of a newer version.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if fault := size_fault(path):
            raise ResultsError(f"{path}: {fault}: write it again with python -m tuning.rollout")
        content = pq.read_table(path, partitioning=None, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise ResultsError(f"{path}: {reason}: write it again with python -m tuning.rollout") from error
    about = {key.decode(): value.decode(errors="replace") for key, value in (content.schema.metadata or {}).items()}
    lacking = [name for name in COLUMNS if name not in content.column_names]
    if about.get("table") != "rollout" or lacking or not len(content):
        why = f"it lacks the column {lacking[0]}" if lacking else "it has no hours" if not len(content) else "it is no rollout"
        raise ResultsError(f"{path}: {why}: give a file that python -m tuning.rollout wrote")
    if int(about.get("schema_version", "0")) > ROLLOUT_VERSION:
        raise ResultsError(f"{path}: its version is newer than this package's {ROLLOUT_VERSION}: update the package")
    return Hours(path, about, content.select(list(COLUMNS)).to_pandas())


def sums(hours: pd.DataFrame) -> pd.DataFrame:
    """Import, cost of energy and emission as those of a year of 8,760 h, and the highest import.

    Args:
        hours: of a rollout.

    Returns:
        Rows `policy` and `uncontrolled`; columns import_kwh, cost (currency), co2_kg, peak_kw.
    """
    import pandas as pd

    rows = {}
    for name, net in (("policy", hours["net_kwh"]), ("uncontrolled", hours["uncontrolled_net_kwh"])):
        drawn = net.clip(lower=0.0)
        rows[name] = {
            "import_kwh": drawn.mean() * YEAR, "cost": (drawn * hours["price"]).mean() * YEAR,
            "co2_kg": (drawn * hours["carbon"]).mean() * YEAR, "peak_kw": drawn.max(),
        }  # fmt: skip
    return pd.DataFrame(rows).T


def hardest_week(hours: pd.DataFrame) -> pd.DataFrame:
    """The whole week with the highest import of the uncontrolled site in an hour; all hours where there is no whole week.

    Args:
        hours: of a rollout.
    """
    weeks = len(hours) // WEEK
    if not weeks:
        return hours.reset_index(drop=True)
    peaks = hours["uncontrolled_net_kwh"].to_numpy()[: weeks * WEEK].reshape(weeks, WEEK).max(axis=1)
    start = int(peaks.argmax()) * WEEK
    return hours.iloc[start : start + WEEK].reset_index(drop=True)


def by_day(hours: pd.DataFrame) -> pd.DataFrame:
    """Import of each day.

    Args:
        hours: of a rollout.

    Returns:
        Columns day (from 1), policy, uncontrolled (kWh).
    """
    day = (hours["step"] // DAY + 1).rename("day")
    drawn = hours[["net_kwh", "uncontrolled_net_kwh"]].clip(lower=0.0)
    daily = drawn.groupby(day).sum().rename(columns={"net_kwh": "policy", "uncontrolled_net_kwh": "uncontrolled"})
    # A first or last day of some hours would look like a day of little import.
    return daily[(hours.groupby(day).size() == DAY) | (len(hours) < 2 * DAY)].reset_index()


def by_month_and_hour(hours: pd.DataFrame) -> pd.DataFrame:
    """Mean change of net import against the uncontrolled site.

    Args:
        hours: of a rollout.

    Returns:
        Columns month, hour (as the rollout has them) and change_kw.
    """
    change = (hours["net_kwh"] - hours["uncontrolled_net_kwh"]).rename("change_kw")
    return change.groupby([hours["month"], hours["hour"]]).mean().reset_index()


def duration_curve(hours: pd.DataFrame, points: int = 200) -> pd.DataFrame:
    """Net import in descending order.

    Args:
        hours: of a rollout.
        points: how many of the curve; more of them at its upper end.

    Returns:
        Columns share (of the hours with at least this import), policy, uncontrolled (kW).
    """
    import numpy as np
    import pandas as pd

    places = np.unique(((len(hours) - 1) * np.linspace(0.0, 1.0, points) ** 2).round().astype(int))
    columns = {name: np.sort(hours[column].to_numpy())[::-1][places] for name, column in _NETS.items()}
    return pd.DataFrame({"share": (places + 1) / len(hours), **columns})


_NETS = {"policy": "net_kwh", "uncontrolled": "uncontrolled_net_kwh"}


def by_month(hours: pd.DataFrame) -> pd.DataFrame:
    """Cost of energy of each month, in the order of the data.

    Args:
        hours: of a rollout.

    Returns:
        Columns month, hours, policy, uncontrolled (currency), and saved, the difference.
    """
    cost = hours[["net_kwh", "uncontrolled_net_kwh"]].clip(lower=0.0).mul(hours["price"], axis=0)
    grouped = cost.groupby(hours["month"], sort=False)
    monthly = grouped.sum().rename(columns={"net_kwh": "policy", "uncontrolled_net_kwh": "uncontrolled"})
    monthly.insert(0, "hours", grouped.size())
    monthly["saved"] = monthly["uncontrolled"] - monthly["policy"]
    return monthly.reset_index()


def by_hour(hours: pd.DataFrame) -> pd.DataFrame:
    """The mean day of battery, vehicles, PV and price.

    Args:
        hours: of a rollout.

    Returns:
        Columns hour, battery_kwh, charging_kwh, pv_kwh, price.
    """
    names = ["battery_kwh", "charging_kwh", "pv_kwh", "price"]
    return hours.groupby("hour")[names].mean().reset_index()
