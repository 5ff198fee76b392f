"""All algorithms by name. `tuning.experiment.algorithm_names` lists them; here one is imported when it is needed."""

from __future__ import annotations

from tuning.algorithms.spec import AlgorithmSpec
from tuning.experiment.algorithm_names import entries, names
from tuning.experiment.errors import UsageError

__all__ = ["algorithm", "names"]


def algorithm(name: str) -> AlgorithmSpec:
    """The algorithm of a name. Its trainer, and RLlib and torch with it, is imported only when it is built.

    Raises:
        UsageError: if there is none of this name, or an installed package registers something else under it.
    """
    entry = entries().get(name)
    if entry is None:
        raise UsageError(f"there is no algorithm {name}: there are {', '.join(names())}")
    spec = entry.load()
    if not isinstance(spec, AlgorithmSpec) or spec.name != name:
        raise UsageError(f"{entry.value} has to be an AlgorithmSpec called {name}, is {spec!r:.80}: update its package")
    return spec
