"""One page that says what came of a search, a judgement or a policy: `python -m results.report EXPERIMENT...`.

from results import report
report.write(["experiments/ppo-iquitos-1"])   # path of report.html

Tables go one way: `results.load`, functions that return DataFrames, figures (question, answer, specification, alternative),
page. Needs neither Ray nor torch.
"""

from results.report.writing import NAME, write

__all__ = ["NAME", "write"]
