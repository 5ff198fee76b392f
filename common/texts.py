"""Texts that people and shells read: words that are wrong, numbers, and commands that work as they are printed."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Sequence

_MARKDOWN = re.compile(r"[\\`*|<>\[\]]")  # what ends a cell of a table, or begins code, emphasis, a link or HTML


def printable(text: str) -> str:
    """A text of one line in which each character can be printed: line breaks and control characters become escapes.

    So a text from a file can neither colour nor clear a terminal, nor look like a line of this program.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def hint(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to do about a wrong word: take the nearest that is known, else `otherwise`, by default one of all."""
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1)
    return f"did you mean {near[0]}?" if near else otherwise or f"there are {', '.join(words)}"


def markdown(text: str) -> str:
    """A text of one line for Markdown, in which it stands for itself: no link, no HTML, and no end of a table's cell."""
    return _MARKDOWN.sub(r"\\\g<0>", printable(text))


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, as 1:02:03."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


def number(text: str) -> float:
    """Number of a text in the digits 0 to 9; `nan` and `inf` are numbers too.

    Raises:
        ValueError: if it is none.
    """
    try:
        if text.isascii():
            return float(text)
    except ValueError:
        pass
    raise ValueError(f"{text!r} is no number in the digits 0 to 9")


def whole_number(text: str) -> int:
    """Whole number of a text in the digits 0 to 9, such as `1000000`, `1_000_000` or `1e6`.

    Raises:
        ValueError: if it is none.
    """
    value = number(text)
    if not value.is_integer():
        raise ValueError(f"{text!r} is no whole number")
    # A float holds whole numbers beyond 2**53 only in steps.
    return int(text) if text.strip().lstrip("+-").replace("_", "").isdigit() else int(value)


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
