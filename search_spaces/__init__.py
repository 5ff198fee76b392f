"""Hyperparameters of each algorithm: what they mean, what is valid, how they are searched."""

from search_spaces.ppo import PPO
from search_spaces.space import Assignment, AtMost, Kind, Parameter, Scale, SearchSpace, SpaceError, Value

SPACES: dict[str, SearchSpace] = {"ppo": PPO}

__all__ = ["SPACES", "Assignment", "AtMost", "Kind", "Parameter", "Scale", "SearchSpace", "SpaceError", "Value"]
