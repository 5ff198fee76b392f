"""Spaces of earlier versions are still known, and what they wrote is read by today's names."""

import pytest

from search_spaces.a2c import A2C
from search_spaces.earlier import EARLIER, NEW_NAMES, in_todays_names
from search_spaces.ppo import PPO
from search_spaces.sac import SAC
from tests.search_spaces.conformance import check_space

TODAY = {"ppo": PPO, "a2c": A2C, "sac": SAC}
# As version 0.1 described what it searched: experiments are compared by these texts.
POWERS = "searched as log2_{} in IntDistribution(high={}, log=False, low={}, step=1)"
BEFORE = {
    "ppo": {"n_steps": POWERS.format("n_steps", 14, 7), "batch_size": POWERS.format("batch_size", 11, 6)},
    "a2c": {"n_steps": POWERS.format("n_steps", 12, 6)},
    "sac": {
        "buffer_size": POWERS.format("buffer_size", 20, 15),
        "train_freq": POWERS.format("train_freq", 8, 4),
        "gradient_steps": POWERS.format("gradient_steps", 5, 1),
    },
}


@pytest.mark.parametrize("algo", EARLIER)
def test_an_earlier_space_has_todays_names_and_is_sound(algo: str) -> None:
    for space in EARLIER[algo]:
        assert space.describe().keys() == TODAY[algo].describe().keys()
        check_space(space)


@pytest.mark.parametrize("algo", BEFORE)
def test_the_space_of_version_0_1_is_described_as_it_was(algo: str) -> None:
    first = [TODAY[algo], *EARLIER[algo]][-1]
    for name, text in BEFORE[algo].items():
        assert text in first.describe()[name]
        assert "enough" not in first.describe()[name]


def test_what_was_target_kl_is_kl_target_and_new_assignments_stay() -> None:
    assert in_todays_names({"gamma": 0.9, "target_kl": 0.02}) == {"gamma": 0.9, "target_kl": None, "kl_target": 0.02}
    for kept in ({"gamma": 0.9}, {"target_kl": 0.02, "kl_target": None}):
        assert in_todays_names(kept) is kept  # type: ignore[arg-type]
    assert all(name in PPO for name in NEW_NAMES)
