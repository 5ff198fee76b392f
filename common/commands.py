"""Commands that messages print, such as the one that continues an experiment: typed as they are, they work."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence

_UNDER_UV = "UV_RUN_RECURSION_DEPTH"  # set by `uv run` for the command that it runs


def quoted(arguments: Sequence[object]) -> str:
    """Arguments as one line for the shell of this system."""
    texts = [str(argument) for argument in arguments]
    return subprocess.list2cmdline(texts) if os.name == "nt" else shlex.join(texts)


def python_command(module: str, *arguments: object) -> str:
    """The line that runs a module with this Python: under `uv run` where this process is.

    Args:
        module: such as `tuning.run`.
        arguments: of its command line.
    """
    runner = ("uv", "run") if _UNDER_UV in os.environ else ()
    return quoted([*runner, "python", "-m", module, *arguments])
