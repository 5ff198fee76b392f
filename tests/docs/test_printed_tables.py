"""Tables in the pages have the headings that the code prints, so older output shows."""

import itertools
import re
from functools import cache
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from envs.objective.aim import SCORE_ALONE
from envs.objective.columns import measures
from envs.objective.kpis import OUTAGES, TEMPERATURE
from results.judgement import METRICS, metrics
from tests.test_docs import FENCE, PAGES, ROOT
from tuning.cli.summary import _against_uncontrolled, _ranking, _yardsticks, print_comparison
from tuning.judging.headroom import Row
from tuning.judging.headroom import tables as of_headroom
from tuning.judging.report import tables

SHOWING = [
    page for page in PAGES if page.parent == ROOT or page.parent.name in ("guide", "guia") or page.stem in ("headroom", "judge")
]
UNIT = re.compile(r", (kg|t|kt|kWh|MWh|GWh|kW|MW|GW|thousand|million)( [A-Z]{3})?\b")


def names(line: str) -> tuple[str, ...]:
    """Names of the columns in a heading, without units, which go by the size of the site."""
    return tuple(UNIT.sub("", name) for name in re.split(r" {2,}", line.strip()))


def headings(text: str) -> set[tuple[str, ...]]:
    """Headings in what was printed: lines above a rule, and those of a judgement, without a rule on narrow terminals."""
    lines = text.splitlines()
    ruled = {above for above, line in itertools.pairwise(lines) if re.fullmatch(r" *─{20,} *", line)}
    return {names(line) for line in lines if line in ruled or re.match(r" *(runs|import, \w+|CO2, \w+) {2,}[A-Za-z]", line)}


@cache
def printed() -> set[tuple[str, ...]]:
    """Headings that the code prints."""
    out = StringIO()
    console = Console(file=out, width=120)
    amounts = ("co2_kg", "bill", "import_kwh", "peak_kw", "ev_required_kwh", "ev_missing_kwh")
    year = pd.DataFrame({"hours": [1], **{prefix + name: [1.0] for name in amounts for prefix in ("", "uncontrolled_")}})
    known = metrics({name: own for name, own in measures().items() if own.needs not in (TEMPERATURE, OUTAGES)})
    nothing = pd.DataFrame({name: pd.Series(dtype=float) for name in known})
    nothing.attrs[METRICS] = {name: own.metadata for name, own in known.items()}
    print_comparison([], console)
    row = Row("uncontrolled", 0.0, 1.0, 1.0, 1.0, 1.0)
    beside = pd.DataFrame({"name": [""], "score": [0.0], "of_bound": [1.0], "served": [1.0], "discomfort": [float("nan")]})
    trials = pd.DataFrame(columns=["shortfall", "further_episodes", "confirms"])
    for table in (
        _ranking(trials, trials, SCORE_ALONE), _against_uncontrolled(year, measures(), ""), *tables(nothing, "a site"),
        *of_headroom("a site", [row], row), _yardsticks(beside),
    ):  # fmt: skip
        console.print(table)
    return headings(out.getvalue())


def shown(page: Path) -> str:
    """What a page shows as printed."""
    return "\n".join(match[4] for match in FENCE.finditer(page.read_text(encoding="utf-8")) if not match[3].strip())


def test_what_the_code_prints_has_headings() -> None:
    assert len(printed()) == 8
    assert headings("trial    score  minutes\n───────────────────────") == {("trial", "score", "minutes")}


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_tables_of_the_pages_have_headings_that_the_code_prints(page: Path) -> None:
    assert headings(shown(page)) <= printed()


def test_the_pages_show_tables() -> None:
    """So the rule above has something to hold."""
    assert set().union(*(headings(shown(page)) for page in SHOWING)) == printed()
