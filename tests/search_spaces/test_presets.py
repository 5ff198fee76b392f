"""Presets are valid, and say what the engineers' reports say."""

import pytest

from search_spaces import SPACES, SpaceError
from search_spaces.presets import PRESETS, preset

BUDGET = {"steps": 1e6}


@pytest.mark.parametrize(("algo", "name"), [(algo, name) for algo, presets in PRESETS.items() for name in presets])
def test_a_preset_is_a_valid_full_assignment(algo: str, name: str) -> None:
    space = SPACES[algo]
    values = preset(algo, name, space)
    assert list(values) == [parameter.name for parameter in space.parameters]
    space.check(values, BUDGET)
    # What it sets acts: nothing in it stands where another value switches it off.
    space.check(PRESETS[algo][name], BUDGET)


def test_every_algorithm_has_the_engineers_presets() -> None:
    wanted = {"default", "rtx4060-before", "rtx4060-after", "script-before", "script-after", "oom-before", "oom-safe"}
    for algo, presets in PRESETS.items():
        assert wanted | {"stable-baselines3"} <= presets.keys(), algo
    assert PRESETS.keys() == SPACES.keys()


def test_the_reports_values_are_there() -> None:
    after = preset("ppo", "rtx4060-after", SPACES["ppo"])
    assert (after["n_steps"], after["n_epochs"], after["batch_size"]) == (8192, 40, 512)
    before = preset("a2c", "rtx4060-before", SPACES["a2c"])
    assert (before["n_steps"], before["learning_rate"], before["learning_rate_schedule"]) == (16, 0.002, "exponential")


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(SpaceError, match="did you mean oom-safe"):
        preset("ppo", "oom-saf", SPACES["ppo"])
    with pytest.raises(SpaceError, match="there are default"):
        preset("ppo", "nothing", SPACES["ppo"])


def test_what_a_preset_does_not_say_gives_way() -> None:
    space = SPACES["ppo"]
    small = preset("ppo", "default", space, {"hidden_sizes": "8"}, {"steps": 1000.0})
    assert (small["n_steps"], small["batch_size"], small["hidden_sizes"]) == (128, 128, "8")
    with pytest.raises(SpaceError, match="n_steps=8192: it is at most"):
        preset("ppo", "rtx4060-after", space, {}, {"steps": 1000.0})
