import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.replay.landscape import made
from benchmarks.replay.searchers import SEARCHERS, replayed, source

LAND = made(0, assignments=12, columns=3)


def ends(site: str) -> np.ndarray:
    return made(0, site=site).means[:, -1]


def test_other_sites_by_formula_are_what_their_names_say() -> None:
    own = ends("")
    agreement = {kind: np.mean([spearmanr(own, ends(f"{kind}:{k}"))[0] for k in range(5)]) for kind in ("alike", "unrelated")}
    assert agreement["alike"] > 0.6
    assert abs(agreement["unrelated"]) < 0.4
    assert spearmanr(own, ends("opposite:0"))[0] < -0.7
    assert made(0, site="alike:1").points == made(0).points


def test_a_search_teaches_what_it_trained_long_enough_by_rank() -> None:
    before = replayed(LAND, SEARCHERS["freeze-thaw, prior"], 3.0, seed=0)
    found = source(before, LAND)
    long = [index for index, reached in before.reached.items() if reached >= 4]
    assert len(found.points) == len(long)
    assert sum(found.ranks) == pytest.approx(len(long) * (len(long) + 1) / 2)
    best = max(long, key=lambda index: LAND.means[index, before.reached[index] - 1])
    assert min(found.ranks) == found.ranks[long.index(best)]
