"""Which figures there are, for searches of any size."""

from pathlib import Path

import pytest

from results.report.page import page
from results.report.sections import sections, site
from results.report.sources import Sources
from tests.results import made


def answers(sources: Sources) -> dict[str, str]:
    return {figure.name: figure.answer for section in sections(sources) for figure in section.figures}


def test_a_search_with_a_known_answer_is_told_so(tmp_path: Path) -> None:
    found = answers(Sources((made.search(tmp_path, 40, noise=0.005),)))
    assert found["importance"].startswith(("shared_policy matters most:", "Perhaps shared_policy:"))
    assert found["changes"].startswith("shared_policy, from False to True:")
    assert found["timeline"].startswith("1 slot worked 100 %")
    assert "none exceeded what it was granted" in found["memory"]
    assert found["luck"].startswith("It cannot be said: each assignment was trained with one seed.")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_trials_give_a_page_that_says_what_cannot_be_said(tmp_path: Path, count: int) -> None:
    (section,) = sections(Sources((made.search(tmp_path, count),)))
    found = {figure.name: figure.answer for figure in section.figures}
    for name in ("best-so-far", "importance", "changes", "rungs", "parallel"):
        assert found[name].startswith(("It cannot be said", "None: the default, trial 0")), name
    assert b"</html>" in page(section.title, [section])


def test_a_search_in_which_all_trials_failed_gives_a_page(tmp_path: Path) -> None:
    made.settle(tmp_path)
    failed = [made.row(number, None, "failed", error="no luck", seconds=None) for number in range(2)]
    (section,) = sections(Sources((made.tables(tmp_path, failed),)))
    assert section.facts["trials"] == "2 (2 failed)"
    assert section.figures[0].answer == "None: of 2 trials none was rated (2 failed)."
    assert b"</html>" in page(section.title, [section])


def test_several_experiments_are_compared_first(tmp_path: Path) -> None:
    both = tuple(made.search(tmp_path / name, count) for name, count in (("a", 3), ("b", 6)))
    first, *others = sections(Sources(both))
    assert (first.kind, first.title, [one.title for one in others]) == ("comparison", "Comparison of a and b", ["a", "b"])
    assert first.figures[0].name == "comparison"


def test_a_site_is_named_without_its_path() -> None:
    assert [site(name) for name in ("iquitos-38", "/data/home/schema.json", "C:\\data\\mall\\schema.json", "schema.json")] == [
        "iquitos-38", "home", "mall", "schema.json"
    ]  # fmt: skip
