"""Units, by their definitions."""

import numpy as np

from common.units import DAY, FLOAT, GIB, KIB, MIB, WEEK, YEAR


def test_hours_and_bytes() -> None:
    assert (DAY, WEEK, YEAR, KIB, MIB, GIB) == (24, 168, 8760, 1024, 1024**2, 1024**3)
    assert np.dtype(np.float32).itemsize == FLOAT
