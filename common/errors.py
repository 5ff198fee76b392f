"""Errors that every command reports in one line."""

from common.uris import with_uris, without_credentials


class UserError(Exception):
    """An error that the user can correct: a line that names the fault, its place and the remedy.

    Several faults that are told at once are an argument each, and a line each. A line break within an argument came with a
    user's value, and commands show it as an escape. A folder that stands for a URI is told as that URI, and a
    URI without credentials.
    """

    def __init__(self, *lines: object) -> None:
        super().__init__(*(with_uris(without_credentials(line)) if isinstance(line, str) else line for line in lines))

    def __str__(self) -> str:
        """All lines."""
        return "\n".join(map(str, self.args))


class UsageError(UserError, ValueError):
    """A command that cannot be carried out as given."""


class ScenarioError(UserError, ValueError):
    """A scenario is missing, or is not as CityLearn or this project needs it. The message says what to do."""


class OtherFormatError(UserError):
    """A file that another version of this package wrote, in a format that this one does not know."""


class InconsistentError(RuntimeError):
    """An internal consistency check failed: a fault of this project. The message has the numbers."""
