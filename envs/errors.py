"""Errors of scenarios and of the cache."""

from common.errors import UserError


class ScenarioError(UserError, ValueError):
    """A scenario is missing, or is not as CityLearn or this project needs it. The message says what to do."""


class CacheError(UserError):
    """A file or folder of the cache cannot be read or written. The message names the variable that says where it is."""
