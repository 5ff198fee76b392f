"""What replays say: regrets, ranks, and the claims that are tested."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

BUDGETS = (2, 4, 10, 30)  # full trainings of the default's cost
RANDOM, REFERENCE, OURS = "random", "tpe+median", "freeze-thaw, all starts"
_DRAWS = 2000  # of a bootstrap

Regrets = Mapping[str, Mapping[str, Sequence[Sequence[float]]]]  # by landscape and searcher, of shape (seeds, budgets)


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """95 % bootstrap interval of a mean (percentiles)."""
    rng = np.random.default_rng(0)
    means = rng.choice(values, (_DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def findings(regrets: Regrets, budgets: Sequence[float] = BUDGETS) -> dict[str, Any]:
    """Average ranks over landscapes and seeds at each budget, and the claims about our search.

    A rank is that of a searcher among all in one replay: 1 has the least regret, equal ones share. "below random" lists
    (landscape, budget) pairs at which the paired difference of regrets to random lies above 0, with its whole interval.

    Args:
        regrets: of each landscape.
        budgets: at which they are.
    """
    names = sorted(set.intersection(*(set(each) for each in regrets.values())))
    arrays = {land: np.array([each[name] for name in names]) for land, each in regrets.items()}  # searcher, seed, budget
    ranks = np.concatenate([rankdata(each, axis=0) for each in arrays.values()], axis=1)
    found: dict[str, Any] = {
        "ranks": {
            name: [[float(ranks[i, :, b].mean()), *interval(ranks[i, :, b])] for b in range(len(budgets))]
            for i, name in enumerate(names)
        }
    }
    if not {OURS, RANDOM, REFERENCE} <= set(names):
        return found
    ours, chance, reference = (names.index(name) for name in (OURS, RANDOM, REFERENCE))
    means = ranks.mean(axis=1)
    first = means.argmin(axis=0)
    found["first or level"] = {
        str(budget): bool(first[b] == ours or interval(ranks[ours, :, b] - ranks[first[b], :, b])[0] <= 0)
        for b, budget in enumerate(budgets)
    }
    pairs = {(land, b): each[ours, :, b] - each[chance, :, b] for land, each in arrays.items() for b in range(len(budgets))}
    found["below random"] = [f"{land}, {budgets[b]:g}" for (land, b), values in pairs.items() if interval(values)[0] > 0]
    found["pairs"] = len(pairs)
    if {10, 30} <= set(budgets):
        early, late = list(budgets).index(10), list(budgets).index(30)
        found["at 10 what the reference has at 30"] = {
            land: [float(each[ours, :, early].mean()), float(each[reference, :, late].mean())] for land, each in arrays.items()
        }
    return found


def row_of(name: str, values: NDArray[np.float64]) -> str:
    """A row of means with their intervals, of values of shape (seeds, budgets)."""
    cells = []
    for column in values.T:
        low, high = interval(column)
        cells.append(f"{column.mean():.2f} ({low:.2f} to {high:.2f})")
    return f"| {name} | {' | '.join(cells)} |"


def markdown(regrets: Regrets, budgets: Sequence[float] = BUDGETS) -> str:
    """Tables of regrets by landscape, and of ranks; see `findings`."""
    head = "| searcher | " + " | ".join(f"{budget:g}" for budget in budgets) + " |\n|---|" + "---:|" * len(budgets)
    parts = []
    for land, each in regrets.items():
        rows = [f"**{land}**, mean regret after so many full trainings", "", head]
        rows += [row_of(name, np.array(values)) for name, values in each.items()]
        parts.append("\n".join(rows))
    rows = ["**Average rank** over landscapes and seeds", "", head]
    for name, cells in sorted(findings(regrets, budgets)["ranks"].items(), key=lambda item: item[1][-1][0]):
        rows.append(f"| {name} | {' | '.join(f'{mean:.1f} ({low:.1f} to {high:.1f})' for mean, low, high in cells)} |")
    return "\n\n".join([*parts, "\n".join(rows)])
