"""Single rows of tables. What a row holds depends on the table, so it has no static type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def greatest(frame: pd.DataFrame, column: str) -> Any:
    """The first row with the greatest value of a column; missing values do not count."""
    import numpy as np

    return frame.iloc[int(np.nanargmax(frame[column].to_numpy(float)))]


def least(frame: pd.DataFrame, column: str) -> Any:
    """The first row with the least value of a column; see `greatest`."""
    import numpy as np

    return frame.iloc[int(np.nanargmin(frame[column].to_numpy(float)))]


def each(frame: pd.DataFrame) -> list[Any]:
    """Rows with their columns as attributes."""
    return list(frame.itertuples(index=False))


def important_first(effects: pd.DataFrame, order: list[str]) -> list[str]:
    """Hyperparameters that were searched, the important ones first."""
    every = list(dict.fromkeys(effects["hyperparameter"]))
    return [*(name for name in order if name in every), *(name for name in every if name not in order)]
