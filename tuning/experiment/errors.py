"""What a user can do wrong with a command or an experiment."""

from common.errors import UserError


class UsageError(UserError, ValueError):
    """A command that cannot be carried out as given; one line that names the fault and the remedy."""


class OtherFormatError(UserError):
    """A file that another version of this package wrote, in a format that this one does not know."""
