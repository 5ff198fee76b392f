"""What options stand for: algorithms, samplers and schedulers by name, and a budget.

Nothing heavy is imported here, so that `--help` lists all names at once. `tuning.algorithms.registry` imports what the name of
an algorithm stands for, and Optuna is imported where a sampler or a scheduler is built.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, Literal

import tyro

from common.errors import UsageError
from common.texts import duration

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

GROUP: Final = "building_tuner.algorithms"  # of entry points, by which packages add algorithms; see docs/architecture.md
ALL: Final = "all"  # on the command line: each algorithm, in the order of `names`
# In the order in which `--algo all` runs them.
OWN: Final = (
    EntryPoint("sac", "tuning.algorithms.sac.spec:SAC", GROUP),
    EntryPoint("ppo", "tuning.algorithms.on_policy.spec:PPO", GROUP),
    EntryPoint("a2c", "tuning.algorithms.on_policy.spec:A2C", GROUP),
)


@cache
def entries() -> dict[str, EntryPoint]:
    """Where the `AlgorithmSpec` of each algorithm is defined: this project's first, then those of installed packages."""
    known = {entry.name: entry for entry in OWN}
    # Python lists a package twice that two folders of its path hold.
    for entry in sorted(set(entry_points(group=GROUP)), key=lambda entry: (entry.name, entry.value)):
        if entry.name in known or entry.name == ALL:
            taken = known[entry.name].value if entry.name in known else "all algorithms together"
            raise UsageError(
                f"the entry point {entry.name} = {entry.value} of the group {GROUP} uses a name that stands for {taken}: "
                "rename it, or uninstall its package"
            )
        known[entry.name] = entry
    return known


def names() -> tuple[str, ...]:
    """Names of all algorithms, in the order in which `--algo all` runs them."""
    return tuple(entries())


def one_of(known: Callable[[], Iterable[str]]) -> Any:
    """Annotation of an option that takes one of some names, which `tyro` asks for when it parses a command line."""
    return tyro.conf.arg(constructor_factory=lambda: Literal[tuple(known())])  # type: ignore[arg-type,return-value]


def choice(*others: str) -> Any:
    """Annotation of an option that takes the name of an algorithm, or one of some others."""
    return one_of(lambda: (*names(), *others))


MOST_STARTUP, LEAST_STARTUP = 10, 2  # Optuna's default; below, a model has nothing to compare
STARTUP_PART = 0.25  # of the trials


def startup_trials(trials: int) -> int:
    """How many of all trials come before the sampler's model; 0 stands for a number that is not known."""
    return min(MOST_STARTUP, max(LEAST_STARTUP, int(trials * STARTUP_PART))) if trials else MOST_STARTUP


@dataclass(frozen=True)
class Sampler:
    """How Optuna proposes hyperparameters."""

    # From a seed, and how many trials come before its model. It is built anew for each draw, with another seed, and sees the
    # trials before it in a study of its own. What it keeps itself is lost.
    build: Callable[[int, int], BaseSampler]
    most_shown: float = 2000  # trials that it is shown, of more those that tell most: what a draw costs grows with them
    attempts: int = 8  # draws of one trial, until one costs no more than it may
    draws_alone: bool = False  # from the whole space, and neither around what is known to work nor from other experiments
    of_one_objective: bool = False
    by_number: bool = False  # it goes by the numbers of trials, and so has to be shown all


@dataclass(frozen=True)
class Scheduler:
    """Which trials go on."""

    # From the steps of a trial and its number of evaluations; Optuna's pruner ends trials that do badly.
    build: Callable[[int, int], BasePruner]
    freezes: bool = False  # `tuning.search.promotion.thawing` decides which trial goes on
    by_one_number: bool = False  # it stops trials by one number, and so both ends of a front
    by_number: bool = False  # it goes by the numbers of trials, and so has to be shown all


def _optuna() -> Any:
    import optuna

    return optuna


