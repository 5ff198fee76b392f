"""Replay searchers on landscapes and print how they rank, as Markdown and JSON.

Run: `uv run python -m benchmarks.replay LANDSCAPE... [--seeds 20] [--json FILE]`. A landscape is a Parquet of
`benchmarks/record_landscape.py`, learning curves of HPO-RL-Bench as CSV, or `made:0`, one by formula.
"""

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import tyro

from benchmarks.replay.landscape import Landscape, load, made
from benchmarks.replay.searchers import KNOW_THEIR_BUDGET, SEARCHERS, Searcher, replayed
from benchmarks.replay.smac_search import MISSING, installed, smac_hyperband
from benchmarks.replay.tables import BUDGETS, findings, markdown
from common.errors import UserError

SMAC = "smac+hyperband"
ALL: dict[str, Searcher] = {**SEARCHERS, SMAC: smac_hyperband}


class ReplayError(UserError):
    """A landscape or a searcher that is not there; names it and what is valid."""


@dataclass(frozen=True)
class Options:
    """What to replay."""

    landscapes: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Files, or made:SEED."""
    seeds: int = 20
    """Replays of each searcher."""
    searchers: tuple[str, ...] = tuple(ALL)
    """Which ones."""
    json: Path | None = None
    """File for all regrets and ranks; those that are in it are not computed again."""


def landscape(name: str) -> Landscape:
    """A landscape by its name on the command line."""
    kind, _, seed = name.partition(":")
    if kind == "made" and seed.isdigit():
        return made(int(seed))
    path = Path(name)
    if path.suffix not in (".parquet", ".csv") or not path.is_file():
        raise ReplayError(f"{name}: there is no such landscape; name a Parquet or CSV file, or made:0")
    return load(path)


def regrets(options: Options) -> dict[str, dict[str, list[list[float]]]]:
    """Regrets by landscape and searcher, each of shape (seeds, budgets)."""
    done = json.loads(options.json.read_text(encoding="utf-8"))["regrets"] if options.json and options.json.exists() else {}
    for name in options.searchers:
        if name not in ALL:
            raise ReplayError(f"{name}: there is no such searcher; name one of {', '.join(ALL)}")
    if SMAC in options.searchers and not installed():
        print(MISSING, file=sys.stderr)
    names = [name for name in options.searchers if name != SMAC or installed()]
    for land in [landscape(name) for name in options.landscapes]:
        of_land = done.setdefault(land.describe(), {})
        for name in names:
            known = of_land.setdefault(name, [])
            begin = time.perf_counter()
            for seed in range(len(known), options.seeds):
                known.append(_of_one_seed(land, name, seed))
                if options.json:  # after each, as replays take long
                    options.json.write_text(json.dumps({"budgets": BUDGETS, "regrets": done}), encoding="utf-8")
            means = " ".join(f"{value:.3f}" for value in np.mean(known, axis=0))
            print(f"{land.name}, {name}: {means} ({time.perf_counter() - begin:.0f} s)", file=sys.stderr, flush=True)
    return done


def _of_one_seed(land: Landscape, name: str, seed: int) -> list[float]:
    """Regrets at all budgets. A searcher that knows its budget searches once for each."""
    if name in KNOW_THEIR_BUDGET:
        replays = [replayed(land, ALL[name], budget, seed) for budget in BUDGETS]
    else:
        replays = [replayed(land, ALL[name], max(BUDGETS), seed)] * len(BUDGETS)
    steps = float(land.steps[-1])
    return [replay.regret(budget * steps) for replay, budget in zip(replays, BUDGETS, strict=True)]


def main(options: Options) -> None:
    """Replay and print."""
    found = regrets(options)
    print(markdown(found))
    ranks = findings(found)
    print(json.dumps(ranks))
    if options.json:
        options.json.write_text(json.dumps({"budgets": BUDGETS, "regrets": found, "findings": ranks}), encoding="utf-8")


if __name__ == "__main__":
    try:
        main(tyro.cli(Options, description=__doc__))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
