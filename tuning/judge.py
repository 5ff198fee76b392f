"""Judge the best trials of experiments: `python -m tuning.judge experiments/ppo-iquitos-1 experiments/sac-iquitos-1`."""

import sys

from common.command_line import refuse
from tuning.cli.command import command
from tuning.judging.settings import JudgeSettings

NO_FINALIST = 1  # exit status where every contender failed


def main(arguments: list[str] | None = None) -> int:
    """Judge, print the table and write it; exit status 1 if no contender is left, else see `command`."""
    return command(JudgeSettings, arguments, "python -m tuning.judge", _judge)


def _judge(settings: JudgeSettings) -> int:
    from tuning.judging.comparison import compare

    if not compare(settings).finalists:
        refuse("no contender is left: each failed, does not serve its vehicles or misses a requirement, as the lines above say")
        return NO_FINALIST
    return 0


if __name__ == "__main__":
    sys.exit(main())
