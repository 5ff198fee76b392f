"""PPO's search space and presets."""

import pytest

from search_spaces import SpaceError
from search_spaces.ppo import PPO, PPO_PRESETS
from search_spaces.presets import preset
from tests.search_spaces.conformance import check_presets, check_space


def test_the_space_is_sound() -> None:
    check_space(PPO)


def test_presets_are_valid_and_act() -> None:
    check_presets(PPO, PPO_PRESETS)


def test_the_reports_values_are_there() -> None:
    after = preset("ppo", PPO_PRESETS, "rtx4060-after", PPO)
    assert (after["n_steps"], after["n_epochs"], after["batch_size"]) == (8192, 40, 512)


def test_a_minibatch_is_never_larger_than_the_rollout() -> None:
    with pytest.raises(SpaceError, match="batch_size=512: it is at most n_steps=256"):
        PPO.check({"batch_size": 512, "n_steps": 256})
