"""Lists all commands: `python -m tuning`."""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from common.command_line import refuse
from tuning.cli.console import steady_output

# In the order in which people need them.
MODULES = (
    "tuning.doctor", "tuning.site", "envs.convert", "tuning.headroom", "tuning.run", "results.watch", "results.report",
    "tuning.judge", "tuning.rollout", "tuning.export", "tuning.resources",
)  # fmt: skip
_OF_A_COMMAND = re.compile(r"(.+?)[:?] `(.+)`")  # first line of a command's module


def main(arguments: Sequence[str] | None = None) -> int:
    """Print each command with its purpose; the exit status is 2 where an argument was meant for one of them."""
    given = [word for word in (sys.argv[1:] if arguments is None else arguments) if word not in ("-h", "--help")]
    with steady_output():
        print("usage: one of these commands, of which each has --help", *_commands(), sep="\n")
    return refuse(f"{given[0]}: a command is its own module, as in python -m tuning.run") if given else 0


def _commands() -> Iterator[str]:
    for module in MODULES:
        spec = find_spec(module)
        if spec and spec.submodule_search_locations:
            spec = find_spec(f"{module}.__main__")
        # Read, as an import of some takes seconds.
        text = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
        if purpose := _OF_A_COMMAND.match(ast.get_docstring(ast.parse(text)) or ""):
            yield f"{purpose[2]}\n    {purpose[1]}"


if __name__ == "__main__":
    sys.exit(main())
