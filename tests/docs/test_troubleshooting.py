"""Each message that the page on troubleshooting quotes is one that the code can print."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_docs import COMMAND, FENCE, ROOMS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
LEAST_LETTERS = 9  # of its own that a text of the code has: shorter ones fit anything
LEAST_SHARE = 0.45  # of a message that texts of the code have to cover; the rest are values


def quoted() -> list[str]:
    """Messages of the page: lines in code that are no commands, without the word before those of user errors."""
    lines = [line for match in FENCE.finditer(PAGE.read_text(encoding="utf-8")) for line in match[4].splitlines()]
    return [line.removeprefix("error: ") for line in lines if not COMMAND.search(line)]


@functools.cache
def texts() -> tuple[re.Pattern[str], ...]:
    """Texts of the code as patterns: what is filled in at run time is anything."""
    found: set[str] = set()
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            found |= set(_texts(ast.parse(path.read_text(encoding="utf-8"))))
    return tuple(re.compile(text) for text in sorted(found))


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [re.escape(part.value) if isinstance(part, ast.Constant) else "(.*?)" for part in node.values]
            own = sum(len(part.value) for part in node.values if isinstance(part, ast.Constant))
            if own >= LEAST_LETTERS:
                yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) >= LEAST_LETTERS:
            yield re.escape(node.value)


def covered(message: str) -> float:
    """Share of a message's letters that are literally in texts of the code, which fit it in their order."""
    is_covered = [False] * len(message)
    for text in texts():
        for match in text.finditer(message):
            filled = [match.span(group) for group in range(1, text.groups + 1)]
            for place in range(*match.span()):
                is_covered[place] |= not any(start <= place < end for start, end in filled)
    return sum(is_covered) / len(message)


@pytest.mark.parametrize("message", quoted())
def test_a_quoted_message_is_one_of_the_code(message: str) -> None:
    assert covered(message) >= LEAST_SHARE, f"no text of the code gives: {message}"


def test_a_message_that_the_code_does_not_have_is_found() -> None:
    assert covered("the flux capacitor of trial 3 is empty: fill it, or take another one") < LEAST_SHARE
    assert covered("no trial is complete, so there is nothing to compare") == 1.0


def test_each_message_says_what_to_do() -> None:
    """Below each message stands a paragraph."""
    blocks = re.split(r"^```\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert all(answer.strip() and not answer.strip().startswith("#") for answer in blocks[2::2])
