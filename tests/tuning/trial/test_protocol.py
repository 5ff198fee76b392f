"""Objects of the driver are empty when they are pickled."""

import pickle
import threading

from tuning.trial.protocol import DriverOnly


class WithALock(DriverOnly):
    """Has an attribute that cannot be pickled, as journals and terminals have."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


def test_a_snapshot_of_it_is_empty() -> None:
    assert vars(pickle.loads(pickle.dumps(WithALock()))) == {}
