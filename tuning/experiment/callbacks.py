"""Callbacks of Ray Tune that a user names. They are checked before Ray is imported, which takes seconds."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from common.errors import UsageError

if TYPE_CHECKING:
    from ray.tune import Callback

_FORM = "it takes package.module:NAME, as in my_callbacks:mlflow"
# What code of a user raises that cannot be imported or called; Ray's loggers raise RuntimeError without their package.
_REFUSED = (
    ImportError, SyntaxError, AttributeError, NameError, RuntimeError, TypeError, ValueError, OSError, LookupError,
    AssertionError,
)  # fmt: skip


def callbacks_named(names: Sequence[str]) -> list[Callback]:
    """Import and make callbacks.

    Each name is `package.module:NAME` of a class, or of a function, that makes one without arguments. Raises a UsageError for
    the first that is none.
    """
    return [_callback(name) for name in names]


def _callback(name: str) -> Callback:
    from ray.tune import Callback

    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise UsageError(f"--callback {name!r}: {_FORM}")
    try:
        make = getattr(importlib.import_module(module), attribute)
        made = make()
    except SystemExit:
        raise UsageError(f"--callback {name!r}: it ends the program in place of making a callback; {_FORM}") from None
    except _REFUSED as error:
        first = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"--callback {name!r}: it cannot be made ({type(error).__name__}: {first}); install its package, or write a module "
            "that is on the path"
        ) from error
    if not isinstance(made, Callback):
        raise UsageError(f"--callback {name!r}: it makes {type(made).__name__!r}, which is no ray.tune.Callback; {_FORM}")
    return made
