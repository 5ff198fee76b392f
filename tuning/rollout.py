"""The hours of a policy's year: `python -m tuning.rollout experiments/NAME --trial best --year 3`."""

import sys

from common.texts import printable
from tuning.cli.command import command
from tuning.exporting.settings import RolloutSettings


def main(arguments: list[str] | None = None) -> int:
    """Run the policy, write the files and print their paths; for the exit status see `command`."""
    return command(RolloutSettings, arguments, "python -m tuning.rollout", _rollout)


def _rollout(settings: RolloutSettings) -> int:
    from tuning.exporting.rollout import roll_out

    rollout = roll_out(settings)
    for path in (rollout.table, rollout.picture):
        print(printable(str(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
