"""What a user can do wrong with an experiment."""


class UsageError(ValueError):
    """A command that cannot be carried out as given; one line that names the fault and the remedy."""
