"""What a report consists of: figures, each with its question, the answer and a text alternative."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Spec = Mapping[str, Any]  # a Vega-Lite specification with colours of `results.report.colours`


@dataclass(frozen=True)
class Panel:
    """A chart of Vega-Lite, as wide as its place, with a title where a figure has several."""

    spec: Spec
    title: str = ""


@dataclass(frozen=True)
class Figure:
    """A question about the results, and its answer.

    Attributes:
        name: in links and file names: letters and dashes.
        question: its heading.
        answer: one sentence that is computed from the tables.
        panels: its charts; none where there is nothing to draw.
        table: the numbers behind it; column names are what a person reads.
        note: what was omitted, and how the numbers came about.
    """

    name: str
    question: str
    answer: str
    panels: tuple[Panel, ...] = ()
    table: pd.DataFrame | None = None
    note: str = ""


@dataclass(frozen=True)
class Section:
    """All figures about one experiment, judgement or rollout.

    Attributes:
        title: a name that a person knows.
        kind: in words, such as "experiment".
        facts: what is known of it at a glance, by heading.
        figures: in the order of reading.
        brief: names of the figures that the page's first lines repeat.
        intro: what a reader has to know first.
    """

    title: str
    kind: str
    facts: Mapping[str, str]
    figures: tuple[Figure, ...]
    brief: tuple[str, ...] = field(default=())
    intro: str = ""
