"""What the commands of this package share: options from the command line, and one line for what is wrong with them."""

import sys
from collections.abc import Callable
from typing import TypeVar

import tyro

from common.errors import UserError

T = TypeVar("T")


def carry_out(main: Callable[[T], object], options: type[T], description: str | None) -> None:
    """Carry out a command; an error of the user's is one line, and exit status 2.

    Args:
        main: does it.
        options: dataclass of the options.
        description: for `--help`.
    """
    try:
        main(tyro.cli(options, description=description))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
