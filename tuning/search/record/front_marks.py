"""The column `on_front` of `trials`, for those who read the files without this package."""

from __future__ import annotations

import pandas as pd

from results import Results
from tuning.trial.records import TrialRecords


def mark_front(records: TrialRecords, results: Results) -> None:
    """Write which trials are on the front now, where a row says otherwise. No trial runs.

    Args:
        records: rows of the trials.
        results: of the experiment.
    """
    front = set(results.front["trial"])
    rated = results.trials[results.trials["gain"].notna() & results.trials["confirms"].isna()]
    for number, before in zip(rated["trial"].tolist(), rated["on_front"].tolist(), strict=True):
        if pd.isna(before) or bool(before) != (number in front):
            records.update(number, on_front=number in front)
