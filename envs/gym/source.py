"""Where an environment comes from: an id of Gymnasium's, or code of the user's."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import sysconfig
import tomllib
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym

from common.errors import UserError
from common.files import read_text
from common.paths import user_path
from common.texts import printable

FORM = (
    "it takes an id of Gymnasium's, such as Pendulum-v1, or code of yours: module:function or path/to/file.py:function, whose "
    "arguments --env-config gives"
)
# What code of a user raises that cannot be imported or called, and `gymnasium.make` for an id that it does not know.
REFUSED = (
    ImportError, SyntaxError, AttributeError, NameError, RuntimeError, TypeError, ValueError, OSError, LookupError,
    AssertionError, ArithmeticError, gym.error.Error,
)  # fmt: skip


OF_A_FILE = "environment_of_"  # how modules are called that were read from a file


class EnvError(UserError, ValueError):
    """An environment that cannot be made, or cannot be learned; says what to do."""


@dataclass(frozen=True)
class Source:
    """What makes copies of an environment."""

    name: str  # as `FORM` says
    config: str = "{}"  # keyword arguments, as JSON

    @property
    def names_code(self) -> bool:
        """Whether making it imports what the name says: a module or a file, which may do anything."""
        return ":" in self.name

    @property
    def title(self) -> str:
        """As people read it: without the folder of a file."""
        file, _, function = self.name.rpartition(":")
        return f"{Path(file).stem}:{function}" if file.endswith(".py") else self.name

    @property
    def found_anywhere(self) -> Source:
        """The same from any folder: with the whole path of a file."""
        file, _, function = self.name.rpartition(":")
        return replace(self, name=f"{user_path(file).resolve()}:{function}") if file.endswith(".py") else self

    def make(self) -> gym.Env[Any, Any]:
        """A copy of the environment, as its author made it. Raises an EnvError if that does not work, with the reason."""
        try:
            made = self._maker()(**json.loads(self.config))
        except SystemExit:
            raise EnvError(f"--env {printable(self.name)}: it ends the program in place of making an environment") from None
        except REFUSED as error:
            raise EnvError(f"--env {printable(self.name)}: {first_line(error)}; {FORM}") from error
        if not isinstance(made, gym.Env):
            what = type(made).__name__
            raise EnvError(f"--env {printable(self.name)}: it makes {what!r}, which is no gymnasium.Env; {FORM}")
        return made

    def _maker(self) -> Callable[..., Any]:
        module, _, name = self.name.rpartition(":")
        if self.name.endswith(".py"):
            raise ValueError(f"the function is missing behind the file, as in {Path(self.name).name}:make")
        if not module or not name.isidentifier():
            # `module:Id-v0` is Gymnasium's own form: the module registers the id. Its checks at each step are left out.
            return lambda **config: gym.make(self.name, disable_env_checker=True, **config)
        return named(self.name)


def named(name: str) -> Callable[..., Any]:
    """The function or class of a name of the form `module:function` or `file.py:function`; raises what its import raises."""
    module, _, attribute = name.rpartition(":")
    there = _module_at(module) if module.endswith(".py") else importlib.import_module(module)
    if not hasattr(there, attribute):
        raise AttributeError(f'there is no {attribute} in {module}; what is below if __name__ == "__main__": does not count')
    return getattr(there, attribute)


@lru_cache
def _module_at(path: str) -> ModuleType:
    """The module in a file, with the files beside it on the path, as a script has them."""
    file = Path(path)
    spec = importlib.util.spec_from_file_location(f"{OF_A_FILE}{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    sys.path.append(str(file.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where pickle and dataclasses look for it
    spec.loader.exec_module(module)
    return module


def name_of(make: Callable[..., Any]) -> str:
    """The name by which other processes find a function or class; an EnvError for one that they cannot find."""
    module, name = getattr(make, "__module__", ""), getattr(make, "__qualname__", "")
    if not name:
        raise EnvError(
            f"env={printable(str(make))}: it takes a class or function that makes the environment, with its arguments apart: "
            "env=Pump, env_config={...}"
        )
    if module.startswith(OF_A_FILE):
        raise EnvError(
            f"env={name}: other processes import the script that makes it, and its call of tune with it; put what the script "
            'does below if __name__ == "__main__":'
        )
    if not name.isidentifier():
        raise EnvError(f"env={name}: trials run in other processes, which find only what a module has under a name of its own")
    if module != "__main__":
        return f"{module}:{name}"
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None:
        raise EnvError(f"env={name}: trials run in other processes, which see no notebook: write it into a file of its own")
    return f"{Path(file).resolve()}:{name}"


def config_of(given: str | Mapping[str, Any]) -> str:
    """Keyword arguments as JSON: of a TOML or JSON file, of their own JSON text, or of a mapping.

    Raises an EnvError for what cannot be read.
    """
    if not isinstance(given, str):
        return _as_text(given)
    try:
        text = given if given.startswith("{") else read_text(user_path(given))
        return _as_text(json.loads(text) if text == given or given.endswith(".json") else tomllib.loads(text))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EnvError(f"--env-config {given}: {reason}; it takes keyword arguments as JSON, or a TOML or JSON file") from None


def _as_text(config: Any) -> str:
    if not isinstance(config, Mapping):
        raise EnvError(f"the configuration of the environment is {printable(str(config))}: it takes names and their values")
    try:
        return json.dumps(config, sort_keys=True)
    except TypeError as error:
        raise EnvError(f"the configuration of the environment is stored as JSON: {error}") from None


# Where frames are none of a user's code: these packages, Python and what is installed.
_HERE = ("common", "envs", "results", "search_spaces", "tuning")
_NOT_OWN = [Path(__file__).parents[2] / name for name in _HERE] + [
    Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib")
]


def _is_own(file: str) -> bool:
    return not file.startswith("<") and not any(Path(file).is_relative_to(folder) for folder in _NOT_OWN)


def first_line(error: BaseException) -> str:
    """What went wrong in code of a user, in a line, and where, if it is known."""
    text = printable(str(error).strip().partition("\n")[0])
    if isinstance(error, EnvError):
        return text
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(frame.filename)]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"
