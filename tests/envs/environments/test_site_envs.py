"""A few copies that CityLearn steps can be saved and go on number by number."""

from pathlib import Path

import numpy as np
import pytest

from envs.environments.site_envs import SiteEnvs
from envs.scenarios.scenario import Window, scenario

WINDOWS = (Window(0, 0, 24), Window(0, 240, 30))


def opened(schema: Path, copies: int = 2) -> SiteEnvs:
    return SiteEnvs(scenario(str(schema)), WINDOWS, copies, "improvement")


def test_a_state_is_gone_on_from_number_by_number(small_schema: Path) -> None:
    rng = np.random.default_rng(0)
    actions = [rng.uniform(-1.0, 1.0, (2, 5)).astype(np.float32) for _ in range(60)]
    first, second = opened(small_schema), opened(small_schema)
    first.reset(seed=4)
    # Beyond the end of an episode, at which a copy begins another.
    for action in actions[:24]:
        first.step(action)
    second.set_state(first.get_state())
    for action in actions[24:]:
        expected, found = first.step(action), second.step(action)
        for one, other in zip(expected[:4], found[:4], strict=True):
            assert np.array_equal(one, other)
    first.close()
    second.close()


def test_a_state_of_another_number_of_copies_is_refused(small_schema: Path) -> None:
    two, three = opened(small_schema), opened(small_schema, copies=3)
    two.reset(seed=0)
    with pytest.raises(ValueError, match="zip"):
        three.set_state(two.get_state())
    two.close()
    three.close()
