"""The command."""

from pathlib import Path

import pytest

from results.report.__main__ import main


def test_it_prints_the_path(experiment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(experiment)]) == 0
    assert capsys.readouterr().out.strip() == str(experiment / "report.html")


def test_a_wrong_place_is_one_line_and_nothing_is_created(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: no results in ")
    assert main([str(tmp_path), "--format", "svg"]) == 2
    assert capsys.readouterr().err == "error: --format is of pictures: name their folder, such as --figures pictures\n"
    assert not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_written_is_one_line(experiment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (experiment / "file").touch()
    assert main([str(experiment), "--to", str(experiment / "file" / "a.html")]) == 2
    # Lines before it are of files that lack rows.
    *warned, line = capsys.readouterr().err.splitlines()
    assert all(before.startswith("warning: ") for before in warned)
    assert line.startswith("error: ")


def test_whatever_a_place_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*given: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "Z:/x")

    monkeypatch.setattr("results.report.__main__.write", fail)
    assert main(["one", "--to", "Z:/x/a.html"]) == 2
    assert capsys.readouterr().err == "error: Z:/x: No such file or directory; free or repair this place, or choose another\n"
