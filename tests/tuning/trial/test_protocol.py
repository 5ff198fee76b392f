"""What lives in the driver stays there."""

import pickle
import threading

from tuning.trial.protocol import DriverOnly


class WithALock(DriverOnly):
    """Holds what cannot be pickled, as a journal or a terminal does."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


def test_a_snapshot_of_it_is_empty() -> None:
    assert vars(pickle.loads(pickle.dumps(WithALock()))) == {}
