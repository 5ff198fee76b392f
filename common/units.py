"""Units that several parts count in."""

from typing import Final

DAY: Final = 24  # hours
WEEK: Final = 7 * DAY  # hours
YEAR: Final = 365 * DAY  # hours

KIB: Final = 2**10  # bytes
MIB: Final = 2**20
GIB: Final = 2**30
FLOAT: Final = 4  # bytes of a float32
