"""Hyperparameters of each algorithm: what they mean, which values are valid, how they are searched.

Presets are named assignments. A preset names what it sets; everything else has the space's default.

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

from search_spaces.parameter import Assignment, Kind, SpaceError, Value
from search_spaces.space import SearchSpace

__all__ = ["Assignment", "Kind", "SearchSpace", "SpaceError", "Value"]
