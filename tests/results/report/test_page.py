"""The page: self-contained, with a text alternative for each figure, and the same bytes for the same content."""

import base64
import gzip
import hashlib
import json
import re

import pandas as pd
import pytest

from results.report.charts import Figure, Section
from results.report.page import MOST_ROWS, SCRIPTS, asset, page
from tests.results.report.made import figures


@pytest.fixture(scope="module")
def text() -> str:
    return page("Made & more", [Section("Made & more", "policy", {"site": "<b>"}, figures(10))]).decode()


def test_nothing_in_it_names_another_place(text: str) -> None:
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", text)
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text


def test_texts_are_escaped(text: str) -> None:
    assert "<title>Made &amp; more</title>" in text
    assert "<dd>&lt;b&gt;</dd>" in text


def test_each_figure_has_question_answer_and_a_text_alternative(text: str) -> None:
    for figure in figures(10):
        (own,) = re.findall(rf'<figure id="{figure.name}".*?</figure>', text, re.S)
        assert own.count('role="img"') == len(figure.panels) == own.count('aria-label="Chart')
        assert all(part in own for part in (f'<h3 id="{figure.name}-question">', '<p class="answer">', "<table>"))


def test_specifications_are_in_it_compressed_and_each_chart_has_one(text: str) -> None:
    packed = re.search(r'id="figures">([^<]*)<', text)
    assert packed
    specs = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    assert set(re.findall(r'data-chart="([^"]*)"', text)) == specs.keys()


def test_the_same_content_gives_the_same_bytes() -> None:
    section = Section("a", "policy", {}, figures(3))
    assert page("a", [section]) == page("a", [section])


def test_figures_of_several_sections_have_names_of_their_own() -> None:
    text = page("a", [Section(name, "policy", {}, figures(3)) for name in ("a", "b")]).decode()
    names = re.findall(r' id="([^"]*)"', text)
    assert len(names) == len(set(names))


def test_a_long_table_is_cut_and_says_so() -> None:
    table = pd.DataFrame({"n": range(1000), "part": 0.123456, "name": None})
    text = page("a", [Section("a", "x", {}, (Figure("f", "Q?", "A.", (), table),))]).decode()
    assert text.count("<tr>") == MOST_ROWS + 1
    assert f"The first {MOST_ROWS} of 1,000 rows." in text
    assert ">0.123<" in text


def test_a_page_without_charts_has_no_vega() -> None:
    assert len(page("a", [Section("a", "experiment", {}, (Figure("f", "Q?", "It cannot be said."),))])) < 30_000


def test_vega_is_what_the_file_of_versions_names_with_its_licence() -> None:
    versions = json.loads(asset("VERSIONS.json"))
    assert versions.keys() == set(SCRIPTS)
    packed = {name: asset(f"{name}.min.js.gz") for name in SCRIPTS}
    for name, content in packed.items():
        assert hashlib.sha256(gzip.decompress(content)).hexdigest() == versions[name]["sha256"]
        assert b"Redistribution and use" in asset(f"{name}.LICENSE")
        assert versions[name]["version"].encode() in gzip.decompress(content) or name == "vega-embed"
    assert sum(len(base64.b64encode(content)) for content in packed.values()) < 400_000


def test_each_word_stands_on_the_page_folded_and_before_its_foot() -> None:
    text = page("a", [Section("a", "experiment", {}, (Figure("f", "Q?", "A."),))]).decode()
    at = text.index('<details class="words" id="words"><summary>Words</summary>')
    assert text.index("</figure>") < at < text.index("<footer>")


@pytest.mark.parametrize(
    ("facts", "says_site"),
    [
        ([{"site": "a"}], True),
        ([{"environment": "b"}], False),
        ([{"environment": "b"}, {"site": "a"}], True),
        ([{"environment": "b"}, {"kind": "policy"}], True),
    ],
)
def test_words_speak_of_a_site_where_there_is_one(facts: list[dict[str, str]], says_site: bool) -> None:
    text = page("a", [Section("a", each.get("kind", "experiment"), each, ()) for each in facts]).decode()
    words = text[text.index('<details class="words"') : text.rindex("</dl>")]
    assert ("Uncontrolled" in words, "batteries" in words, "return of a policy" in words) == (
        says_site,
        says_site,
        not says_site,
    )
