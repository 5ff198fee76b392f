"""How well ratings after a part of the training tell the order at the end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from results.analysis.curves import evaluated
from results.analysis.searched import frame
from results.experiment_file import read_facts
from results.loader import Results

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

LEAST_PAIRS = 4  # trials below which a rank correlation says nothing
_NORMAL = 1.959964  # quantile of the standard normal distribution for 95 %


def rung_ranks(results: Results) -> pd.DataFrame:
    """Rank correlation of ratings at each evaluation with those at each later one.

    Only trials that went on to the later evaluation can be compared, and those were good before. So correlations are lower
    than among all trials, most of all where bad trials are frozen or pruned early.

    Args:
        results: of one experiment; without trials of two evaluations the frame is empty.

    Returns:
        A row for each pair of evaluations: `rung` and `against` (numbers of the evaluations, from 1), `part` and `against_part`
        (of a trial's most steps; empty without settings), `trials` (that have both), `correlation` (Spearman), `low` and `high`
        (95 % interval by Fisher's z with the variance of Bonett and Wright 2000), `kept` (smallest share of the trials, in the
        order at the rung, that still holds the best one at the later evaluation) and `is_last` (the later one is the last).
        Correlation and its interval are empty below `LEAST_PAIRS` trials and where all ratings are equal.
    """
    import numpy as np

    facts = read_facts(results.single.folder)
    own = evaluated(results, facts)
    of_search = results.trials.loc[results.trials["confirms"].isna() & results.trials["same_as"].isna(), "trial"]
    own = own[own["trial"].isin(of_search) & (own["rung"] > 0)]
    table = own.drop_duplicates(["trial", "rung"], keep="last").pivot(index="trial", columns="rung", values="place")
    reports = facts.settings.get("reports")
    whole = float(reports) if isinstance(reports, int) and reports > 0 else math.nan
    rungs = [int(rung) for rung in table.columns]
    rows: list[dict[str, object]] = []
    for place, rung in enumerate(rungs):
        for against in rungs[place + 1 :]:
            pairs = table[[rung, against]].dropna().to_numpy(float)
            if len(pairs) < 2:
                continue
            correlation, low, high = _spearman(pairs)
            first, last = pairs.T
            kept = float(np.mean(first >= first[last.argmax()]))
            row = {"rung": rung, "against": against, "part": rung / whole, "against_part": against / whole}
            row |= {"trials": len(pairs), "correlation": correlation, "low": low, "high": high, "kept": kept}
            rows.append({**row, "is_last": against == (rungs[-1] if math.isnan(whole) else whole)})
    types = {"rung": "int64", "against": "int64", "part": "float64", "against_part": "float64", "trials": "int64"}
    return frame(rows, {**types, **dict.fromkeys(("correlation", "low", "high", "kept"), "float64"), "is_last": "bool"})


def _spearman(pairs: np.ndarray) -> tuple[float, float, float]:
    """Rank correlation with its interval; NaN where there are too few pairs, or one side has no order.

    Args:
        pairs: shape (trials, 2).
    """
    import numpy as np
    import pandas as pd

    ranks = pd.DataFrame(pairs).rank().to_numpy()
    if len(pairs) < LEAST_PAIRS or (ranks.std(axis=0) == 0.0).any():
        return math.nan, math.nan, math.nan
    correlation = float(np.corrcoef(ranks.T)[0, 1])
    z = math.atanh(max(-1.0 + 1e-9, min(1.0 - 1e-9, correlation)))
    half = _NORMAL * math.sqrt((1.0 + correlation**2 / 2.0) / (len(pairs) - 3))
    return correlation, math.tanh(z - half), math.tanh(z + half)
