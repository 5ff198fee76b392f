"""Copies of the small site with two buildings, of which some rows are other ones."""

import shutil
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from tests.districts import write_district

DAY = 24
SHARED = ("weather.csv", "pricing.csv", "carbon_intensity.csv")
OF_MALL = ("mall.csv", "motorcycle_001.csv", "motorcycle_002.csv", "motorcycle_003.csv", "mototaxi_001.csv")
OF_OFFICE = ("office.csv",)


def two_buildings(small_schema: Path, folder: Path) -> Path:
    """The small site with a second building, an office with a battery and without chargers, and without a demand charge."""
    own = {"battery": (1700.0, 400.0), "pv": 7140.0}
    sockets = [name.removesuffix(".csv") for name in OF_MALL[1:]]
    homes = {"mall": {"load": 1.0, **own, "chargers": sockets}, "office": {"load": 0.5, **own, "chargers": []}}
    path = write_district(small_schema, folder, homes)
    (folder / "tariff.json").unlink()
    return path


def with_other_rows(path: Path, folder: Path, days: Collection[int], names: Collection[str]) -> Path:
    """A copy of a site in which each value of some days is another one.

    The calendar stays, as data that do not follow it are refused.

    Args:
        path: of its `schema.json`.
        folder: for the copy.
        days: that change.
        names: files that change.
    """
    shutil.copytree(path.parent, folder)
    random = np.random.default_rng(0)
    for name in names:
        # As texts: the rows that stay keep each digit.
        table = pd.read_csv(folder / name, dtype=str, keep_default_na=False)
        rows = np.flatnonzero(np.isin(np.arange(len(table)) // DAY, list(days)))
        for column in set(table) - {"month", "hour"}:
            table.loc[rows, column] = _others(column, table.loc[rows, column], random)
        table.to_csv(folder / name, index=False)
    return folder / "schema.json"


def _others(column: str, before: pd.Series, random: np.random.Generator) -> list[str]:
    """Other values of a column, within what is plausible."""
    if column.startswith("electric_vehicle"):
        return ["3" if column.endswith("charger_state") else ""] * len(before)  # no vehicle comes any more
    values, noise = before.astype(float).to_numpy(), random.random(len(before))
    if column == "day_type":
        return ["8"] * len(values)
    if "irradiance" in column or column == "solar_generation":
        values = 1999.0 - 100.0 * noise
    elif "humidity" in column:
        values = 100.0 * noise
    elif values.any():  # a demand without a device stays zero
        values = 1.5 * values + noise
    return [repr(value) for value in values.tolist()]
