"""A report as one HTML file that opens offline: text and tables as they are, charts and Vega compressed.

The page inflates the three scripts of Vega and the specifications in the browser. Its security policy forbids each request.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import pandas as pd

from results.report.charts import DARK, LIGHT, Figure, Section, variables
from results.report.words import number, score

SCRIPTS = ("vega", "vega-lite", "vega-embed")  # in the order in which they load
MOST_ROWS = 25  # of a table
SMALL = 3  # so many charts of a figure stand beside each other
# Words that a reader may not know.
WORDS: Mapping[str, str] = {
    "Trial": "One training with one set of hyperparameters. A search runs many, and the best one wins.",
    "Policy": "What a trial trains: the controller that decides each hour what batteries and vehicles do.",
    "Steps": "Hours of a simulated site from which a trial has learned. Sites that are simulated at once add up.",
    "Hyperparameter": "A setting of the training that is chosen before it starts, such as learning_rate, how far a policy "
    "changes at once. The reference of hyperparameters in docs/reference explains each.",
    "Default": "The hyperparameters with which the program trains unless told otherwise. It is not the site's present control.",
    "Uncontrolled": "The site without control: batteries idle, and vehicles charge at full power at once. Savings are "
    "against it.",
    "Score": "The mean reward an hour of a policy: 0 is the uncontrolled site, and more is better. A rating ranks trials: the "
    "score, or what the search was told to aim at.",
    "Validation hours": "Hours that no training uses. The search compares trials on them, so they flatter its winner. Test "
    "hours are kept for a judgement.",
    "Evaluation": "A run of the policy through the validation hours, several times in a training.",
    "Frozen": "A trial that was paused with its state, because others did better. It may go on later. A pruned trial ends for "
    "good, and a complete one has taken all of its steps.",
    "Seed": "The number from which random draws start. Training again with fresh seeds shows what was luck.",
    "95 % interval": "Where the true value probably lies. One that contains 0 leaves open whether there is an effect.",
    "Judgement": "A comparison on test hours, with fresh seeds, simple rules and a bound that no controller can beat.",
}
_COMMAND = re.compile("`([^`]+)`\n?")  # a command has its line
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
_OLD = (
    "This browser cannot draw the charts. Open the page in Chrome or Edge 80, Firefox 113, Safari 16.4, or a newer one. "
    "All sentences and tables are here without them."
)


def asset(name: str) -> bytes:
    """Content of a file beside this module."""
    return files("results.report").joinpath("assets", name).read_bytes()


def page(title: str, sections: Sequence[Section]) -> bytes:
    """The whole page, UTF-8. The same content gives the same bytes."""
    specs = {
        f"{_place(section, sections)}{figure.name}-{part}": panel.spec
        for section in sections
        for figure in section.figures
        for part, panel in enumerate(figure.panels)
    }
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>{_themes()}{asset('page.css').decode()}</style></head><body>",
        f'<header class="top"><h1>{escape(title)}</h1>{_kinds(sections)}',
        f'<noscript><p>{escape(_OLD)}</p></noscript><p class="old" hidden>{escape(_OLD)}</p></header><main>',
        *(_section(section, _place(section, sections), section.title != title) for section in sections),
        _words(),
        f"<footer>{_colophon()}</footer></main>",
        f'<script type="application/gzip" id="figures">{_packed(_json(specs))}</script>',
    ]
    if specs:
        parts += [
            f'<script type="application/gzip" id="{name}">{base64.b64encode(asset(f"{name}.min.js.gz")).decode()}</script>'
            for name in SCRIPTS
        ]
    parts += [f"<script>{asset('page.js').decode()}</script></body></html>", ""]
    return "\n".join(parts).encode()


def _place(section: Section, sections: Sequence[Section]) -> str:
    """What stands before the names of a section's figures, so that all differ; nothing where there is one section."""
    return f"s{next(i for i, other in enumerate(sections, 1) if other is section)}-" if len(sections) > 1 else ""


def _themes() -> str:
    """Colours by the system's setting. Paper is light."""
    return (
        f":root{{{variables(LIGHT)}}}@media (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
        f"@media print{{:root{{{variables(LIGHT)}}}}}"
    )


