"""What a user can do wrong with a scenario, and what this package can."""


class ScenarioError(ValueError):
    """A scenario that is not there, or not as CityLearn or this project needs it; says what to do."""


class ImpossibleError(RuntimeError):
    """What cannot be has come out: a fault of this package, told with the numbers."""
