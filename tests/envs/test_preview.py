"""Pictures of a generated year."""

import sys
from pathlib import Path

import matplotlib
import pytest

from envs.preview import LAST_YEAR, main


def test_both_pictures_are_drawn_where_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib.use("Agg")
    folder = tmp_path / "pictures"
    monkeypatch.setattr(sys, "argv", ["preview", "--scenario", "iquitos-38", "--to", str(folder)])
    assert main() == 0
    shown = capsys.readouterr().out.split()
    assert shown == [str(folder / name) for name in ("week.png", "year.png")]
    for path in shown:
        assert Path(path).read_bytes().startswith(b"\x89PNG")


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["preview", *arguments])
    assert main() == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    return line


@pytest.mark.parametrize("year", ["-1", "2147483648", "1e300"])
def test_a_year_that_there_is_not_is_one_line_and_makes_nothing(
    year: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pictures"
    assert refused(monkeypatch, capsys, "--year", year, "--to", str(folder)).startswith("error: --year is ")
    assert not folder.exists()


def test_the_last_year_has_a_calendar() -> None:
    from envs.scenarios.iquitos.series import calendar, stream

    assert set(calendar(LAST_YEAR).weekday) == set(range(7))
    stream(LAST_YEAR, "any").random()


@pytest.mark.parametrize("year", ["1.5", "\uff13", "nan", "first"])
def test_what_is_no_year_is_refused(year: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(monkeypatch, capsys, "--year", year).startswith(f"error: --year: {year!r} is no ")


def test_a_given_scenario_and_an_unknown_one_are_refused(
    small_schema: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "has its own data" in refused(monkeypatch, capsys, "--scenario", str(small_schema), "--year", "0")
    assert "did you mean iquitos" in refused(monkeypatch, capsys, "--scenario", "iquitoss")


def test_a_place_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        assert refused(monkeypatch, capsys, "--to", str(place)).startswith(f"error: --to {place} cannot be made (")
    unknown = "~no-user-of-this-name/pictures"
    assert refused(monkeypatch, capsys, "--to", unknown).startswith(f"error: {unknown}: no user has this home folder")
