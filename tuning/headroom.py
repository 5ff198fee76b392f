"""What is left for learning on a site, before anyone spends an hour on it: `python -m tuning.headroom --scenario iquitos`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tuning.command import command

if TYPE_CHECKING:
    from rich.console import Console

    from envs.bound import Bound, Objective
    from envs.evaluate import Evaluation
    from envs.scenario import Window

LITTLE = 0.005  # of the uncontrolled site: what is left below this is called nothing


@dataclass(frozen=True)
class Question:
    """What the uncontrolled site, rules and a bound with perfect foresight give, and so what is left for learning."""

    scenario: str = "iquitos"
    """Site: iquitos, iquitos-38, or the path of a CityLearn schema.json that the batch backend can step."""
    split: Literal["train", "validation", "test"] = "validation"
    """Whose years or weeks are looked at."""


@dataclass(frozen=True)
class Row:
    """One way to run the site, over all its hours.

    Attributes:
        name: of it.
        score: mean reward an hour; None where it has none.
        co2_kg, cost: sums.
        peak_kw: highest import; None for the bound, which does not minimise it.
        served: part of the vehicles' energy; None without vehicles.
    """

    name: str
    score: float | None
    co2_kg: float
    cost: float
    peak_kw: float | None
    served: float | None


def main(arguments: list[str] | None = None) -> int:
    """Print the table.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0, or 2 for a command that cannot be carried out.
    """
    return command(Question, arguments, "python -m tuning.headroom", _answer)


def _answer(question: Question) -> int:
    from rich.console import Console

    from envs.baselines import UNCONTROLLED, baselines
    from envs.bound import OBJECTIVES, bound
    from envs.scenario import scenario
    from envs.years import choose_backend

    site, console = scenario(question.scenario), Console()
    choose_backend(site, "batch")
    windows = site.windows(question.split)
    with console.status(f"{site.title}: uncontrolled, rules"):
        found = {name: row_of(name, evaluations) for name, evaluations in baselines(site, windows).items()}
    bounds: dict[Objective, list[Bound]] = {}
    for objective in OBJECTIVES:
        with console.status(f"{site.title}: bound of {objective}, once"):
            bounds[objective] = [bound(site, window, objective) for window in windows]
    before = found[UNCONTROLLED]
    rows = [*found.values(), *(bound_row(f"bound of {name}", own, windows) for name, own in bounds.items())]
    hours = sum(window.hours for window in windows)
    _print(console, f"{site.title}, {question.split}: {hours:,} hours", rows, before)
    for line in left(rows, before):
        console.print(line, highlight=False, soft_wrap=True)
    return 0


def row_of(name: str, evaluations: Sequence[Evaluation]) -> Row:
    """Evaluations of several years as one row."""
    import math

    from envs.evaluate import score

    own = [evaluation.kpis for evaluation in evaluations]
    total, required = score(list(evaluations)), sum(kpis.ev_required_kwh for kpis in own)
    return Row(
        name,
        None if math.isnan(total) else total,
        sum(kpis.co2_kg for kpis in own),
        sum(kpis.bill for kpis in own),
        max(kpis.peak_kw for kpis in own),
        1.0 - sum(kpis.ev_missing_kwh for kpis in own) / required if required > 0.0 else None,
    )


def bound_row(name: str, bounds: Sequence[Bound], windows: Sequence[Window]) -> Row:
    """Bounds of several windows as one row."""
    hours = [window.hours for window in windows]
    score = sum(own.score * count for own, count in zip(bounds, hours, strict=True)) / sum(hours)
    return Row(name, score, sum(own.co2_kg for own in bounds), sum(own.cost for own in bounds), None, None)


def left(rows: Sequence[Row], before: Row) -> list[str]:
    """What is between the best rule and the bound, a line for each objective."""
    rules = [row for row in rows if row.name.startswith("rule")] or [before]
    lines = []
    for objective, label in (("score", "score"), ("co2_kg", "CO2"), ("cost", "bill")):
        limit = next(row for row in rows if row.name == f"bound of {objective.removesuffix('_kg')}")
        if objective == "score":
            best, most = max(row.score or 0.0 for row in rules), limit.score or 0.0
            gap, texts = most - best, (f"{best:+.4f}", f"{most:+.4f}")
        else:
            own, base = (getattr(row, objective) for row in (limit, before))
            if base <= 0.0:
                continue
            least = min(getattr(row, objective) for row in rules)
            gap, texts = (least - own) / base, (f"{least / base - 1.0:+.1%}", f"{own / base - 1.0:+.1%}")
        share = f"the best rule gives {texts[0]}, no policy more than {texts[1]}"
        amount = f"{gap:+.4f}" if objective == "score" else f"{gap:.1%} of the uncontrolled site's"
        lines.append(f"{label}: {share}; left for learning: {amount if gap > LITTLE else 'nothing worth the while'}")
    return lines


def _print(console: Console, title: str, rows: Sequence[Row], before: Row) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in ("", "score", "CO2, kg", "change", "bill", "change", "peak, kW", "served"):
        table.add_column(name, justify="left" if not name else "right")
    for row in rows:
        table.add_row(
            row.name, "" if row.score is None else f"{row.score:+.4f}",
            f"{row.co2_kg:,.0f}", _change(row.co2_kg, before.co2_kg), f"{row.cost:,.0f}", _change(row.cost, before.cost),
            "" if row.peak_kw is None else f"{row.peak_kw:,.0f}", "" if row.served is None else f"{row.served:.1%}",
        )  # fmt: skip
    console.print(table)


def _change(value: float, before: float) -> str:
    return f"{value / before - 1.0:+.1%}" if before else ""


if __name__ == "__main__":
    sys.exit(main())
