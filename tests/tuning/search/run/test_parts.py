"""What a run is put together from."""

import math

import pandas as pd

from tuning.search.run.parts import final_scores


def test_only_trials_that_ended_by_themselves_or_the_pruner_have_a_final_score() -> None:
    ended = pd.DataFrame(
        {
            "trial": range(5),
            "state": ["complete", "pruned", "oom", "failed", "complete"],
            "score": [0.1, 0.2, 0.3, 0.4, 0.5],
            "confirms": [None, None, None, None, 0],
        }
    )
    found = final_scores(ended)
    assert {number: score for number, score in found.items() if not math.isnan(score)} == {0: 0.1, 1: 0.2}
    assert set(found) == {0, 1, 2, 3, 4}
