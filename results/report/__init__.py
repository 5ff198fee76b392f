"""One page that says what came of searches, judgements and policies, without Ray and torch.

from results import report
report.write(["experiments/ppo-iquitos-1"])   # path of report.html
"""

from results.report.writing import NAME, write

__all__ = ["NAME", "write"]