def _kinds(sections: Sequence[Section]) -> str:
    """The line below the title."""
    if len(sections) == 1:
        return f'<p class="soft">Report on one {escape(sections[0].kind)}</p>'
    links = "".join(f'<li><a href="#{_place(one, sections)}top">{escape(one.title)}</a></li>' for one in sections)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _section(section: Section, place: str, headed: bool) -> str:
    """Facts, the answers in brief, links to the questions, and the figures."""
    by_name = {figure.name: figure for figure in section.figures}
    heading = f'<h2 id="{place}top">{escape(section.title)}</h2>' if headed else f'<div id="{place}top"></div>'
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in section.facts.items())
    brief = "".join(
        f'<li><a href="#{place}{name}">{escape(by_name[name].question)}</a><span>{_prose(by_name[name].answer)}</span></li>'
        for name in section.brief
        if name in by_name
    )
    others = "".join(f'<li><a href="#{place}{one.name}">{escape(one.question)}</a></li>' for one in section.figures)
    return "".join(
        [
            f'<section>{heading}<dl class="facts">{facts}</dl>' if facts else f"<section>{heading}",
            f'<ul class="brief">{brief}</ul>' if brief else "",
            f'<p class="note">{escape(section.intro)}</p>' if section.intro else "",
            f"<details><summary>All {len(section.figures)} questions</summary><nav><ul>{others}</ul></nav></details>"
            if len(section.figures) > 1
            else "",
            *(_figure(figure, place) for figure in section.figures),
            "</section>",
        ]
    )


def _figure(figure: Figure, place: str) -> str:
    """A figure: question, answer, charts with their text alternative, table and note."""
    name = f"{place}{figure.name}"
    small = " small" if len(figure.panels) >= SMALL else ""
    panels = "".join(
        '<div class="panel">'
        + (f'<p class="panel-title">{escape(panel.title)}</p>' if panel.title else "")
        + f'<div class="chart" role="img" data-chart="{name}-{part}" '
        f'aria-label="{escape(_spoken(figure, panel.title), quote=True)}"></div></div>'
        for part, panel in enumerate(figure.panels)
    )
    tools = (
        '<div class="tools">'
        + "".join(
            f'<button type="button" hidden data-format="{kind}" aria-label="Save as {kind.upper()}: '
            f'{escape(figure.question, quote=True)}">Save as {kind.upper()}</button>'
            for kind in ("svg", "png")
        )
        + "</div>"
    )
    return "".join(
        [
            f'<figure id="{name}" aria-labelledby="{name}-question"><h3 id="{name}-question">{escape(figure.question)}</h3>',
            f'<p class="answer">{_prose(figure.answer)}</p>',
            f'<div class="panels{small}">{panels}</div>' if panels else "",
            f'<p class="note">{escape(figure.note)}</p>' if figure.note else "",
            _table(figure.table) if figure.table is not None and len(figure.table) else "",
            tools if panels else "",
            "</figure>",
        ]
    )


def _prose(text: str) -> str:
    """An answer: its lines below each other, and what stands between backticks as a command that can be copied."""
    return _COMMAND.sub(r"<code>\1</code>", escape(text)).replace("\n", "<br>")


def _spoken(figure: Figure, title: str) -> str:
    """Text alternative of a chart."""
    table = " The numbers are in the table below." if figure.table is not None and len(figure.table) else ""
    return f"Chart{f', {title}' if title else ''}. {figure.answer.replace('`', '')}{table}"


def _table(frame: pd.DataFrame) -> str:
    """The numbers of a figure, at most `MOST_ROWS` rows of them."""
    numeric = [pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind) for kind in frame.dtypes]
    classes = [' class="number"' if one else "" for one in numeric]
    head = "".join(f'<th scope="col"{kind}>{escape(str(name))}</th>' for name, kind in zip(frame.columns, classes, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{escape(_cell(value, name))}</td>" for name, value, kind in zip(frame, row, classes, strict=True))
        + "</tr>"
        for row in frame.head(MOST_ROWS).itertuples(index=False, name=None)
    )
    omitted = len(frame) - MOST_ROWS
    more = f'<p class="note">The first {MOST_ROWS} of {len(frame):,} rows.</p>' if omitted > 0 else ""
    return (
        f'<details><summary>The numbers as a table</summary><div class="scroll" tabindex="0" role="region" '
        f'aria-label="Table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}</details>'
    )


def _cell(value: Any, column: Any) -> str:
    """A value as a table shows it: three significant digits, whole numbers whole, empty where there is none."""
    if value is None or value != value or str(value) in ("<NA>", "NaT"):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and {"score", "rating"} & set(str(column).split()):
        return score(value)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e9):
        return f"{int(value):,}"
    return number(value) if isinstance(value, float) else str(value)


def _words() -> str:
    """The glossary, folded."""
    terms = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in WORDS.items())
    return f'<details class="words" id="words"><summary>Words</summary><dl>{terms}</dl></details>'


def _colophon() -> str:
    """What the page was drawn with, and under which licence."""
    versions = json.loads(asset("VERSIONS.json"))
    named = ", ".join(f"{name} {versions[name]['version']}" for name in SCRIPTS)
    return (
        "This page asks no other machine for anything. Charts are drawn by "
        f"{named} (University of Washington Interactive Data Lab, BSD 3-Clause). "
        "Colours are told apart by the colour-blind: Okabe-Ito."
    )


def _json(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _packed(content: bytes) -> str:
    """Compressed, in base64. The time is left out, so the same content gives the same text."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
