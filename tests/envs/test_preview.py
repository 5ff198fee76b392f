"""Pictures of a generated year."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
import pytest

from envs.preview import LAST_YEAR, main

Command = Callable[..., tuple[int, str, str]]


def test_both_pictures_are_drawn_where_they_are_wanted(tmp_path: Path, command: Command) -> None:
    matplotlib.use("Agg")
    folder = tmp_path / "pictures"
    status, out, _ = command(main, "--scenario", "iquitos-38", "--to", folder)
    assert status == 0
    shown = out.split()
    assert shown == [str(folder / name) for name in ("week.png", "year.png")]
    for path in shown:
        assert Path(path).read_bytes().startswith(b"\x89PNG")


def refused(command: Command, *arguments: object) -> str:
    status, out, err = command(main, *arguments)
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    return line


@pytest.mark.parametrize("year", ["-1", "2147483648", "1e300"])
def test_a_year_that_there_is_not_is_one_line_and_makes_nothing(year: str, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "pictures"
    assert refused(command, "--year", year, "--to", folder).startswith("error: --year is ")
    assert not folder.exists()


def test_the_last_year_has_a_calendar() -> None:
    from envs.scenarios.iquitos.series import calendar, stream

    assert set(calendar(LAST_YEAR).weekday) == set(range(7))
    stream(LAST_YEAR, "any").random()


@pytest.mark.parametrize("year", ["1.5", "\uff13", "nan", "first"])
def test_what_is_no_year_is_refused(year: str, command: Command) -> None:
    assert refused(command, "--year", year).startswith(f"error: --year: {year!r} is no ")


def test_a_given_scenario_and_an_unknown_one_are_refused(small_schema: Path, command: Command) -> None:
    assert "has its own data" in refused(command, "--scenario", small_schema, "--year", "0")
    assert "did you mean iquitos" in refused(command, "--scenario", "iquitoss")


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, command: Command) -> None:
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        assert refused(command, "--to", place).startswith(f"error: --to {place} cannot be made (")
    unknown = "~no-user-of-this-name/pictures"
    assert refused(command, "--to", unknown).startswith(f"error: {unknown}: no user has this home folder")
