"""The two kinds of error that every command reports in one line."""


class UserError(Exception):
    """An error that the user can correct. The message names the fault, its place and the remedy in one line."""


class InconsistentError(RuntimeError):
    """An internal consistency check failed: a fault of this project. The message has the numbers."""