SAMPLERS: Mapping[str, Sampler] = {
    # One model of all hyperparameters, with running trials as bad ones; both are what Optuna 5 does by itself for one aim.
    "tpe": Sampler(
        lambda seed, startup: _optuna().samplers.TPESampler(
            seed=seed, n_startup_trials=startup, multivariate=True, constant_liar=True
        )
    ),
    "random": Sampler(
        lambda seed, startup: _optuna().samplers.RandomSampler(seed=seed), most_shown=0, attempts=1, draws_alone=True
    ),
    # It and the next sample some parameters independently, and would warn of each. Its time grows with the cube of what it is
    # shown, and an attempt takes seconds.
    "gp": Sampler(
        lambda seed, startup: _optuna().samplers.GPSampler(
            seed=seed, n_startup_trials=startup, warn_independent_sampling=False
        ),
        most_shown=300,
        attempts=2,
    ),
    # It begins with the middle of the space, and needs no trials before.
    "cmaes": Sampler(
        lambda seed, startup: _optuna().samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False),
        of_one_objective=True,
        by_number=True,
    ),
}
SCHEDULERS: Mapping[str, Scheduler] = {
    "freeze-thaw": Scheduler(lambda steps, evaluations: _optuna().pruners.NopPruner(), freezes=True),
    # The factor of Ray's ASHA, as replayed.
    "asha": Scheduler(
        lambda steps, evaluations: _optuna().pruners.SuccessiveHalvingPruner(
            min_resource=max(1, steps // evaluations), reduction_factor=4
        ),
        by_one_number=True,
    ),
    # A trial gets at least its first evaluation.
    "hyperband": Scheduler(
        lambda steps, evaluations: _optuna().pruners.HyperbandPruner(
            min_resource=max(1, steps // evaluations), max_resource=steps
        ),
        by_one_number=True,
        by_number=True,
    ),
    # Before half of a trial ratings say little of its end: on `iquitos` their rank correlation is -.17 after a quarter, .79
    # after half (eight recorded trials). The default begins low there, and would have been stopped.
    "median": Scheduler(
        lambda steps, evaluations: _optuna().pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=steps // 2),
        by_one_number=True,
    ),
    "none": Scheduler(lambda steps, evaluations: _optuna().pruners.NopPruner()),
}

_UNITS: dict[str, tuple[Literal["seconds", "steps"], float]] = {
    "s": ("seconds", 1.0),
    "m": ("seconds", 60.0),
    "h": ("seconds", 3600.0),
    "d": ("seconds", 86400.0),
    "k": ("steps", 1e3),
    "M": ("steps", 1e6),
    "G": ("steps", 1e9),
    "": ("steps", 1.0),
}
_BUDGET = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([a-zA-Z]?)")


@dataclass(frozen=True)
class Budget:
    """What a search may use."""

    amount: float
    unit: Literal["seconds", "steps"]  # wall time of all runs of the experiment, or environment steps of all trials

    @classmethod
    def parse(cls, text: str) -> Budget:
        """The budget that a text names: 30m are minutes, 20M are millions of steps. Raises a UsageError if it names none."""
        match = _BUDGET.fullmatch(text)
        if match is None or match[2] not in _UNITS:
            raise UsageError(
                f"--budget {text}: it takes a time, as in 90s, 30m or 8h, or environment steps of all trials, as in 500k or 20M"
            )
        unit, factor = _UNITS[match[2]]
        amount = float(match[1]) * factor
        if not (0.0 < amount < math.inf):
            raise UsageError(f"--budget {text}: it is above 0")
        return cls(amount, unit)

    @property
    def is_time(self) -> bool:
        """Whether it is wall time."""
        return self.unit == "seconds"

    @property
    def shown(self) -> str:
        """The budget in words."""
        return f"{duration(self.amount)} of time" if self.is_time else f"{self.amount:,.0f} steps"
