"""What no judgement can come to: results better than perfect foresight, and contenders without a score."""

from __future__ import annotations

import numpy as np
import pandas as pd

from envs.objective.validity import ValidityError, check_score
from results.judgement import BOUND, BOUNDS

# Of the bound or the uncontrolled site, whichever is more: of what the solver stops within, and of float32 series.
AMOUNT = 1e-4
SERVED = 1e-6  # of the vehicle energy asked for: far below what it could save of an amount
_AMOUNTS = {"co2_kg": ("bound of co2", "an emission", "kg"), "bill": ("bound of cost", "a bill", "")}


def check_scores(evaluations: pd.DataFrame) -> None:
    """Check all scores against the bound of their year, where there is one, and that each contender has one.

    Args:
        evaluations: of a judgement; see `results.schema`.

    Raises:
        ValidityError: if one is above the bound, or a contender's is no number.
    """
    limits = dict(evaluations.loc[evaluations["contender"] == BOUND, ["year", "score"]].to_numpy().tolist())
    judged = evaluations.loc[~evaluations["contender"].isin(BOUNDS), ["contender", "algorithm", "year", "score"]]
    for name, algorithm, year, score in judged.itertuples(index=False):
        if pd.notna(algorithm) and not np.isfinite(score):
            raise ValidityError(f"{name}, year {year}: a score of {score} is no number")
        # A site that nobody did anything with has none.
        if year in limits and pd.notna(score):
            check_score(name, year, score, limits[year])


def check_amounts(evaluations: pd.DataFrame) -> None:
    """Check that nobody emits or pays less than the bounds of both.

    These serve every vehicle that can be served, so who serves less may be below them and is not looked at. Nor is anybody
    where the bounds do not say what is missing, as those of older judgements.

    Args:
        evaluations: of a judgement; see `results.schema`.

    Raises:
        ValidityError: if somebody does.
    """
    judged = evaluations[~evaluations["contender"].isin(BOUNDS)]
    for amount, (bound, thing, unit) in _AMOUNTS.items():
        limits = evaluations[evaluations["contender"] == bound].set_index("year")
        limit, missing = (judged["year"].map(limits[name]) for name in (amount, "ev_missing_kwh"))
        serves_all = judged["ev_missing_kwh"] <= missing + SERVED * judged["ev_required_kwh"]
        slack = AMOUNT * np.maximum(limit.abs(), judged[f"uncontrolled_{amount}"].abs())
        below = serves_all & (judged[amount] < limit - slack)
        if below.any():
            row = judged[below].iloc[0]
            raise ValidityError(
                f"{row['contender']}, year {row['year']}: {thing} of {row[amount]:,.3f} {unit}".rstrip()
                + f" is below the bound of {limit[below].iloc[0]:,.3f}"
            )
