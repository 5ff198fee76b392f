"""The hyperparameter of searches with two objectives: what the first of them gets of the reward."""

from __future__ import annotations

from optuna.distributions import FloatDistribution

from search_spaces.parameter import Kind, Parameter
from search_spaces.space import SearchSpace

NAME = "reward_share"
ENDS = (0.0, 1.0)  # all for the second objective, all for the first


def with_reward_share(space: SearchSpace, default: float) -> SearchSpace:
    """A space in which it is searched too."""
    share = Parameter(
        NAME, Kind.NUMBER, default, "the first objective's part of what both objectives' terms weigh in the reward",
        low=ENDS[0], high=ENDS[1], search=FloatDistribution(*ENDS),
    )  # fmt: skip
    return SearchSpace((*space.parameters, share))
