"""Hyperparameters of each algorithm: what they mean, which values are valid, how they are searched."""

from search_spaces.parameter import (
    Assignment,
    AtMost,
    Kind,
    OnlyIf,
    Parameter,
    PartOf,
    Scale,
    SearchedFrom,
    SpaceError,
    Value,
)
from search_spaces.space import SearchSpace

__all__ = [
    "Assignment",
    "AtMost",
    "Kind",
    "OnlyIf",
    "Parameter",
    "PartOf",
    "Scale",
    "SearchSpace",
    "SearchedFrom",
    "SpaceError",
    "Value",
]
