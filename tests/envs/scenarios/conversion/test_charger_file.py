"""A charger's file of CityLearn 2.4 is repaired where it has one meaning, and asked about where it has several."""

from pathlib import Path

import pytest

from envs.scenarios.conversion.cells import Cells, Found
from envs.scenarios.conversion.charger_file import repair
from envs.scenarios.series_files import ARRIVAL_SOC, CHARGER, DEPARTURE, REQUIRED_SOC, STATE

# State, vehicle, hours to the departure, required charge, hours to the arrival, charge on arrival.
AWAY = ("3", "", "", "", "", "")


def coming(soc: str, hours: str = "1", vehicle: str = "car") -> tuple[str, ...]:
    return ("2", vehicle, "", "", hours, soc)


def plugged(left: str, soc: str = "", required: str = "80", vehicle: str = "car") -> tuple[str, ...]:
    return ("1", vehicle, left, required, "", soc)


def repaired(
    folder: Path, rows: list[tuple[str, ...]], site: int = 100, arrival_soc: str = "", small_soc: str = ""
) -> tuple[list[Found], dict[str, list[str]]]:
    """What is found in a file, and its columns afterwards."""
    file = folder / "charger.csv"
    file.write_text("\n".join(map(",".join, (CHARGER, *rows))) + "\n", encoding="utf-8")
    cells = Cells(file, len(rows))
    found = list(repair(cells, site, arrival_soc, small_soc))
    return found, {column: cells.frame[column].tolist() for column in CHARGER}


def test_a_sound_file_has_nothing_to_repair(tmp_path: Path) -> None:
    rows = [plugged("1"), plugged("0"), AWAY, coming("50"), plugged("0"), AWAY, plugged("0", soc="0")]
    found, columns = repaired(tmp_path, rows)
    assert found == []
    assert list(zip(*columns.values(), strict=True)) == rows


def test_rows_beyond_the_site_are_left_out_after_they_told_when_a_vehicle_leaves(tmp_path: Path) -> None:
    found, columns = repaired(tmp_path, [plugged(""), plugged(""), plugged("1"), plugged("0")], site=2)
    assert [(one.place, one.lines) for one in found] == [(DEPARTURE, (2, 3)), ("rows", (4, 5))]
    assert columns[DEPARTURE] == ["3", "2"]


@pytest.mark.parametrize(
    ("left", "filled"),
    [
        (["", "", "7", "6"], ["9", "8", "7", "6"]),  # a later row says it
        (["", "", ""], ["2", "1", "0"]),  # the vehicle is gone then, and other sessions here end at 0
        (["5", "", ""], ["5", "1", "0"]),
    ],
)
def test_hours_to_the_departure_are_counted_back(left: list[str], filled: list[str], tmp_path: Path) -> None:
    rows = [*map(plugged, left), AWAY, plugged("0", soc="40"), AWAY]
    (found, *_), columns = repaired(tmp_path, rows)
    assert found.decided
    assert found.lines == tuple(2 + i for i, value in enumerate(left) if not value)
    assert columns[DEPARTURE][: len(left)] == filled


def test_sessions_of_other_vehicles_are_counted_each_by_itself(tmp_path: Path) -> None:
    rows = [plugged(""), plugged(""), plugged("", soc="40", vehicle="van"), plugged("3", vehicle="van"), AWAY]
    assert repaired(tmp_path, rows)[1][DEPARTURE] == ["4", "3", "4", "3", ""]


def test_a_part_of_an_announcement_has_the_charge_of_the_rest(tmp_path: Path) -> None:
    (found,), columns = repaired(tmp_path, [AWAY, coming(""), coming("60"), coming(""), plugged("0")])
    assert (found.decided, found.place, found.lines) == (True, ARRIVAL_SOC, (3, 5))
    assert columns[ARRIVAL_SOC] == ["", "60", "60", "60", ""]


ARRIVALS = [
    AWAY,
    coming("40"),
    plugged("0"),
    AWAY,
    coming("60"),
    plugged("0"),
    AWAY,
    coming(""),
    plugged("0"),
    AWAY,
    plugged("0"),
]


@pytest.mark.parametrize(("given", "filled"), [("mean", "50"), ("0.3", "30")])
def test_arrivals_without_any_charge_are_asked_about(given: str, filled: str, tmp_path: Path) -> None:
    (found,), _ = repaired(tmp_path, ARRIVALS)
    assert (found.decided, found.lines) == (False, (9, 12))
    assert "--arrival-soc" in found.done
    (found,), columns = repaired(tmp_path, ARRIVALS, arrival_soc=given)
    assert found.decided
    assert [columns[ARRIVAL_SOC][row] for row in (7, 10)] == [filled, filled]


def test_the_mean_of_no_other_arrival_stays_undecided(tmp_path: Path) -> None:
    (found,), _ = repaired(tmp_path, [AWAY, coming(""), plugged("0")], arrival_soc="mean")
    assert not found.decided
    assert "has no other arrival" in found.done


@pytest.mark.parametrize(
    ("means", "written"), [("percent", ["0.01", "0.005", "0", "0.76"]), ("share", ["1", "0.5", "0", "0.76"])]
)
def test_small_values_beside_percentages_are_asked_about(means: str, written: list[str], tmp_path: Path) -> None:
    values = ["1", "0.5", "0", "76"]
    rows = [row for value in values for row in (AWAY, coming(value), plugged("0"))]
    (found,), _ = repaired(tmp_path, rows)
    assert (found.decided, found.lines) == (False, (3, 6))
    assert "--small-soc" in found.done
    (found,), columns = repaired(tmp_path, rows, small_soc=means)
    assert found.decided
    assert columns[ARRIVAL_SOC][1::3] == written
    assert set(columns[REQUIRED_SOC]) == {"", "80"}


def test_shares_alone_are_left_as_they_are(tmp_path: Path) -> None:
    assert repaired(tmp_path, [AWAY, coming("1"), plugged("0", required="0.8")])[0] == []


def test_states_with_a_point_become_whole_numbers(tmp_path: Path) -> None:
    rows = [("3.0", *AWAY[1:]), ("1.0", *plugged("0", soc="40")[1:])]
    (found,), columns = repaired(tmp_path, rows)
    assert (found.place, found.lines) == (STATE, (2, 3))
    assert columns[STATE] == ["3", "1"]
