"""Spaces of earlier versions are still known, and what they wrote is read by today's names."""

import json
from pathlib import Path

import pytest
from optuna.distributions import FloatDistribution

from search_spaces import AtMost
from search_spaces.a2c import A2C
from search_spaces.earlier import EARLIER, NEW_NAMES, in_todays_names
from search_spaces.ppo import PPO
from search_spaces.removed import REMOVED
from search_spaces.sac import SAC
from tests.search_spaces.conformance import check_space

TODAY = {"ppo": PPO, "a2c": A2C, "sac": SAC}


@pytest.mark.parametrize("algo", EARLIER)
def test_an_experiment_of_version_0_1_is_described_word_by_word_as_it_was(algo: str) -> None:
    """The file holds what `describe` said in version 0.1, made once with its code."""
    file = Path(__file__).parents[1] / "assets" / "spaces-0.1.json"
    before = json.loads(file.read_text(encoding="utf-8"))[algo]
    kept = {name: text for name, text in before.items() if name not in REMOVED}
    assert {name: text for name, text in EARLIER[algo][-1].describe().items() if name not in NEW_NAMES} == kept


@pytest.mark.parametrize("algo", EARLIER)
def test_an_earlier_space_has_todays_names_and_is_sound(algo: str) -> None:
    for space in EARLIER[algo]:
        assert space.describe().keys() == TODAY[algo].describe().keys()
        check_space(space)


def test_what_sac_drew_before_is_known_in_its_order() -> None:
    drawn = [(space["ent_coef_initial"].search, space["gradient_steps"].searched_to) for space in (SAC, *EARLIER["sac"])]
    today, before = FloatDistribution(3e-3, 0.1, log=True), FloatDistribution(1e-4, 0.1, log=True)
    enough = AtMost("steps", 1 / 5000)
    assert drawn == [(today, enough), (before, enough), (before, None), (before, None)]


@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_where_deviations_began_before_is_known(algo: str) -> None:
    begins = [space["log_std_init"].searched_from for space in (TODAY[algo], *EARLIER[algo])]
    assert [begin is not None for begin in begins] == [True, False, False]


def test_what_was_target_kl_is_kl_target_and_new_assignments_stay() -> None:
    assert in_todays_names({"gamma": 0.9, "target_kl": 0.02}) == {"gamma": 0.9, "target_kl": None, "kl_target": 0.02}
    for kept in ({"gamma": 0.9}, {"target_kl": 0.02, "kl_target": None}):
        assert in_todays_names(kept) is kept  # type: ignore[arg-type]
    assert all(name in PPO for name in NEW_NAMES)
