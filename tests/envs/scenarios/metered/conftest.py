"""Files of two homes, of which one has PV and two chargers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from envs.scenarios.metered import SiteOptions

DAYS = 21
HOURS = pd.date_range("2024-03-20", periods=24 * DAYS, freq="h")


@pytest.fixture
def given(tmp_path: Path) -> SiteOptions:
    """What makes a site of them."""
    rng = np.random.default_rng(0)
    times = {"time": HOURS.strftime("%Y-%m-%d %H:%M")}
    load = {"Home A (kWh)": rng.uniform(0.2, 2.0, len(HOURS)), "Home B (kWh)": rng.uniform(0.2, 2.0, len(HOURS))}
    pv = {"Home A (kWh)": np.clip(np.sin((HOURS.hour - 6) / 12 * np.pi), 0.0, None) * 3.0}
    pd.DataFrame(times | load).to_csv(tmp_path / "load.csv", index=False)
    pd.DataFrame(times | pv).to_csv(tmp_path / "pv.csv", index=False)
    (tmp_path / "sessions.csv").write_text(
        "building,charger,arrival,departure,energy_kwh\n"
        "Home_A,left,2024-03-20 18:20,2024-03-21 07:40,10\n"
        "Home_A,left,2024-03-21 08:00,2024-03-21 12:00,40\n"
        "Home_A,right,2024-03-20 19:00,2024-03-21 07:00,20\n"
        "Home_A,right,2024-03-22 19:10,2024-03-22 19:50,2\n"
        "Home_A,right,2024-03-19 19:00,2024-03-20 07:00,20\n",
        encoding="utf-8",
    )
    return SiteOptions(
        tmp_path / "site", load=str(tmp_path / "load.csv"), pv=str(tmp_path / "pv.csv"), pv_kw=("Home_A=4",),
        battery_kwh=("Home_B=8",), battery_kw=("Home_B=3",), price="0.2", carbon="0.4", sessions=str(tmp_path / "sessions.csv"),
        vehicle_kwh=40.0, charger_kw=7.4,
    )  # fmt: skip
