"""Collects the faults of a scenario, so that a user sees all of them at once."""

from __future__ import annotations

import json
from typing import Any

from common.texts import printable
from envs.errors import ScenarioError

MOST = 20  # lines of a message; with more, the first are lost on a terminal
_LONGEST = 60  # characters of a value that a message shows


class Faults:
    """Lines that each name one fault by file, place, value and remedy."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}  # without repetitions, in order

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: str) -> None:
        """Add a fault. Characters that cannot be printed, such as a line break in a name, are shown as escapes."""
        self._lines[printable(line)] = None

    def refuse(self) -> None:
        """Raise for all faults; do nothing where there is none.

        Raises:
            ScenarioError: one line for each fault, at most `MOST`, and how many more there are.
        """
        if self._lines:
            more = len(self._lines) - MOST
            rest = [f"and {more} more"] if more > 0 else []
            raise ScenarioError(*list(self._lines)[:MOST], *rest)


def shown(value: Any) -> str:
    """A value of a JSON file as a message shows it: as it stands there, texts in quotes, shortened where it is long."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value)
    return shortened(text)


def shortened(text: str) -> str:
    """A text of at most 60 characters, with dots at the end of a longer one."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
