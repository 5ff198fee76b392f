"""What a user can do wrong with a scenario."""

from common.errors import UserError


class ScenarioError(UserError, ValueError):
    """A scenario that is not there, or not as CityLearn or this project needs it; says what to do."""
