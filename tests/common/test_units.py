"""Units, by their definitions."""

import numpy as np

from common.units import DAY, FLOAT, GIB, KIB, MIB, WEEK, YEAR


def test_hours() -> None:
    assert (DAY, WEEK, YEAR) == (24, 168, 8760)


def test_bytes() -> None:
    assert (KIB, MIB, GIB) == (1024, 1024**2, 1024**3)
    assert np.dtype(np.float32).itemsize == FLOAT
