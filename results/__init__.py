"""Results of experiments as Parquet: the tuner writes them, and they load without it.

from results import load
r = load("experiments/ppo-iquitos-1")
r.trials, r.reports, r.evaluations  # pandas DataFrames
r.best                              # the trial with the highest score
r.recommended                       # a trial with the hyperparameters that did best with fresh seeds
r.front                             # of two objectives, the trials that no other one is better than in both
"""

from results.loader import Results, load
from results.table_files import ResultsError

__all__ = ["Results", "ResultsError", "load"]
