"""Objects of the driver are empty when they are pickled."""

import pickle
import threading
from dataclasses import FrozenInstanceError

import pytest

from tuning.trial.protocol import DriverOnly, Proposal


class WithALock(DriverOnly):
    """Has an attribute that cannot be pickled, as journals and terminals have."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


def test_a_snapshot_of_it_is_empty() -> None:
    assert vars(pickle.loads(pickle.dumps(WithALock()))) == {}


def test_a_proposal_is_compared_by_its_content_and_never_changes() -> None:
    proposal = Proposal(3, {"gamma": 0.9})
    assert proposal == Proposal(3, {"gamma": 0.9}, same_as=None, refused=None)
    assert proposal != Proposal(3, {"gamma": 0.9}, same_as=1)
    with pytest.raises(FrozenInstanceError):
        proposal.number = 4  # type: ignore[misc]
