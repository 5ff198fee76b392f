"""A judgement's table that is made up."""

import pandas as pd

from results.judgement import METRICS


def judgement_of(*contenders: str) -> pd.DataFrame:
    """A judgement's table, of these and the uncontrolled site."""
    values = {f"{name}{end}": value for name in METRICS for end, value in (("", 0.07), ("_low", 0.06), ("_high", 0.08))}
    rows = [{"contender": name, "algorithm": "ppo", "runs": 2, "comparable": True, **values} for name in contenders]
    return pd.DataFrame([*rows, {**rows[0], "contender": "uncontrolled", "algorithm": ""}])
