"""Both gains of each trial of a search with two objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.measure import SCORE
from results.analysis.searched import admissible, aims, searched
from results.experiment_file import read_facts
from results.front import GAINS
from results.loader import Results

if TYPE_CHECKING:
    import pandas as pd

_TAKEN = ("trial", "state", "steps", SCORE.name, "objective", "objective_2", *GAINS)


def gains(results: Results) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Trials by both objectives, and which of them are on the front.

    Args:
        results: of one experiment; with one objective the frame is empty.

    Returns:
        A row for each trial that was evaluated and meets the requirements, the greatest first gain at the top: `trial`,
        `state`, `steps`, `score`, `objective`, `objective_2` (in their units), `gain`, `gain_2` (by what part each is better
        than on the uncontrolled site) and `on_front` (see `Results.front`). And the names of the objectives.
    """
    trials = admissible(searched(results))
    names = aims(read_facts(results.single.folder))
    if any(name not in trials for name in _TAKEN) or len(names) < 2:
        return trials.reindex(columns=[*_TAKEN, "on_front"]).head(0), names
    known = trials[trials[list(GAINS)].notna().all(axis=1)][[*_TAKEN]]
    known = known.assign(on_front=known["trial"].isin(results.front["trial"]))
    return known.sort_values(["gain", "trial"], ascending=[False, True], ignore_index=True), names
