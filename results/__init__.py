"""Results of experiments as Parquet: the tuner writes them, and they load without it.

from results import load
r = load("experiments/ppo-iquitos-1")
r.trials, r.reports, r.evaluations  # pandas DataFrames
r.best                              # the trial with the highest score
"""

from results.loader import Results, load
from results.parts import ResultsError

__all__ = ["Results", "ResultsError", "load"]
