"""What is printed on a console, as text, and a report that takes no time."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from results import report


def text_of(show: Callable[[Console], object], width: int = 200, **options: Any) -> str:
    """What a function prints on a console of so many columns."""
    output = io.StringIO()
    show(Console(file=output, width=width, **options))
    return output.getvalue()


def without_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are empty files: to draw one takes longer than most tests."""

    def write(folders: object, to: Path) -> Path:
        to.touch()
        return to

    monkeypatch.setattr(report, "write", write)
