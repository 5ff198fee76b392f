"""The two kinds of error that every command knows how to tell."""


class UserError(Exception):
    """Something that the user can put right: one line that names the fault, its place and the remedy."""


class InconsistentError(RuntimeError):
    """An internal consistency check failed: a fault of this project, told with the numbers."""
