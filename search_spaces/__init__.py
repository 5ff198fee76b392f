"""Hyperparameters of each algorithm: what they mean, what is valid, how they are searched."""

from search_spaces.a2c import A2C
from search_spaces.ppo import PPO
from search_spaces.sac import SAC
from search_spaces.space import Assignment, AtMost, Kind, OnlyIf, Parameter, Scale, SearchSpace, SpaceError, Value

SPACES: dict[str, SearchSpace] = {"sac": SAC, "ppo": PPO, "a2c": A2C}

__all__ = ["SPACES", "Assignment", "AtMost", "Kind", "OnlyIf", "Parameter", "Scale", "SearchSpace", "SpaceError", "Value"]
