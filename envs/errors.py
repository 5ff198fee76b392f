"""What a user can do wrong with a scenario."""


class ScenarioError(ValueError):
    """A scenario that is not there, or not as CityLearn or this project needs it; says what to do."""
