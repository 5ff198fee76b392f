"""What the terminal shows of a search with two objectives: its front, and what fresh seeds say of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from rich.table import Table

from common.measure import by_the_year
from envs.objective.aim import Aim
from results import Results
from results.fresh import LEAST_RUNS
from results.front import GAINS, spread_out
from results.schema import GIVEN
from results.statistics import CONFIDENCE, mean, paired_mean
from search_spaces.common import REWARD_SHARE
from tuning.cli.confirmed import broken_lines, missed, named, runs, verdict
from tuning.cli.tables import plain_table

MOST_SHOWN = 10  # members of the front
_VALUES = ("objective", "objective_2")


def front_table(results: Results, aim: Aim) -> Table:
    """The members of the front, the best in the first objective at the top.

    Of many, those stand here that are farthest apart.
    """
    front, searched = results.front, results.trials[results.trials["confirms"].isna()]
    shown = front.iloc[sorted(spread_out(front[list(GAINS)].to_numpy(dtype=float))[:MOST_SHOWN])]
    number = f"{len(front)} of {len(searched)} trials" + (f", {len(shown)} of them shown" if len(shown) < len(front) else "")
    table = plain_table(by_the_year(f"Front: {number}", aim.objectives))
    shares = GIVEN + REWARD_SHARE in front
    columns = [own.column(shown[name].tolist()) for own, name in zip(aim.objectives, _VALUES, strict=True)]
    for name in ("trial", *(heading for own, _ in columns for heading in (own, "gain")), "score"):
        table.add_column(name, justify="right")
    for name in (*(["share"] if shares else []), "steps"):
        table.add_column(name, justify="right")
    for place, (_, row) in enumerate(shown.iterrows()):
        values = zip((texts[place] for _, texts in columns), (row[name] for name in GAINS), strict=True)
        cells = (cell for value, gain in values for cell in (value, f"{gain:+.1%}"))
        share = [f"{row[GIVEN + REWARD_SHARE]:.2f}"] if shares else []
        table.add_row(str(row["trial"]), *cells, f"{row['score']:+.4f}", *share, f"{row['steps']:,}")
    return table


def front_confirmation_lines(results: Results, aim: Aim) -> list[str]:
    """Means of both gains of what was trained again, with their intervals, and which are better than the default in what.

    Each interval is wider the more are compared, so that all of them hold together (Bonferroni).
    """
    fresh = results.fresh.at_least(LEAST_RUNS)
    if not fresh.complete and not results.fresh.broken:
        return []
    lines = [
        f"Trained again with fresh seeds; gains on the uncontrolled site, in brackets {CONFIDENCE:.0%} intervals over seeds:"
    ]
    for number in fresh.ordered:
        found = missed(number, fresh) or _gains(fresh.complete[number], aim)
        lines.append(f"  {named(number, fresh)}: {found}, {runs(number, fresh)}")
    lines += broken_lines(results.fresh)
    better: list[str] = []
    compared = False
    for number in fresh.contenders:
        if pairs := fresh.pairs(number):
            compared, told, in_which = True, [], []
            for objective, gain in zip(aim.objectives, GAINS, strict=True):
                own, default = (_numbers(side, gain) for side in pairs)
                interval = paired_mean(own, default, fresh.confidence(len(GAINS)))
                told.append(f"{objective.name} {interval.value:+.2%} ({interval.low:+.2%} to {interval.high:+.2%})")
                in_which += [objective.name] if interval.low > 0.0 else []
            lines.append(f"  trial {number} against the default, difference of gains: {'; '.join(told)}")
            better += [f"trial {number} in {' and '.join(in_which)}"] if in_which else []
    return [*lines, *verdict(results.fresh, "; ".join(better), compared)]


def _gains(own: pd.DataFrame, aim: Aim) -> str:
    found = ((objective, mean(_numbers(own, gain))) for objective, gain in zip(aim.objectives, GAINS, strict=True))
    return "; ".join(f"{one.name} {each.value:+.2%} ({each.low:+.2%} to {each.high:+.2%})" for one, each in found)


def _numbers(own: pd.DataFrame, column: str) -> np.ndarray:
    return own[column].to_numpy(dtype=float)
