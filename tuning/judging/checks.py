"""Checks of a judgement: no result beats perfect foresight, and each contender has a score."""

from __future__ import annotations

import numpy as np
import pandas as pd

from envs.objective.evaluate import ValidityError, check_score
from results.judgement import BOUND, BOUNDS

# Relative tolerance, of the larger of the bound and the uncontrolled site's figure: for the solver's tolerance and float32
# series.
AMOUNT = 1e-4
SERVED = 1e-6  # part of the required vehicle energy: too little to lower an emission or a bill noticeably
_SERVICE = ("ev_missing_kwh", "ev_required_kwh")
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
        # A baseline that is another site, such as one without PV, has none.
        if year in limits and pd.notna(score):
            check_score(name, year, score, limits[year])


def check_amounts(evaluations: pd.DataFrame) -> None:
    """Check that no policy has less emission or a lower bill than the bound of each.

    The bounds serve every vehicle that can be served. A policy that serves fewer may be below them, unchecked. Bounds of
    older judgements do not say how much energy is missing; then nothing is checked.

    Args:
        evaluations: of a judgement; see `results.schema`.

    Raises:
        ValidityError: for the first that is below its bound.
    """
    # Without a row of a bound its amounts have no column.
    needed = [name for amount in _AMOUNTS for name in (amount, f"uncontrolled_{amount}")]
    evaluations = evaluations.reindex(columns=[*dict.fromkeys([*evaluations.columns, *needed, *_SERVICE])])
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
