"""Makes a folder for CityLearn 3 of files of version 2: `python -m envs.convert old/schema.json --to new`."""

import sys
from pathlib import Path

from common.command_line import Parser, status_of
from common.errors import UserError
from common.texts import python_command
from envs.scenarios.conversion import ConversionOptions


def main() -> int:
    """Make the folder and say what differs; gives the exit status, and stderr says why nothing is written."""
    options = ConversionOptions(**vars(parser().parse_args()))
    return status_of(lambda: _convert(options))


def parser() -> Parser:
    """The options of the command."""
    made = Parser(
        "python -m envs.convert",
        description="Make a folder for CityLearn 3 of a site that was made for version 2, and say all that differs. The "
        "original stays as it is. Nothing is written while something is to be decided.",
    )
    made.add_argument("schema", metavar="SCHEMA", type=Path, help="its schema.json")
    made.add_argument("--to", metavar="FOLDER", type=Path, required=True, help="folder that is made")
    made.add_argument(
        "--washing-machines",
        choices=("leave-out", "deferrable"),
        default="",
        help="leave them out, or make deferrable appliances of them, which may start in the same hours and take as much",
    )
    made.add_argument(
        "--arrival-soc",
        metavar="SHARE",
        default="",
        help="state of charge of vehicles whose arrival lacks it: a share of the battery, as 0.5, or mean, that of others",
    )
    made.add_argument(
        "--small-soc",
        choices=("percent", "share"),
        default="",
        help="what a state of charge of at most 1 means beside percentages: a percentage, so 1 is nearly empty, or a share, "
        "as CityLearn 3 reads it, so that 1 is full",
    )
    return made


def _convert(options: ConversionOptions) -> None:
    from envs.objective.reward import check_reward
    from envs.scenarios.conversion.converting import SCHEMA, convert
    from envs.scenarios.scenario import scenario
    from envs.scenarios.trust import OPTION

    lines, schema = convert(options), str(options.to / SCHEMA)
    print(*(lines or ["nothing to repair"]), sep="\n")
    print(f"written: {schema}")
    words = ["--algo", "ppo", "--scenario", schema]
    try:
        site = scenario(schema)
    except UserError:
        words.append(OPTION)
        site = scenario(schema, trusted=True)
    try:
        check_reward(site, "improvement")
    except UserError:
        words += ["--reward", "schema"]
    print("search:  " + python_command("tuning.run", *words))


if __name__ == "__main__":
    sys.exit(main())
