"""A proposal is a value: two with the same content are the same."""

from dataclasses import FrozenInstanceError

import pytest

from tuning.trial.proposal import Proposal


def test_a_proposal_is_compared_by_its_content_and_never_changes() -> None:
    proposal = Proposal(3, {"gamma": 0.9})
    assert proposal == Proposal(3, {"gamma": 0.9}, same_as=None, refused=None)
    assert proposal != Proposal(3, {"gamma": 0.9}, same_as=1)
    with pytest.raises(FrozenInstanceError):
        proposal.number = 4  # type: ignore[misc]
