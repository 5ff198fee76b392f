"""Records fit the kernel that works on them."""

import numpy as np
import pytest

from envs.batch_backend import records
from envs.objective.reward import TERMS

RECORDS = {name: kind for name, kind in vars(records).items() if isinstance(kind, np.dtype)}


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_aligned(name: str) -> None:
    """numba compiles everything a second time for records that are not."""
    assert RECORDS[name].isalignedstruct


def test_the_reward_has_a_mean_and_a_weight_for_each_term() -> None:
    assert records.REWARD["mean"].shape == records.REWARD["weight"].shape == (len(TERMS),)


def test_lanes_are_whole_vectors() -> None:
    assert records.LANES % 4 == 0
    assert all(records.LANE[name].shape == (records.LANES,) for name in records.LANE.names or ())
