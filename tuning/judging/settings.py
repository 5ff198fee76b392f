"""Settings of judgements and headroom; the command lines are generated from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, get_args

import tyro

from common.errors import UsageError
from tuning.experiment.settings import WORDS, SiteSettings, check_gpu_memory, check_types, check_whole_numbers

if TYPE_CHECKING:
    from envs.forecasts import Method

Mpc = Literal["yesterday", "seven-days", "learned", "exact", "none"]
NO_MPC: Final = "none"
ALL_MPC: tuple[Mpc, ...] = tuple(method for method in get_args(Mpc) if method != NO_MPC)


def methods(given: Sequence[Mpc]) -> tuple[Method, ...]:
    """The forecasts that a choice names; empty for `none`."""
    return tuple(method for method in given if method != NO_MPC)


def check_mpc(given: tuple[Mpc, ...]) -> None:
    """Raise a UsageError for a choice of forecasts that is empty, names one twice, or has `none` beside others."""
    if not given or len(set(given)) < len(given) or (NO_MPC in given and len(given) > 1):
        raise UsageError(f"--mpc {' '.join(given)}: give each of {', '.join(ALL_MPC)} once at most, or {NO_MPC} alone")


@dataclass(frozen=True)
class JudgeSettings:
    """Train the best trials of experiments again with fresh seeds, and judge them on hours that no search has seen.

    The defaults of their algorithms take part as a control. Contenders that fall behind are dropped early. The table also
    shows the uncontrolled site, rules and the bound.
    """

    experiments: Annotated[tuple[str | Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="EXPERIMENT [EXPERIMENT ...]")]
    """Folders or URIs of the experiments, all of one scenario."""
    top: int = 2
    """Trials of each experiment, the best first."""
    seeds: int = 5
    """Runs of each contender that stays in the race."""
    seed: int = 0
    """Seed of the judgement: the same one repeats it."""
    backend: Literal["citylearn", "batch"] = "citylearn"
    """Backend of the final evaluations. The race itself uses the batch backend where it can step the site; it has the same
    numbers. CityLearn then evaluates the finalists, hundreds of times slower: some minutes a run and year with 128 sockets.
    The same command adds CityLearn's evaluations later."""
    mpc: tuple[Mpc, ...] = ALL_MPC
    """Forecasts of model predictive control; see python -m tuning.headroom."""
    baseline: str = ""
    """Policy of your own to compare with in an environment: module:function or path/to/file.py:function, from an observation to
    an action, both as the environment has them."""
    keep: Annotated[Literal["", "best", "last"], tyro.conf.arg(metavar="{best,last}")] = ""
    """Which evaluation of a run counts, the best or the last one; by default the one that counted in the search."""
    objective: str = ""
    """Of experiments with two objectives, the one to judge by; contenders are the best of the front in it."""
    gpu_memory: float = 0.0
    """See python -m tuning.run."""
    address: str = ""
    """See python -m tuning.run."""
    name: str = ""
    """Name of the judgement; by default scenario and a number. The same command with its name continues it."""
    dir: Path = Path("judgements")
    """Folder that holds the judgements."""
    trust_scenario: bool = False
    """See python -m tuning.run."""

    def check(self) -> None:
        """Raise a UsageError for the first value that is not valid."""
        check_types(self)
        if not self.experiments:
            raise UsageError("name the folder of at least one experiment, such as experiments/ppo-iquitos-1")
        check_gpu_memory(self.gpu_memory)
        check_mpc(self.mpc)
        check_whole_numbers(self, {"top": 1, "seeds": 2, "seed": 0})


@dataclass(frozen=True)
class HeadroomSettings(SiteSettings):
    """Compare the uncontrolled site, rules, model predictive control and the perfect-foresight bound.

    It prints the remaining headroom for learning.
    """

    split: Literal["train", "validation", "test"] = "validation"
    """Split of the years or weeks to run."""
    mpc: tuple[Mpc, ...] = ALL_MPC
    """Forecasts of model predictive control. It plans each hour anew by a linear programme over the next day.
    Load, PV, carbon intensity and arrivals are forecast as on the day before, or by the mean of seven days. Or boosted trees
    forecast them, trained on the train split. With exact, the future is known. A year takes minutes the first time and is
    cached; none leaves it out."""
    weights: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=NUMBER")] = ()
    """See python -m tuning.run."""
    objective: Annotated[str, WORDS] = "score"
    """See python -m tuning.run."""
    require: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME>=NUMBER")] = ()
    """See python -m tuning.run."""

    def check(self) -> None:
        """Raise a UsageError for the first value that is not valid."""
        check_types(self)
        check_mpc(self.mpc)
