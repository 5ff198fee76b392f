"""Command lines: options from a dataclass, errors as one line."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Sequence
from typing import TypeVar

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from common.errors import UsageError
from common.texts import number, whole_number

T = TypeVar("T")
_NUMBERS = ConstructorRegistry()


@_NUMBERS.primitive_rule
def _numbers(option: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | PrimitiveConstructorSpec[float] | None:
    """How the text of an option becomes a number; None for options of other types."""
    if option.type is int:
        return PrimitiveConstructorSpec(
            1, "INT", lambda texts: whole_number(texts[0]), lambda value: type(value) is int, lambda value: [str(value)]
        )
    if option.type is float:
        return PrimitiveConstructorSpec(
            1, "FLOAT", lambda texts: number(texts[0]), lambda value: type(value) in (int, float), lambda value: [str(value)]
        )
    return None


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
                return tyro.cli(kind, args=arguments, prog=program, registry=_NUMBERS)
            return tyro.cli(kind, args=arguments, default=default, prog=program, registry=_NUMBERS)
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
