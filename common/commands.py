"""Commands that messages print, such as the one that continues an experiment: typed as they are, they work."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence

_OF_CMD = frozenset('&|<>^()%"')  # what cmd.exe reads in an argument; list2cmdline quotes for the program alone
_UNDER_UV = "UV_RUN_RECURSION_DEPTH"  # set by `uv run` for the command that it runs


def quoted(arguments: Sequence[object]) -> str:
    """Arguments as one line for the shell of this system."""
    texts = [str(argument) for argument in arguments]
    return " ".join(map(_for_windows, texts)) if os.name == "nt" else shlex.join(texts)


def _for_windows(text: str) -> str:
    """An argument as cmd.exe passes it on unchanged, to a program that splits its command line by Microsoft's rules."""
    if _OF_CMD.isdisjoint(text):
        return subprocess.list2cmdline([text])
    # Within quotes cmd.exe takes all but these two as they are. Outside it takes what follows a caret so, and the signs beside
    # it keep the letters between two per cents from being the name of a variable.
    pieces = re.findall(r'[%"]|[^%"]+', text)
    return "".join({"%": "^%", '"': '\\^"'}.get(piece) or _in_quotes(piece) for piece in pieces)


def _in_quotes(text: str) -> str:
    """A text without quotes between two; backslashes before the last stand twice, or it would be a letter."""
    return f'"{text}{text[len(text.rstrip(chr(92))) :]}"'


def python_command(module: str, *arguments: object) -> str:
    """The line that runs a module with this Python: under `uv run` where this process is."""
    runner = ("uv", "run") if _UNDER_UV in os.environ else ()
    return quoted([*runner, "python", "-m", module, *arguments])
