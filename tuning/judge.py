"""Judge the best trials of experiments: `python -m tuning.judge experiments/ppo-iquitos-1 experiments/sac-iquitos-1`."""

from __future__ import annotations

import sys

from tuning.cli.command import command
from tuning.judging.settings import JudgeSettings

NO_FINALIST = 1  # exit status where every contender failed


def main(arguments: list[str] | None = None) -> int:
    """Judge, print the table and write it.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0; 1 if an internal check failed or no contender is left; 2 for a command that cannot be carried out as
        given; 130 after Ctrl-C or SIGTERM.
    """
    return command(JudgeSettings, arguments, "python -m tuning.judge", _judge)


def _judge(settings: JudgeSettings) -> int:
    from tuning.judging.comparison import compare

    if not compare(settings).finalists:
        print(
            "error: no contender is left: each failed, does not serve its vehicles or misses a requirement, as the lines above "
            "say",
            file=sys.stderr,
        )
        return NO_FINALIST
    return 0


if __name__ == "__main__":
    sys.exit(main())
