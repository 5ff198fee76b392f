"""What is printed on a console, as text."""

import io
from collections.abc import Callable
from typing import Any

from rich.console import Console


def text_of(show: Callable[[Console], object], width: int = 200, **options: Any) -> str:
    """What a function prints on a console of so many columns."""
    output = io.StringIO()
    show(Console(file=output, width=width, **options))
    return output.getvalue()
