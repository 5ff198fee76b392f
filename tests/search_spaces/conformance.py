"""What holds of every search space and of its presets."""

from collections.abc import Mapping

import optuna

from search_spaces import Assignment, SearchSpace
from search_spaces.presets import preset

BUDGET = {"steps": 1e6}
FROM_THE_REPORTS = {"rtx4060-before", "rtx4060-after", "script-before", "script-after", "oom-before", "oom-safe"}


def check_space(space: SearchSpace) -> None:
    """Defaults are valid, conditions name what comes before, draws are valid."""
    seen = {"steps"}
    space.check({p.name: p.default for p in space.parameters}, BUDGET)
    for parameter in space.parameters:
        assert parameter.meaning
        assert parameter.name not in seen
        for condition in (parameter.at_most, parameter.only_if, parameter.searched_from):
            assert condition is None or condition.name in seen
        seen.add(parameter.name)
    for steps in (1e6, 2048, 600):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        for _ in range(50):
            space.check(space.suggest(study.ask(), {}, {"steps": steps}), {"steps": steps})


def check_presets(space: SearchSpace, presets: Mapping[str, Assignment]) -> None:
    """Each is a valid full assignment, and what it sets acts: no other value of it switches it off."""
    assert {"default", "stable-baselines3"} | FROM_THE_REPORTS <= presets.keys()
    for name, given in presets.items():
        values = preset("algorithm", presets, name, space)
        assert list(values) == [parameter.name for parameter in space.parameters]
        assert {key: values[key] for key in given} == given
        space.check(values, BUDGET)
        space.check(given, BUDGET)
