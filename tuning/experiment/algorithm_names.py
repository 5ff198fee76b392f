"""Names of the algorithms that can be searched: those of this project and those of installed packages.

A name says where its `tuning.algorithms.spec.AlgorithmSpec` is defined. Nothing is imported here, so that `--help` lists all
names at once; `tuning.algorithms.registry` imports what a name stands for.

A package adds an algorithm by an entry point in its `pyproject.toml`:

    [project.entry-points."building_tuner.algorithms"]
    my-algorithm = "my_package.my_module:SPEC"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Literal

import tyro

from common.errors import UsageError

GROUP: Final = "building_tuner.algorithms"
ALL: Final = "all"  # on the command line: each algorithm, in the order of `names`
# In the order in which `--algo all` runs them.
OWN: Final = (
    EntryPoint("sac", "tuning.algorithms.sac.spec:SAC", GROUP),
    EntryPoint("ppo", "tuning.algorithms.on_policy.spec:PPO", GROUP),
    EntryPoint("a2c", "tuning.algorithms.on_policy.spec:A2C", GROUP),
)


@cache
def entries() -> dict[str, EntryPoint]:
    """Where each algorithm is defined, by name: this project's first, then those of installed packages, by name.

    Raises:
        UsageError: if two packages register the same name, or one registers `all`.
    """
    found = {entry.name: entry for entry in OWN}
    # Python lists a package twice that two folders of its path hold.
    for entry in sorted(set(entry_points(group=GROUP)), key=lambda entry: (entry.name, entry.value)):
        if entry.name in found or entry.name == ALL:
            taken = found[entry.name].value if entry.name in found else "all algorithms together"
            raise UsageError(
                f"the entry point {entry.name} = {entry.value} of the group {GROUP} uses a name that stands for {taken}: "
                "rename it, or uninstall its package"
            )
        found[entry.name] = entry
    return found


def names() -> tuple[str, ...]:
    """Names of all algorithms, in the order in which `--algo all` runs them."""
    return tuple(entries())


def one_of(known: Callable[[], Iterable[str]]) -> Any:
    """Annotation of an option that takes one of some names, which `tyro` asks for when it parses a command line."""

    def literal() -> Any:
        return Literal[tuple(known())]

    return tyro.conf.arg(
        constructor_factory=literal,
        help_behavior_hint=lambda default: f"(default: {default.strip('[]').strip(chr(39))})",
    )


def choice(*others: str) -> Any:
    """Annotation of an option that takes the name of an algorithm, or one of some others."""
    return one_of(lambda: (*names(), *others))
