"""Reports as files."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from results.report import NAME, write, writing
from results.report.charts import LIGHT, Section
from results.report.writing import destination
from results.table_files import ResultsError
from tests.results.report.made import figures

ROOT = Path(__file__).parents[3]


def test_the_page_lies_in_the_experiment_or_where_it_is_wanted(experiment: Path, tmp_path: Path) -> None:
    assert write(experiment) == experiment / NAME
    assert write([experiment], to=tmp_path / "new" / "a.html").read_bytes() == (experiment / NAME).read_bytes()
    assert not list(experiment.glob("*.new"))


def test_where_a_page_goes_by_default(experiment: Path) -> None:
    (experiment / "rolled.parquet").touch()
    assert destination([experiment / "rolled.parquet"]) == experiment / "rolled.html"
    assert destination([experiment, experiment]) == Path(NAME)


def test_it_needs_neither_ray_nor_torch(experiment: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('ray', 'torch', 'citylearn', 'optuna', 'matplotlib', 'vl_convert'): sys.modules[name] = None\n"
        f"from results import report; print(report.write({str(experiment)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(experiment / NAME)


def test_all_charts_of_a_figure_are_one_picture_in_the_colours_of_paper() -> None:
    week = next(figure for figure in figures(10) if figure.name == "week")
    spec = writing.whole(week)
    assert len(spec["concat"]) == len(week.panels) == 2
    assert spec["config"]["background"] == LIGHT["paper"]
    assert "var(" not in str(spec)


def test_names_with_control_characters_are_drawn_as_escapes(tmp_path: Path) -> None:
    """The renderer would end the process."""
    (week,) = (figure for figure in figures(10) if figure.name == "week")
    panel = replace(week.panels[0], title="a\x00b\x01c\nd\x1b]0;e\x07")
    titled = replace(week, panels=(panel, *week.panels[1:]))
    drawn = json.dumps(writing._drawable(writing.whole(titled)), ensure_ascii=False)
    assert "a\\\\x00b\\\\x01c\\nd\\\\x1b]0;e\\\\x07" in drawn
    assert drawn.isprintable()
    pytest.importorskip("vl_convert")
    (path,) = writing.write_pictures([Section("a", "policy", {}, (titled,))], tmp_path, "svg")
    assert path.exists()


def test_a_missing_package_and_an_unknown_format_are_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ResultsError, match='format "pdf": pictures are png or svg'):
        writing.check_pictures("pdf")
    monkeypatch.setattr(writing, "_MODULE", "no_such_module")
    with pytest.raises(ResultsError, match=r"uv sync --extra figures, or pip install vl-convert-python"):
        writing.check_pictures("png")


@pytest.mark.parametrize(("format", "begin"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_each_figure_with_charts_has_a_picture(tmp_path: Path, format: str, begin: bytes) -> None:
    pytest.importorskip("vl_convert")
    section = Section("a", "policy", {}, figures(3)[:2])
    paths = writing.write_pictures([section], tmp_path / "pictures", format)
    assert [path.name for path in paths] == [f"savings.{format}", f"week.{format}"]
    assert all(path.read_bytes().startswith(begin) for path in paths)
