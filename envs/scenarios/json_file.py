"""Reads the JSON files of a scenario strictly."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from common.files import read_text
from common.texts import printable
from envs.errors import ScenarioError
from envs.scenarios.shapes import shown

DEEPEST = 40  # levels; CityLearn copies a schema level by level, and the deepest that is of use has nine


def read_object(path: Path) -> dict[str, Any]:
    """Object that a JSON file holds, read strictly: what a user did not mean is refused. A byte-order mark is skipped.

    Raises:
        ScenarioError: if the file cannot be read or is no JSON object. Also for a name that stands twice in an object, numbers
            that are not finite, texts that are no Unicode, too many levels, and more than `common.files.MOST_TEXT` bytes.
    """
    try:
        content = json.loads(
            read_text(path), object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite, parse_int=_whole
        )
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}; name a JSON file that you may read") from error
    except RecursionError as error:
        raise ScenarioError(_too_deep(path)) from error
    except ValueError as error:  # wrong encodings too
        if isinstance(error, ScenarioError):
            raise
        raise ScenarioError(f"{path} is not JSON: {printable(str(error))}; correct it") from error
    if not isinstance(content, dict):
        raise ScenarioError(f"{path} holds {shown(content)}; it has to hold an object in braces")
    _check_levels(path, content)
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name '{twice}' stands twice in one object, and only one of them would be read")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{shown(text).strip(chr(39))} is no finite number")
    return value


def _whole(text: str) -> int:
    if len(text) > 100:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def _check_levels(path: Path, content: dict[str, Any]) -> None:
    level: list[Any] = [content]
    for _ in range(DEEPEST):
        texts = [text for entry in level for text in (entry if isinstance(entry, dict) else [entry]) if isinstance(text, str)]
        for text in texts:
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise ScenarioError(f"{path}: the text '{printable(text)}' is no Unicode; write it anew") from error
        level = [
            inner
            for entry in level
            if isinstance(entry, dict | list)
            for inner in (entry.values() if isinstance(entry, dict) else entry)
        ]
        if not level:
            return
    raise ScenarioError(_too_deep(path))


def _too_deep(path: Path) -> str:
    return f"{path} has more than {DEEPEST} levels of brackets, which no schema needs; remove some"
