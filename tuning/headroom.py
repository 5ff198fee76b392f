"""Remaining headroom of a site, before anyone trains on it: `python -m tuning.headroom --scenario iquitos`."""

import sys

from tuning.cli.command import command
from tuning.judging.settings import HeadroomSettings


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; for the exit status see `command`."""
    return command(HeadroomSettings, arguments, "python -m tuning.headroom", _headroom)


def _headroom(settings: HeadroomSettings) -> int:
    from tuning.judging.headroom import find_headroom

    find_headroom(settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
