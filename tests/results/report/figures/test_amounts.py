"""What controllers save."""

import numpy as np
import pandas as pd

from results.judgement import METRICS, metrics
from results.report.figures.amounts import amounts
from tests.results.made import MEASURES


def test_amounts_name_what_the_best_trained_controller_saves() -> None:
    table = pd.DataFrame(
        dict.fromkeys(metrics(MEASURES), 1.0)
        | {
            "contender": ["ppo 1", "rule: a"], "algorithm": ["ppo", ""], "comparable": True, "co2_change": [-0.2, -0.1],
            "bill_change": [0.1, -0.1], "import_kwh": [1e5, 2e5], "co2_kg": 1e3, "peak_kw": 10.0, "bill": 5.0,
            "self_consumption": 0.5, "served": np.nan,
        }
    )  # fmt: skip
    table.attrs[METRICS] = {name: own.metadata for name, own in metrics(MEASURES).items()}
    assert (
        amounts(table).answer == "ppo 1 lowers CO2 by 20.0 % (250 kg a year) and raises bill by 10.0 % (0.455 a year) "
        "against the same site without control (batteries idle)."
    )
    told = amounts(table.assign(served=[0.97, 1.0]))
    assert told.answer.endswith(" Vehicles get 97.0 % of the energy that can be served.")
    both = table.assign(bill_change=[-0.1, -0.1])
    assert amounts(both).answer.startswith("ppo 1 lowers CO2 by 20.0 % (250 kg a year) and bill by 10.0 % (")
    assert "import, MWh" in amounts(table).table.columns


def test_where_nothing_is_compared_with_a_site_there_is_no_figure() -> None:
    table = pd.DataFrame({"contender": ["ppo 1"], "algorithm": ["ppo"], "comparable": True, "score": 1.0, "served": np.nan})
    table.attrs[METRICS] = {}
    assert amounts(table) is None
