"""A page in Spanish has the commands and the sections of its English twin, so it cannot fall behind."""

import re
from pathlib import Path

import pytest

from tests.test_docs import FENCE, LINK, ROOT, commands

GUIDE, GUIA = ROOT / "docs" / "guide", ROOT / "docs" / "guia"
TWINS = sorted(GUIA.glob("*.md"))


def twin_of(page: Path) -> Path:
    """The page that the first link of a page leads to, which is the same in the other language."""
    _, target = LINK.findall(page.read_text(encoding="utf-8"))[0]
    return (page.parent / target).resolve()


def fenced(page: Path) -> list[tuple[str, str]]:
    """Code of a page: commands, programs and what they print, each with its language."""
    return [(match[3].strip(), match[4]) for match in FENCE.finditer(page.read_text(encoding="utf-8"))]


def sections(page: Path) -> list[int]:
    """Levels of a page's headings."""
    return [len(marks) for marks in re.findall(r"^(#+) ", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)]


def rows(page: Path) -> int:
    """Rows of a page's tables."""
    return len(re.findall(r"^\|", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE))


def test_every_page_by_task_has_one_twin_that_leads_back() -> None:
    assert sorted(map(twin_of, TWINS)) == sorted(GUIDE.glob("*.md"))
    assert [twin_of(twin_of(page)) for page in TWINS] == TWINS


@pytest.mark.parametrize("page", TWINS, ids=lambda page: page.name)
def test_twins_have_the_same_code(page: Path) -> None:
    assert fenced(page) == fenced(twin_of(page))


@pytest.mark.parametrize("page", TWINS, ids=lambda page: page.name)
def test_twins_have_the_same_commands_in_their_lines(page: Path) -> None:
    own, other = (sorted(commands(one.read_text(encoding="utf-8"))) for one in (page, twin_of(page)))
    assert own == other


@pytest.mark.parametrize("page", TWINS, ids=lambda page: page.name)
def test_twins_have_the_same_sections_and_tables(page: Path) -> None:
    assert sections(page) == sections(twin_of(page))
    assert rows(page) == rows(twin_of(page))


def test_the_readmes_lead_to_each_other_and_begin_with_the_same_commands() -> None:
    readme, spanish = ROOT / "README.md", ROOT / "README.es.md"
    assert (twin_of(readme), twin_of(spanish)) == (spanish, readme)
    assert fenced(readme)[0] == fenced(spanish)[0]
