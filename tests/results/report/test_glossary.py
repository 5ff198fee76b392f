"""The words at a page's end."""

from html import escape

from results.report.figure import Figure, Section
from results.report.glossary import WORDS
from results.report.page import page


def test_each_word_stands_on_the_page_folded_and_before_its_foot() -> None:
    text = page("a", [Section("a", "experiment", {}, (Figure("f", "Q?", "A."),))]).decode()
    at = text.index('<details class="words" id="words"><summary>Words</summary>')
    assert text.index("</figure>") < at < text.index("<footer>")
    for word, meaning in WORDS.items():
        assert f"<dt>{word}</dt><dd>{escape(meaning)}</dd>" in text


def test_words_that_sentences_of_the_page_use_are_explained() -> None:
    asked = {"Trial", "Policy", "Steps", "Hyperparameter", "Default", "Uncontrolled", "Score", "Validation hours", "Frozen"}
    assert asked | {"Judgement", "Seed", "Slot"} <= WORDS.keys()
    assert all(len(sentence.split()) <= 25 for meaning in WORDS.values() for sentence in meaning.split(". "))
