import numpy as np
import pytest

from benchmarks.real_searches.tables import lines, markdown, verdict
from results.statistics import paired_mean


def judged(method: str, scores: list[list[float]], site: str = "a") -> list[dict[str, object]]:
    return [
        {"site": site, "method": method, "seed": seed, "run": run, "score": score}
        for seed, own in enumerate(scores)
        for run, score in enumerate(own)
    ]


def cells(*methods: str, site: str = "a") -> list[dict[str, object]]:
    return [
        {"site": site, "method": method, "seed": seed, "score": 0.3, "trials": 10 + seed, "seconds": 60.0}
        for method in methods
        for seed in range(3)
    ]


OURS = [[0.20, 0.22], [0.21, 0.21], [0.24, 0.20]]
THEIRS = [[0.10, 0.12], [0.13, 0.11], [0.10, 0.10]]


def test_searches_are_the_units_of_the_intervals() -> None:
    ours, theirs = lines(cells("ours", "sb3"), judged("ours", OURS) + judged("sb3", THEIRS), [], runs=2)
    assert ours.scores == pytest.approx({0: 0.21, 1: 0.21, 2: 0.22})
    assert ours.ours_minus is None
    assert theirs.ours_minus == paired_mean(np.mean(OURS, axis=1), np.mean(THEIRS, axis=1))
    assert (theirs.pairs, theirs.trials, theirs.minutes, theirs.searched) == (3, 11.0, 1.0, pytest.approx(0.3))
    assert verdict([ours, theirs]) == ["ours against sb3: ahead on 1 of 1 sites, below on 0."]


def test_a_search_counts_when_all_its_trainings_are_there_and_pairs_share_their_seed() -> None:
    rows = judged("ours", OURS) + judged("sb3", [*THEIRS[:2], THEIRS[2][:1]])
    _, theirs = lines(cells("ours", "sb3"), rows, [], runs=2)
    assert sorted(theirs.scores) == [0, 1]
    assert theirs.pairs == 2
    rows = [row for row in rows if row["method"] == "sb3" or row["seed"] == 1]
    ours, theirs = lines(cells("ours", "sb3"), rows, [], runs=2)
    assert (sorted(ours.scores), theirs.pairs) == ([1], 1)
    assert theirs.ours_minus == pytest.approx(0.09)
    assert verdict([ours, theirs]) == []
    assert "+0.0900, 1 pairs" in markdown([ours, theirs])
