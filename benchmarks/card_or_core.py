"""From which size of networks on a card learns faster than a core: steps/s of trials on both, without their evaluations.

Run: `uv run --group benchmarks python benchmarks/card_or_core.py`. Trials on the card run one after the other, with and without
recorded gradient steps; those on a core run beside them, each on its own. Quote the ratios.
"""

from dataclasses import dataclass
from typing import Any

import ray
import torch
import tyro

from benchmarks.shared_card import Trial, start_ray

STEPS = 4000  # of a budget, by which SAC is stopped often


@dataclass(frozen=True)
class Options:
    """What to run."""

    algos: tuple[str, ...] = ("ppo", "a2c", "sac")
    """Algorithms."""
    hidden_sizes: tuple[str, ...] = ("64,64", "128,128", "256,256", "512,512", "1024,1024")
    """Units of the hidden layers."""
    seconds: float = 3.0
    """Time that each is measured."""


def main() -> None:
    options, cuda = tyro.cli(Options), torch.cuda.is_available()
    pairs = [(algo, sizes) for algo in options.algos for sizes in options.hidden_sizes]
    start_ray(3 * len(pairs), cuda)
    actor: Any = ray.remote(Trial)
    of_card = actor.options(num_cpus=1, num_gpus=0.25 / len(pairs))
    on_card = [[of_card.remote(*pair, True, graphs, 3, STEPS) for graphs in (False, True)] if cuda else [] for pair in pairs]
    on_core = [actor.options(num_cpus=1).remote(*pair, False, False, 1, STEPS) for pair in pairs]
    cores = [trial.run.remote(options.seconds) for trial in on_core]
    ray.get([trial.shapes.remote() for trials in on_card for trial in trials])
    for (algo, sizes), trials, core in zip(pairs, on_card, cores, strict=True):
        cards = [ray.get(trial.run.remote(options.seconds)) for trial in trials]
        rate, part = ray.get(core)
        line = f"{algo} {sizes}: a core {rate:,.0f} steps/s, {part:.0%} learning"
        for name, (faster, learning) in zip(("the card", "with graphs"), cards, strict=False):
            line += f"; {name} {faster:,.0f}, {learning:.0%} learning: {faster / rate:.2f} times"
        print(line, flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
