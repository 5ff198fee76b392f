"""Lists all commands: `python -m tuning`."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

NAME = "building-tuner"
_OF_A_COMMAND = re.compile(r"(.+?)[:?] `(.+)`")  # first line of a command's module


def main() -> int:
    """Print a line for each command."""
    for script in sorted(entry_points(group="console_scripts"), key=lambda script: script.name):
        if script.dist is None or script.dist.name != NAME or script.name == NAME:
            continue
        spec = find_spec(script.module)
        text = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
        # Read, as an import of some takes seconds.
        if purpose := _OF_A_COMMAND.match(ast.get_docstring(ast.parse(text)) or ""):
            print(f"{purpose[2]}\n    {purpose[1]}")
    print("Each has --help.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
