"""Rows of a judgement: one year under one controller."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd


def judged_row(contender: str, score: float, seed: int | None = None, **given: Any) -> dict[str, Any]:
    """A year under a controller; with a seed it was trained."""
    return {
        "contender": contender, "algorithm": None if seed is None else "ppo", "seed": seed, "year": 3, "hours": 100,
        "score": score, "backend": "batch", "import_kwh": 50.0, "co2_kg": 20.0, "bill": 9.0, "pv_kwh": 40.0, "peak_kw": 5.0,
        "self_consumption": 0.5, "ev_required_kwh": 12.0, "ev_served": 0.8, "uncontrolled_co2_kg": 25.0,
        "uncontrolled_bill": 10.0, "uncontrolled_ev_required_kwh": 12.0, "uncontrolled_ev_served": 0.8, **given,
    }  # fmt: skip


def judged_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    found = pd.DataFrame(list(rows))
    found["seed"] = found["seed"].astype("Int64")
    return found
