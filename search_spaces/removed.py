"""Hyperparameters of older versions that are gone. Trials in which they did nothing stay readable."""

from __future__ import annotations

from collections.abc import Mapping

from search_spaces.parameter import Assignment, SpaceError, Value

REMOVED: Mapping[str, Value] = {"profile_hours": 0}  # with the value under which each did nothing


def without_removed(assignment: Mapping[str, Value]) -> Assignment:
    """An assignment without hyperparameters that are gone.

    Args:
        assignment: of any version.

    Raises:
        SpaceError: if one of them did something.
    """
    for name, neutral in REMOVED.items():
        if (value := assignment.get(name, neutral)) != neutral:
            raise SpaceError(f"{name}={value}, which this version does not have: go on with the version that made it")
    return {name: value for name, value in assignment.items() if name not in REMOVED}
