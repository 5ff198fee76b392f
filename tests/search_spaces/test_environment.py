"""Spaces for environments have nothing that only a site has, and no range that depends on the scale of rewards."""

import pytest

from search_spaces.environment import OF_A_SITE, OTHER, for_environment, presets_for_environment
from search_spaces.on_policy import A2C, A2C_PRESETS, PPO, PPO_PRESETS
from search_spaces.sac import SAC, SAC_PRESETS
from search_spaces.space import SearchSpace

SPACES = {"ppo": (PPO, PPO_PRESETS), "a2c": (A2C, A2C_PRESETS), "sac": (SAC, SAC_PRESETS)}


@pytest.mark.parametrize("algo", SPACES)
def test_what_only_a_site_has_is_gone_and_the_rest_is_valid(algo: str) -> None:
    of_site, presets = SPACES[algo]
    space, limits = for_environment(algo, of_site), {"steps": 250_000.0}
    assert not {parameter.name for parameter in space.parameters} & set(OF_A_SITE)
    assert len(space.parameters) == len(of_site.parameters) - len(OF_A_SITE)
    default = space.complete({}, limits)
    space.check(default, limits)
    assert default["normalize_rewards"] is True
    assert space["normalize_rewards"].search is None, "else ranges of trials without it would depend on the scale"
    kept = presets_for_environment(presets)
    assert "default" in kept
    assert "stable-baselines3" in kept
    for values in kept.values():
        space.check(space.complete({}, limits, values), limits)


@pytest.mark.parametrize("algo", SPACES)
def test_each_change_is_of_a_hyperparameter_that_there_is(algo: str) -> None:
    space, _ = SPACES[algo]
    assert OTHER[algo].keys() <= {parameter.name for parameter in space.parameters}


def test_a_space_of_another_package_keeps_its_own_ranges() -> None:
    own = SearchSpace((PPO["gamma"], PPO["plan"]))
    assert for_environment("mine", own) == SearchSpace((PPO["gamma"],))
