"""Named assignments: what the engineers of the site in Iquitos ran, and the defaults of libraries.

Each algorithm's own are beside its space. A preset names what it sets; everything else has the space's default.

| name | where its values come from |
|---|---|
| `default` | the space: what is known to work |
| `several-buildings` | what is known to work on sites of several buildings, where one policy acts for each |
| `planned` | the same, by changes of a plan of model predictive control; PPO's are of a search on five homes |
| `rtx4060-before`, `rtx4060-after` | the engineers' first report: one 8 GB card, before and after their tuning |
| `script-before`, `script-after` | the engineers' scripts |
| `report` | a run that the engineers reported |
| `oom-before`, `oom-safe` | the engineers' answer to running out of memory |
| `stable-baselines3`, `rllib` | the defaults of these libraries |

Some values that the engineers' scripts never read contradict the others. They are omitted: A2C's batches of 1,024 and 2,048
transitions out of rollouts of 16 and 128.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from common.texts import hint
from search_spaces.parameter import Assignment, SpaceError
from search_spaces.space import SearchSpace

# What we know to work, rather than what somebody ran. So their values give way to the budget and to given ones, as defaults do.
RECOMMENDED = ("default", "several-buildings", "planned")


def preset(
    algorithm: str,
    presets: Mapping[str, Assignment],
    name: str,
    space: SearchSpace,
    given: Assignment | None = None,
    limits: Mapping[str, float] = MappingProxyType({}),
) -> Assignment:
    """Full assignment of a preset.

    Args:
        algorithm: name of the algorithm, for messages.
        presets: of the algorithm, by name.
        name: of the preset.
        space: of the algorithm; its defaults hold where neither the preset nor `given` sets a value.
        given: values that override the preset's.
        limits: see `SearchSpace.check`.

    Raises:
        SpaceError: if there is no such preset, with the nearest name; or if the values contradict each other.
    """
    if name not in presets:
        raise SpaceError(f"no preset {name} of {algorithm}: {hint(name, presets)}")
    given = given or {}
    if name in RECOMMENDED:
        values = space.complete(given, limits, presets[name])
    else:
        values = space.complete({**presets[name], **given}, limits)
    space.check(values, limits)
    return values
