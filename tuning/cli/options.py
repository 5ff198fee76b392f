"""Command lines: options from a dataclass, errors as one line."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Sequence
from typing import TypeVar

import tyro

from tuning.experiment.errors import UsageError

T = TypeVar("T")


def parse(kind: type[T], arguments: Sequence[str], default: T | None, program: str) -> T:
    """Read a command line.

    Args:
        kind: dataclass of the options; its fields and their documentation make the options and `--help`.
        arguments: of the command line.
        default: values of options that are not given; None for the fields' own defaults.
        program: name in `--help`.

    Raises:
        UsageError: for an unknown option, or a value of the wrong type.
        SystemExit: after `--help`.
    """
    boxed = io.StringIO()
    try:
        with contextlib.redirect_stderr(boxed):
            if default is None:
                return tyro.cli(kind, args=arguments, prog=program)
            return tyro.cli(kind, args=arguments, default=default, prog=program)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise UsageError(f"{_first_paragraph(boxed.getvalue())}; see --help") from None


def _first_paragraph(box: str) -> str:
    """The message in the box that tyro draws: the lines below the title, up to the next rule."""
    lines = [line.strip(" │") for line in box.splitlines()[1:]]
    below_title = itertools.dropwhile(_is_rule, lines)
    return " ".join(itertools.takewhile(lambda line: not _is_rule(line), below_title)).rstrip(".")


def _is_rule(line: str) -> bool:
    return not line.strip("─-")
