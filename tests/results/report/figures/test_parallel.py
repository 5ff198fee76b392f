"""What good trials share."""

import numpy as np
import pandas as pd

from results.report.figures.parallel import parallel


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


def test_what_good_trials_share_is_said_if_others_lack_it() -> None:
    assert parallel(effects(), []).answer == "The best 5 of 50 trials all have shared=True and gamma from 0.900 to 0.940."
    assert parallel(effects(8), []).answer == "It cannot be said from 8 trials; it takes at least 10."
    apart = effects()
    apart.loc[(apart["trial"] < 5) & (apart["hyperparameter"] == "gamma"), "position"] = [0.0, 1.0, 0.5, 0.2, 0.8]
    apart.loc[(apart["trial"] == 2), "label"] = "False"
    assert parallel(apart, []).answer.startswith("Nothing that the others lack:")
