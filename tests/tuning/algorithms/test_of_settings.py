"""What settings add to an algorithm's own space."""

import pytest

from search_spaces.reward_share import NAME
from tuning.algorithms.of_settings import algorithm_of
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(objective="bill"),
        Settings(objective="co2 bill", reward="schema"),
        Settings(objective="score bill"),
        Settings(objective="bill peak_kw"),
    ],
)
def test_without_two_terms_to_weigh_it_is_the_algorithm_itself(settings: Settings) -> None:
    assert algorithm_of(settings) is algorithm("ppo")


def test_with_two_terms_the_share_is_searched_in_every_algorithm() -> None:
    for algo in ("ppo", "a2c", "sac"):
        spec = algorithm_of(Settings(algo=algo, objective="co2 bill"))
        assert spec.preset("default")[NAME] == pytest.approx(0.5 / 0.65)
        assert spec.build is algorithm(algo).build
