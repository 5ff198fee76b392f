"""Texts that files and users give, as messages and tables show them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

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
