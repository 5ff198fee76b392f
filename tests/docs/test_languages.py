"""A page in Spanish has the commands and the sections of its English twin, so it cannot fall behind."""

import re
from pathlib import Path

import pytest

from tests.test_docs import FENCE, LINK, ROOT, commands

GUIDE, GUIA = ROOT / "docs" / "guide", ROOT / "docs" / "guia"
TWINS = sorted(GUIA.glob("*.md"))
TWICE = sorted([*GUIDE.glob("*.md"), ROOT / "docs" / "troubleshooting.md"])  # pages in English that have one


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
    assert sorted(map(twin_of, TWINS)) == TWICE
    assert [twin_of(twin_of(page)) for page in TWINS] == TWINS


@pytest.mark.parametrize("page", TWINS, ids=lambda page: page.name)
def test_twins_have_the_same_code_commands_sections_and_tables(page: Path) -> None:
    twin = twin_of(page)
    assert fenced(page) == fenced(twin)
    assert sorted(run_in(page)) == sorted(run_in(twin))
    assert sections(page) == sections(twin)
    assert rows(page) == rows(twin)


def run_in(page: Path) -> list[tuple[str, list[str]]]:
    """Commands of a page, also those in its lines."""
    return list(commands(page.read_text(encoding="utf-8")))


def test_the_spanish_readme_shows_no_command_or_output_that_the_english_one_lacks() -> None:
    """It is shorter: lines that it leaves out are `...`. Both lead to each other and begin with the same commands."""
    readme, spanish = ROOT / "README.md", ROOT / "README.es.md"
    assert (twin_of(readme), twin_of(spanish)) == (spanish, readme)
    assert fenced(readme)[0] == fenced(spanish)[0]
    shown, shown_there = ([line for _, code in fenced(page) for line in code.splitlines()] for page in (readme, spanish))
    assert [line for line in shown_there if line != "..." and line not in shown] == []
    assert [command for command in run_in(spanish) if command not in run_in(readme)] == []


def test_the_task_tables_of_the_readmes_have_the_same_rows_in_the_same_order() -> None:
    """Pages that have no twin are linked in English."""
    english, spanish = (tasks(ROOT / name) for name in ("README.md", "README.es.md"))
    assert len(english) > len(TWINS)
    twins = {twin_of(page): page for page in TWINS}
    assert [(twins.get(page, page), anchor) for page, anchor in english] == spanish


def tasks(page: Path) -> list[tuple[Path, str]]:
    """Page and section that each row of a README's first table leads to."""
    rows = page.read_text(encoding="utf-8").partition("|---|---|\n")[2].partition("\n\n")[0].splitlines()
    targets = (LINK.findall(row)[0][1].partition("#") for row in rows)
    return [((page.parent / name).resolve(), anchor) for name, _, anchor in targets]
