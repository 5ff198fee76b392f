"""Makes a folder for CityLearn 3 of files of version 2.4: `python -m envs.convert old/schema.json --to new`."""

from __future__ import annotations

import sys

import tyro

from common.errors import UserError
from common.texts import printable, python_command
from envs.preview import INTERRUPTED, REFUSED
from envs.scenarios.conversion import ConversionOptions


def main() -> int:
    """Make the folder and say what differs; gives the exit status, and stderr says why nothing is written."""
    options = tyro.cli(ConversionOptions, prog="python -m envs.convert")
    try:
        _convert(options)
    except UserError as error:
        print("error: " + "\n".join(printable(str(line)) for line in error.args), file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _convert(options: ConversionOptions) -> None:
    from envs.scenarios.conversion.converting import SCHEMA, convert

    lines = convert(options)
    print(*(lines or ["nothing to repair"]), sep="\n")
    print(f"written: {options.to / SCHEMA}")
    print("search:  " + python_command("tuning.run", "--algo", "ppo", "--scenario", options.to / SCHEMA))


if __name__ == "__main__":
    sys.exit(main())
