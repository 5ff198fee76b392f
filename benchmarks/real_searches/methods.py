"""The methods by their names on the command line."""

from collections.abc import Callable

from benchmarks.real_searches.records import RealSearchError, Task, Winner

OURS, DEFAULT, RAY_TUNE, SB3 = "ours", "default", "ray-tune", "sb3"
METHODS = (OURS, DEFAULT, RAY_TUNE, SB3)
RAY_SB3, ZOO = "ray-sb3", "zoo"  # in environments
_PACKAGES = {SB3: "stable_baselines3", RAY_SB3: "stable_baselines3", ZOO: "rl_zoo3"}


def parsed(method: str) -> tuple[str, tuple[str, ...]]:
    """Name and fixed hyperparameters of a method, as in `ours:plan=none` or `ours:gamma=0.99,n_epochs=4`.

    Raises:
        RealSearchError: if there is none of the name, or it fixes nothing.
    """
    name, _, texts = method.partition(":")
    fixed = tuple(texts.split(",")) if texts else ()
    if name not in (known := (*METHODS, RAY_SB3, ZOO)):
        raise RealSearchError(f'--methods "{method}": there is no such method; name some of {", ".join(known)}')
    if fixed and name not in (OURS, RAY_TUNE):
        raise RealSearchError(f'--methods "{method}": only {OURS} and {RAY_TUNE} take hyperparameters behind a colon')
    return name, fixed


def check(method: str) -> None:
    """Check the name of a method, what it fixes, and that its library is there.

    Raises:
        UserError: if something is wrong; one line.
    """
    from importlib.util import find_spec

    from tuning.algorithms.registry import algorithm
    from tuning.experiment.settings import Settings

    name, fixed = parsed(method)
    space = algorithm("ppo").space
    space.check(space.parse(Settings(set=(fixed,) if fixed else ()).fixed_texts()))
    if (package := _PACKAGES.get(name)) and find_spec(package) is None:
        raise RealSearchError(
            f"--methods {name}: {package.replace('_', '-')} is not installed: uv sync --group benchmarks, or for the zoo "
            "uv pip install rl-zoo3; or leave the method out"
        )


def search_of(method: str) -> Callable[[Task], Winner]:
    """The function that searches."""
    name, _ = parsed(method)
    if name == OURS:
        from benchmarks.real_searches.ours import search
    elif name == DEFAULT:
        from benchmarks.real_searches.ours import search_alone as search
    elif name == RAY_TUNE:
        from benchmarks.real_searches.ray_tune import search
    elif name == RAY_SB3:
        from benchmarks.real_searches.ray_sb3 import search
    elif name == ZOO:
        from benchmarks.real_searches.zoo_search import search
    else:
        from benchmarks.real_searches.sb3_search import search
    return search
