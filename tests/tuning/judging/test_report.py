"""The tables fit into a terminal of 60 columns or more, and their units fit the site."""

from io import StringIO
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from envs.objective.columns import measures
from results.judgement import BOUND, judgement
from tuning.cli.tables import Fitted
from tuning.judging.report import _extent, tables


def row(contender: str, score: float, seed: int | None = None, **given: Any) -> dict[str, Any]:
    return {
        "contender": contender, "algorithm": None if seed is None else "ppo", "seed": seed, "year": 3, "hours": 8760,
        "score": score, "backend": "batch", "import_kwh": 6_114_171.0, "co2_kg": 2_764_217.0, "bill": 3.5e6, "pv_kwh": 8.1e6,
        "peak_kw": 2_624.0, "self_consumption": 0.798, "ev_required_kwh": 3e5, "ev_missing_kwh": 3e4,
        "uncontrolled_co2_kg": 1_500_000.0, "uncontrolled_bill": 4e6, "uncontrolled_ev_missing_kwh": 3e4, **given,
    }  # fmt: skip


LONG = "CityLearn: BasicElectricVehicleRBC_ReferenceController"


def shown(width: int, **given: Any) -> str:
    rows = [row(BOUND, 0.0772, **given), row(LONG, -0.07, **{"ev_missing_kwh": 2e5, **given})]
    found = pd.DataFrame([*rows, *(row("ppo default, 1,000,000 steps", 0.07 + seed / 1e4, seed, **given) for seed in range(3))])
    found["seed"] = found["seed"].astype("Int64")
    out = StringIO()
    console = Console(file=out, width=width)
    for table in tables(judgement(found, measures()), "iquitos, test years 3"):
        console.print(Fitted(table))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_figure_can_be_read_and_no_name_is_broken(width: int) -> None:
    text = shown(width)
    assert "…" not in text
    for figure in (
        "+0.0701", "+0.0699 to +0.0703", "90.8%", "import, MWh", "6,114", "CO2, t", "2,764", "+84.28%", "-12.50%", "2,624",
        "79.8%", "100.0%",
    ):  # fmt: skip
        assert figure in text, figure
    assert "*" in text
    assert max(len(line) for line in text.splitlines()) <= width
    assert LONG in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_values_and_their_intervals_line_up(width: int) -> None:
    lines = shown(width).splitlines()
    ends = {line.index("+0.0703") + len("+0.0703") for line in lines if "+0.0703" in line}
    heads = {line.index("95% interval") + len("95% interval") for line in lines if "95% interval" in line}
    assert ends == heads
    scores = {line.index(value) for line in lines for value in ("+0.0772", "-0.0700") if value in line}
    assert len(scores) == 1


def test_figures_of_small_homes_have_their_units() -> None:
    text = shown(80, import_kwh=25_312.0, co2_kg=4_012.0, peak_kw=7.351, uncontrolled_co2_kg=4_500.0)
    for figure in ("import, kWh", "25,312", "CO2, kg", "4,012", "peak, kW", "7.35"):
        assert figure in text


def test_a_heading_names_years_but_not_ranges() -> None:
    assert _extent(pd.Series([8760, 8760], index=[3, 6]), has_years=True) == "test years 3, 6; amounts of a year of 8,760 h"
    stated = _extent(pd.Series([2999], index=[7]), has_years=False)
    assert stated == "2,999 hours; amounts of a year of 8,760 h"
