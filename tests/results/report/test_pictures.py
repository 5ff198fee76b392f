"""Pictures for a paper."""

from pathlib import Path

import pytest

from results.report import pictures
from results.report.colours import LIGHT
from results.report.figure import Section
from results.report.figures.policy import figures
from results.table_files import ResultsError
from tests.results.report.made import hours


def test_all_charts_of_a_figure_are_one_picture_in_the_colours_of_paper() -> None:
    week = next(figure for figure in figures(hours(10)) if figure.name == "week")
    spec = pictures.whole(week)
    assert len(spec["concat"]) == len(week.panels) == 2
    assert spec["config"]["background"] == LIGHT["paper"]
    assert "var(" not in str(spec)


def test_a_missing_package_and_an_unknown_format_are_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ResultsError, match='format "pdf": pictures are png or svg'):
        pictures.check_pictures("pdf")
    monkeypatch.setattr(pictures, "_MODULE", "no_such_module")
    with pytest.raises(ResultsError, match=r"pip install building-tuner\[figures\]"):
        pictures.check_pictures("png")


@pytest.mark.parametrize(("format", "begin"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_each_figure_with_charts_has_a_picture(tmp_path: Path, format: str, begin: bytes) -> None:
    pytest.importorskip("vl_convert")
    section = Section("a", "policy", {}, figures(hours(3))[:2])
    paths = pictures.write_pictures([section], tmp_path / "pictures", format)
    assert [path.name for path in paths] == [f"savings.{format}", f"week.{format}"]
    assert all(path.read_bytes().startswith(begin) for path in paths)
