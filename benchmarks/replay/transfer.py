"""Replay searches that learn from an earlier one on another site, beside the same searches without.

Run: `uv run python -m benchmarks.replay.transfer made:0 made:1 [--seeds 20] [--sources FILE...] [--json FILE]`.
"""

import json
import os
import sys
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import tyro

from benchmarks.replay.__main__ import ReplayError, landscape
from benchmarks.replay.command import carry_out
from benchmarks.replay.landscape import SITES, Landscape, made
from benchmarks.replay.searchers import SEARCHERS, Replay, freeze_thaw, replayed, source
from benchmarks.replay.tables import BUDGETS, row_of

EARLIER_BUDGET = 10.0  # full trainings of the earlier search
OTHERS = 5  # sites of each kind by formula
WITHOUT = "without"


@dataclass(frozen=True)
class Options:
    """What to replay."""

    landscapes: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Files, or made:SEED."""
    sources: tuple[str, ...] = ()
    """Files of other landscapes; for made:SEED other sites by formula."""
    seeds: int = 20
    """Replays of each."""
    budget: float = float(max(BUDGETS))
    """Full trainings of a search; regrets at smaller budgets are read on the way."""
    json: Path | None = None
    """File for all regrets; those that are in it are not computed again."""


@cache
def _earlier(name: str, seed: int) -> Replay:
    return replayed(_other(name), SEARCHERS["freeze-thaw, prior"], EARLIER_BUDGET, seed)


@cache
def _other(name: str) -> Landscape:
    """A landscape by its name: made:SEED:KIND:NUMBER for another site by formula."""
    parts = name.split(":")
    return made(int(parts[1]), site=":".join(parts[2:])) if len(parts) == 4 else landscape(name)


def regrets(options: Options) -> dict[str, dict[str, list[list[float]]]]:
    """Regrets by landscape and by what was learned from, each of shape (seeds, budgets)."""
    done = json.loads(options.json.read_text(encoding="utf-8")) if options.json and options.json.exists() else {}
    for name in options.landscapes:
        land = landscape(name)
        others = options.sources or (SITES if name.startswith("made:") else ())
        if not others:
            raise ReplayError(f"{name}: name other landscapes in --sources")
        for other in (WITHOUT, *others):
            known = done.setdefault(f"{land.describe()}, {options.budget:g} trainings", {}).setdefault(other, [])
            for seed in range(len(known), options.seeds):
                sources = []
                if other != WITHOUT:
                    # The earlier search has a seed of its own.
                    of = f"{name}:{other}:{seed % OTHERS}" if other in SITES else other
                    sources = [source(_earlier(of, 1000 + seed % OTHERS), land)]
                replay = replayed(land, partial(freeze_thaw, prior=True, sources=sources), options.budget, seed)
                known.append([replay.regret(budget * float(land.steps[-1])) for budget in BUDGETS if budget <= options.budget])
                if options.json:
                    options.json.write_text(json.dumps(done), encoding="utf-8")
            print(f"{land.name}, {other}: {np.round(np.mean(known, axis=0), 3)}", file=sys.stderr, flush=True)
    return done


def markdown(found: dict[str, dict[str, list[list[float]]]]) -> str:
    """A table of mean regrets, and of paired differences to the search without, over all landscapes."""
    shown = BUDGETS[: min(len(row) for each in found.values() for rows in each.values() for row in rows)]
    head = "| learned from | " + " | ".join(map(str, shown)) + " |\n|---|" + "---:|" * len(shown)
    names = list(dict.fromkeys(other for each in found.values() for other in each))
    rows, differences = [head], [head]
    for other in names:
        lands = [each for each in found.values() if other in each]
        values = np.concatenate([each[other] for each in lands])
        apart = values - np.concatenate([each[WITHOUT] for each in lands])
        rows.append(row_of(other, values))
        differences += [] if other == WITHOUT else [row_of(other, apart)]
    return "\n".join([f"{', '.join(found)}: mean regret", "", *rows, "", "less than without:", "", *differences])


def main(options: Options) -> None:
    """Learn, search and print a table in Markdown."""
    print(markdown(regrets(options)))


if __name__ == "__main__":
    carry_out(main, Options, __doc__)
