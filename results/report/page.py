"""A report as one HTML file that opens offline: text and tables as they are, charts and Vega compressed.

The page inflates the three scripts of Vega and the specifications in the browser. Its security policy forbids each request.
"""

import base64
import gzip
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from results.report.charts import BESIDE, DARK, LIGHT, Section, variables
from results.report.words import number, score

SCRIPTS = ("vega", "vega-lite", "vega-embed")  # in the order in which they load
MOST_ROWS = 25  # of a table
_COMMAND = re.compile("`([^`]+)`\n?")  # a command has its line


def asset(name: str) -> bytes:
    """Content of a file beside this module."""
    return files("results.report").joinpath("assets", name).read_bytes()


def page(title: str, sections: Sequence[Section]) -> bytes:
    """The whole page, UTF-8. The same content gives the same bytes."""
    # What stands before the names of a section's figures, so that all differ.
    placed = [(f"s{place}-" if len(sections) > 1 else "", section) for place, section in enumerate(sections, 1)]
    specs = {
        f"{place}{figure.name}-{part}": panel.spec
        for place, section in placed
        for figure in section.figures
        for part, panel in enumerate(figure.panels)
    }
    content = json.dumps(specs, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    # The time is left out, so the same content gives the same text.
    scripts = {"figures": gzip.compress(content, 9, mtime=0)}
    if specs:
        scripts |= {name: asset(f"{name}.min.js.gz") for name in SCRIPTS}
    versions = json.loads(asset("VERSIONS.json"))
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"cell": _cell, "numeric": _numeric, "prose": _prose}
    filled = environment.from_string(asset("page.html").decode()).render(
        title=title,
        placed=placed,
        of_environments=_of_environments(sections),
        most_rows=MOST_ROWS,
        small=BESIDE,
        scripts={name: base64.b64encode(script).decode() for name, script in scripts.items()},
        versions=[f"{name} {versions[name]['version']}" for name in SCRIPTS],
        light=Markup(variables(LIGHT)),
        dark=Markup(variables(DARK)),
        css=Markup(asset("page.css").decode()),
        js=Markup(asset("page.js").decode()),
    )
    return filled.encode()


def _of_environments(sections: Sequence[Section]) -> bool:
    """Whether all that is reported on is of Gymnasium environments, so that its words are explained without a site."""
    known = {name for section in sections for name in (*section.facts, section.kind)}
    return "environment" in known and not known & {"site", "policy"}


def _prose(text: str) -> Markup:
    """An answer: its lines below each other, and what stands between backticks as a command that can be copied."""
    return Markup(_COMMAND.sub(r"<code>\1</code>", str(escape(text))).replace("\n", "<br>"))


def _numeric(frame: pd.DataFrame) -> list[bool]:
    return [pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind) for kind in frame.dtypes]


def _cell(value: Any, column: Any) -> str:
    """A value as a table shows it: three significant digits, whole numbers whole, empty where there is none."""
    if pd.isna(value):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and {"score", "rating"} & set(str(column).split()):
        return score(value)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e9):
        return f"{int(value):,}"
    return number(value) if isinstance(value, float) else str(value)
