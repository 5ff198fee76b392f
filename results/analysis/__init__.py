"""What results say, as functions that return pandas DataFrames.

from results import load
from results.analysis import importance, leaderboard
r = load("experiments/ppo-iquitos-1")
leaderboard(r).head()
importance(r)

Each takes the `Results` of one experiment; `compare` takes a list. Columns and units are in the docstrings. An experiment that
is too small for a question gives an empty frame with the same columns. None of them needs ray, torch or CityLearn.
"""

from results.analysis.curves import confirmed, learning_curves, mean_curves
from results.analysis.judged import judged_runs, luck
from results.analysis.ped_anova import importance
from results.analysis.progress import best_so_far, compare, leaderboard, pareto_front, references
from results.analysis.searched import best_trial, default_trial, effects
from results.analysis.yardsticks import beside_yardsticks, best_alone

__all__ = [
    "beside_yardsticks",
    "best_alone",
    "best_so_far",
    "best_trial",
    "compare",
    "confirmed",
    "default_trial",
    "effects",
    "importance",
    "judged_runs",
    "leaderboard",
    "learning_curves",
    "luck",
    "mean_curves",
    "pareto_front",
    "references",
]
