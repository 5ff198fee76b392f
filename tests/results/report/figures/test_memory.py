"""Whether memory was predicted well."""

import pandas as pd

from results.report.figures.memory import memory


def test_measured_memory_is_said_beside_the_predicted_one() -> None:
    found = pd.DataFrame(
        {
            "trial": [0, 1, 2], "state": "complete", "kind": "host", "predicted_bytes": 1e9, "granted_bytes": 2e9,
            "measured_bytes": [1e9, 1.2e9, 3e9], "ratio": [1.0, 1.2, 3.0], "exceeded": [False, False, True],
            "out_of_memory": [0, 0, 2],
        }
    )  # fmt: skip
    assert memory(found).answer == (
        "Trials took 1.20 times the predicted host memory (median of 3), and 1 exceeded what it was granted; "
        "memory ran out 2 times."
    )
    assert memory(found.head(0)).answer == "It cannot be said: no memory was measured."
