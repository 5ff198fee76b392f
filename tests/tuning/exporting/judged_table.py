"""A judgement's table that is made up."""

import pandas as pd

from envs.objective.columns import measures
from results.judgement import METRICS, metrics


def judgement_of(*contenders: str) -> pd.DataFrame:
    """A judgement's table, of these and the uncontrolled site."""
    listed = metrics(measures())
    values = {f"{name}{end}": value for name in listed for end, value in (("", 0.07), ("_low", 0.06), ("_high", 0.08))}
    rows = [{"contender": name, "algorithm": "ppo", "runs": 2, "comparable": True, **values} for name in contenders]
    table = pd.DataFrame([*rows, {**rows[0], "contender": "uncontrolled", "algorithm": ""}])
    table.attrs[METRICS] = {name: measure.metadata for name, measure in listed.items()}
    return table
