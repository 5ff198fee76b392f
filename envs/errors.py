"""Errors of scenarios."""

from common.errors import UserError


class ScenarioError(UserError, ValueError):
    """A scenario is missing, or is not as CityLearn or this project needs it. The message says what to do."""
