"""Each message that the page on troubleshooting quotes is one that the code can print."""

import ast
import functools
import re
from pathlib import Path

import pytest

from tests.test_docs import COMMAND, FENCE, ROOMS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
LEAST_LETTERS = 7  # of a text of the code: shorter ones are in any message
LEAST_SHARE = 0.45  # of a message that texts of the code have to cover; the rest are values


def quoted() -> list[str]:
    """Messages of the page: lines in code that are no commands, without the word before those of user errors."""
    lines = [line for match in FENCE.finditer(PAGE.read_text(encoding="utf-8")) for line in match[4].splitlines()]
    return [line.removeprefix("error: ") for line in lines if not COMMAND.search(line)]


@functools.cache
def texts() -> set[str]:
    """Texts of the code, and those between what is filled in at run time."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    constants = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str) and len(value) >= LEAST_LETTERS}


def covered(message: str) -> float:
    """Share of a message's letters that are in texts of the code."""
    spans = ((message.find(text), len(text)) for text in texts())
    return len({place for start, letters in spans if start >= 0 for place in range(start, start + letters)}) / len(message)


@pytest.mark.parametrize("message", quoted())
def test_a_quoted_message_is_one_of_the_code(message: str) -> None:
    assert covered(message) >= LEAST_SHARE, f"no text of the code gives: {message}"


def test_a_message_that_the_code_does_not_have_is_found() -> None:
    assert covered("the flux capacitor of trial 3 is empty: fill it, or take another one") < LEAST_SHARE


def test_each_message_says_what_to_do() -> None:
    """Below each message stands a paragraph."""
    blocks = re.split(r"^```\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert all(answer.strip() and not answer.strip().startswith("#") for answer in blocks[2::2])
