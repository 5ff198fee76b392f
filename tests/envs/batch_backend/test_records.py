"""Records fit the kernel that works on them."""

import numpy as np
import pytest

from envs.batch_backend import records

RECORDS = {name: kind for name, kind in vars(records).items() if isinstance(kind, np.dtype)}


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_aligned(name: str) -> None:
    """numba compiles everything a second time for records that are not."""
    assert RECORDS[name].isalignedstruct
