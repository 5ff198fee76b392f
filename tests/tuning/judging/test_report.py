"""The tables fit into a terminal of 80 columns."""

from io import StringIO
from typing import Any

import pandas as pd
from rich.console import Console

from results.judgement import BOUND, judgement
from tuning.judging.report import _extent, tables


def row(contender: str, score: float, seed: int | None = None, **given: Any) -> dict[str, Any]:
    return {
        "contender": contender, "algorithm": None if seed is None else "ppo", "seed": seed, "year": 3, "hours": 8760,
        "score": score, "backend": "batch", "import_kwh": 6_114_171.0, "co2_kg": 2_764_217.0, "bill": 3.5e6, "pv_kwh": 8.1e6,
        "peak_kw": 2_624.0, "self_consumption": 0.798, "ev_required_kwh": 3e5, "ev_missing_kwh": 3e4,
        "uncontrolled_co2_kg": 1_500_000.0, "uncontrolled_bill": 4e6, "uncontrolled_ev_missing_kwh": 3e4, **given,
    }  # fmt: skip


def test_every_figure_can_be_read_in_eighty_columns() -> None:
    rows = [row(BOUND, 0.0772), row("CityLearn: BasicElectricVehicleRBC_ReferenceController", -0.07, ev_missing_kwh=2e5)]
    found = pd.DataFrame([*rows, *(row("ppo default, 1,000,000 steps", 0.07 + seed / 1e4, seed) for seed in range(3))])
    found["seed"] = found["seed"].astype("Int64")
    out = StringIO()
    console = Console(file=out, width=80)
    for table in tables(judgement(found), "iquitos, test years 3"):
        console.print(table)
    text = out.getvalue()
    assert "…" not in text
    for figure in (
        "+0.0701",
        "(+0.0699 to +0.0703)",
        "90.8%",
        "6,114",
        "2,764",
        "+84.28%",
        "-12.50%",
        "2,624",
        "79.8%",
        "100.0%",
    ):
        assert figure in text, figure
    assert "*" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_a_heading_names_years_but_not_ranges() -> None:
    assert _extent(pd.Series([8760, 8760], index=[3, 6]), has_years=True) == "test years 3, 6"
    stated = _extent(pd.Series([2999], index=[7]), has_years=False)
    assert stated.startswith("2,999 hours (")
    assert "year 7" not in stated
