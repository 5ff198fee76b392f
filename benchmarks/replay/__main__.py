"""Replay searchers on landscapes and print how they rank, as Markdown and JSON.

Run: `uv run python -m benchmarks.replay LANDSCAPE... [--seeds 20] [--json FILE]`. A landscape is a Parquet of
`benchmarks/record_landscape.py`, learning curves of HPO-RL-Bench as CSV, or `made:0`, one by formula. With `surrogate:` before
it a model of its curves answers any proposal.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import tyro

from benchmarks.replay.command import carry_out
from benchmarks.replay.landscape import Landscape, load, made
from benchmarks.replay.searchers import KNOW_THEIR_BUDGET, SEARCHERS, Searcher, replayed
from benchmarks.replay.smac_search import MISSING, installed, smac_hyperband
from benchmarks.replay.surrogate import Surrogate
from benchmarks.replay.tables import BUDGETS, findings, markdown
from common.errors import UserError

SMAC = "smac+hyperband"
SURROGATE = "surrogate:"
ALL: dict[str, Searcher] = {**SEARCHERS, SMAC: smac_hyperband}


class ReplayError(UserError):
    """A landscape or a searcher that is not there; names it and what is valid."""


@dataclass(frozen=True)
class Options:
    """What to replay."""

    landscapes: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Files, or made:SEED; surrogate: before one for a model of it."""
    seeds: int = 20
    """Replays of each searcher."""
    budgets: tuple[float, ...] = BUDGETS
    """Full trainings of the default's cost, rising."""
    searchers: tuple[str, ...] = tuple(ALL)
    """Which ones."""
    json: Path | None = None
    """File for all regrets and ranks; those that are in it are not computed again."""


def landscape(name: str) -> Landscape:
    """A landscape by its name on the command line, with curves to the end."""
    land = _read(name)
    if not land.is_whole:
        raise ReplayError(f"{name}: some of its curves end early; replay its model with {SURROGATE}{name}")
    return land


def _read(name: str) -> Landscape:
    kind, _, seed = name.partition(":")
    if kind == "made" and seed.isdigit():
        return made(int(seed))
    path = Path(name)
    if path.suffix not in (".parquet", ".csv") or not path.is_file():
        raise ReplayError(f"{name}: there is no such landscape; name a Parquet or CSV file, or made:0")
    return load(path)


def _searched(name: str) -> Landscape | Surrogate:
    return Surrogate.of(_read(name.removeprefix(SURROGATE))) if name.startswith(SURROGATE) else landscape(name)


def regrets(options: Options) -> dict[str, dict[str, list[list[float]]]]:
    """Regrets by landscape and searcher, each of shape (seeds, budgets)."""
    if not options.budgets or list(options.budgets) != sorted(set(options.budgets)) or options.budgets[0] <= 0:
        raise ReplayError(f"--budgets {' '.join(f'{each:g}' for each in options.budgets)}: name rising numbers above 0")
    done = _done(options)
    for name in options.searchers:
        if name not in ALL:
            raise ReplayError(f"{name}: there is no such searcher; name one of {', '.join(ALL)}")
    if SMAC in options.searchers and not installed():
        print(MISSING, file=sys.stderr)
    names = [name for name in options.searchers if name != SMAC or installed()]
    for land in [_searched(name) for name in options.landscapes]:
        of_land = done.setdefault(land.describe(), {})
        for name in names:
            known = of_land.setdefault(name, [])
            begin = time.perf_counter()
            for seed in range(len(known), options.seeds):
                known.append(_of_one_seed(land, name, seed, options.budgets))
                if options.json:  # after each, as replays take long
                    _write(options.json, {"budgets": options.budgets, "regrets": done})
            means = " ".join(f"{value:.3f}" for value in np.mean(known, axis=0))
            print(f"{land.name}, {name}: {means} ({time.perf_counter() - begin:.0f} s)", file=sys.stderr, flush=True)
    return done


def _done(options: Options) -> dict[str, dict[str, list[list[float]]]]:
    """What the file has already."""
    if not options.json or not options.json.exists():
        return {}
    found = json.loads(options.json.read_text(encoding="utf-8"))
    if found["budgets"] != list(options.budgets):
        raise ReplayError(f"{options.json}: it has regrets at other budgets; name another file, or its --budgets")
    regrets: dict[str, dict[str, list[list[float]]]] = found["regrets"]
    return regrets


def _write(path: Path, found: dict[str, object]) -> None:
    path.write_text(json.dumps(found), encoding="utf-8")


def _of_one_seed(land: Landscape | Surrogate, name: str, seed: int, budgets: Sequence[float]) -> list[float]:
    """Regrets at all budgets. A searcher that knows its budget searches once for each."""
    if name in KNOW_THEIR_BUDGET:
        replays = [replayed(land, ALL[name], budget, seed) for budget in budgets]
    else:
        replays = [replayed(land, ALL[name], max(budgets), seed)] * len(budgets)
    steps = float(land.steps[-1])
    return [replay.regret(budget * steps) for replay, budget in zip(replays, budgets, strict=True)]


def main(options: Options) -> None:
    """Replay and print."""
    found = regrets(options)
    print(markdown(found, options.budgets))
    ranks = findings(found, options.budgets)
    print(json.dumps(ranks))
    if options.json:
        _write(options.json, {"budgets": options.budgets, "regrets": found, "findings": ranks})


if __name__ == "__main__":
    carry_out(main, Options, __doc__)
