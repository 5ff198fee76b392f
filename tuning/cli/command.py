"""What all command lines have in common: options from a dataclass, and one clear line for what cannot be carried out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from tuning.experiment.errors import UsageError
from tuning.experiment.settings import parsed
from tuning.runtime.ray_session import set_environment

T = TypeVar("T")
IMPOSSIBLE, REFUSED = 1, 2  # exit status


def command(kind: type[T], arguments: Sequence[str] | None, program: str, answer: Callable[[T], int]) -> int:
    """Carry out a command.

    Args:
        kind: dataclass of its options.
        arguments: of the command line; those of this process by default.
        program: how it is called.
        answer: carries it out; imports what is heavy, as `--help` is to answer at once.

    Returns:
        Exit status: the answer's; with a line on stderr 1 if what cannot be came out, and 2 for what cannot be carried out.
    """
    try:
        asked = parsed(kind, sys.argv[1:] if arguments is None else arguments, None, program)
    except UsageError as error:
        return refuse(error)
    set_environment()
    from envs.errors import ImpossibleError, ScenarioError
    from results.loader import ResultsError
    from search_spaces.space import SpaceError
    from tuning.memory.gpus import DriverError

    try:
        return answer(asked)
    except (UsageError, ScenarioError, SpaceError, ResultsError, DriverError) as error:
        return refuse(error)
    except ImpossibleError as error:
        print(f"error: what cannot be has come out, which is a fault of this package: {error}", file=sys.stderr)
        return IMPOSSIBLE


def refuse(error: Exception) -> int:
    """Say what is wrong.

    Returns:
        Exit status.
    """
    print(f"error: {error}", file=sys.stderr)
    return REFUSED
