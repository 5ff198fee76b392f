"""SMAC with Hyperband over a landscape; an optional dependency of the benchmarks."""

import importlib.util
import tempfile
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.replay.searchers import Replay

MISSING = "smac with hyperband is skipped: smac is not installed (uv sync --group benchmarks)"


def installed() -> bool:
    """Whether SMAC is there."""
    return importlib.util.find_spec("smac") is not None


def smac_hyperband(replay: Replay) -> None:
    """SMAC's multi-fidelity facade: random forest and Hyperband with its own factor, 3. Promoted assignments train on."""
    from ConfigSpace import ConfigurationSpace
    from smac import MultiFidelityFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    land = replay.landscape
    names = sorted(land.distributions)
    space = ConfigurationSpace(seed=replay.seed)
    space.add([_parameter(f"p{i}", land.distributions[name]) for i, name in enumerate(names)])
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space, deterministic=True, n_trials=10_000, min_budget=1, max_budget=len(land.steps), seed=replay.seed,
            output_directory=folder,
        )  # fmt: skip
        smac = MultiFidelityFacade(scenario, _never, overwrite=True, logging_level=False)
        chosen: dict[Any, int] = {}
        while replay.free:
            asked = smac.ask()
            index = chosen.get(asked.config)
            if index is None:
                point = {name: _plain(asked.config[f"p{i}"]) for i, name in enumerate(names)}
                begins = None if chosen else land.default
                index = chosen[asked.config] = land.nearest(point, replay.free) if begins is None else begins
            rating = float(replay.ratings[index, max(replay.reached.get(index, 1) - 1, 0)])
            while replay.reached.get(index, 0) < round(asked.budget):
                rating = replay.train(index)
            smac.tell(asked, TrialValue(cost=-rating, time=0.0), save=False)


def _never(config: Any, seed: int = 0, budget: float = 0.0) -> float:
    """What SMAC would call; trials are asked and told instead."""
    raise NotImplementedError


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _parameter(name: str, distribution: BaseDistribution) -> Any:
    from ConfigSpace import Categorical, Float, Integer

    if isinstance(distribution, FloatDistribution):
        return Float(name, (distribution.low, distribution.high), log=distribution.log)
    if isinstance(distribution, IntDistribution):
        return Integer(name, (distribution.low, distribution.high), log=distribution.log)
    assert isinstance(distribution, CategoricalDistribution)
    return Categorical(name, list(distribution.choices))
