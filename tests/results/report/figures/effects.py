"""Effects of hyperparameters that are made up."""

import numpy as np
import pandas as pd


def effects(count: int = 50, edge: str = "") -> pd.DataFrame:
    """The best trials have `shared`=True and `gamma` near 0.9; the first is the best."""
    rows = []
    for trial in range(count):
        good = trial < 5
        place = 0.9 + 0.01 * trial if good else (trial % 10) / 10
        common = {"trial": trial, "state": "complete", "rating": 1.0 - trial / count, "acts": True, "is_best": trial == 0}
        rows.append({**common, "hyperparameter": "gamma", "value": place, "label": str(place), "position": place, "choices": 0})
        shared = good or trial % 4 == 0
        rows.append(
            {
                **common,
                "hyperparameter": "shared",
                "value": np.nan,
                "label": str(shared),
                "position": float(shared),
                "choices": 2,
            }
        )
    ends = {"low": 0.0, "high": 1.0, "log": False, "at_edge": ""}
    frame = pd.DataFrame(rows).assign(**ends)
    frame.loc[(frame["hyperparameter"] == "gamma") & frame["is_best"], "at_edge"] = edge
    return frame
